"""What people give, looked at before anything is done with it."""

from typing import TypeGuard

from .errors import TaskInvalid

__all__ = ("check_task", "is_duration", "text_flaw")


def text_flaw(given: object) -> str:
    """What is wrong with a text that is to be sent somewhere, for a sentence about it; empty: nothing."""
    if not isinstance(given, str):
        return f"is a text, not {type(given).__name__}"
    if not given.isascii() and given != given.encode(errors="replace").decode():
        return "holds half a surrogate pair, which nothing can carry"
    return ""


def is_duration(given: object) -> TypeGuard[float]:
    """Whether a value is a time in which something can happen: seconds above 0."""
    if isinstance(given, bool) or not isinstance(given, int | float):
        return False
    try:
        return float(given) > 0  # nan is not
    except OverflowError:
        return False


def check_task(task: object, time_limit: object, said: tuple[object, ...] = ()) -> None:
    """Refuse what no run can be given.

    Raises:
        TaskInvalid: The task, or what was added, is no text, or the time limit is none.
    """
    for text in (task, *said):
        if flaw := text_flaw(text):
            raise TaskInvalid(reason=f"a task {flaw}")
    if time_limit is not None and not is_duration(time_limit):
        raise TaskInvalid(reason=f"a time limit is a number of seconds above 0, not {time_limit!r}")
