"""What people give, looked at before anything is done with it."""

import re
from typing import TypeGuard

from .errors import ArgumentInvalid, NumberInvalid, TaskInvalid

__all__ = (
    "check_fleet_name",
    "check_grace",
    "check_kind",
    "check_task",
    "check_text",
    "is_duration",
    "is_name",
    "text_flaw",
)

NAME_LENGTH = 64
"""Characters of a fleet's name."""

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
"""What agents, and the kinds of them that others spawn, are named. No dots: they join names in the ids of runs and
messages."""


def text_flaw(given: object) -> str:
    """What is wrong with a text that is to be sent somewhere, for a sentence about it; empty: nothing."""
    if not isinstance(given, str):
        return f"is a text, not {type(given).__name__}"
    if not given.isascii() and given != given.encode(errors="replace").decode():
        return "holds half a surrogate pair, which nothing can carry"
    return ""


def check_text(name: str, given: object) -> None:
    """Refuse what cannot be sent as the argument `name`.

    Raises:
        ArgumentInvalid: It is no text, or one that nothing can carry.
    """
    if flaw := text_flaw(given):
        raise ArgumentInvalid(name=name, reason=f"it {flaw}")


def is_name(given: object) -> TypeGuard[str]:
    """Whether an agent, or a kind of agents, can be named so."""
    return isinstance(given, str) and NAME.fullmatch(given) is not None


def is_duration(given: object) -> TypeGuard[float]:
    """Whether a value is a time in which something can happen: seconds above 0."""
    if isinstance(given, bool) or not isinstance(given, int | float):
        return False
    try:
        return float(given) > 0  # nan is not
    except OverflowError:
        return False


def check_grace(given: object) -> None:
    """Refuse what is no time to wait before something ends.

    Raises:
        NumberInvalid: It is no number of seconds from 0.
    """
    if given != 0 and not is_duration(given):
        reason = "it is a number of seconds, and 0 ends everything at once"
        raise NumberInvalid(name="grace", given=repr(given), reason=reason)


def check_task(task: object, time_limit: object, said: tuple[object, ...] = ()) -> None:
    """Refuse what no run can be given.

    A task must say something: it is what the user says, and providers refuse to be told nothing. What was added to it
    stands under a head of its own, as messages do, and may be blank.

    Raises:
        TaskInvalid: The task, or what was added, is no text, the task is blank, or the time limit is none.
    """
    for text in (task, *said):
        if flaw := text_flaw(text):
            raise TaskInvalid(reason=f"a task {flaw}")
    if not str(task).strip():
        raise TaskInvalid(reason="a task must say something, and this one is blank")
    if time_limit is not None and not is_duration(time_limit):
        raise TaskInvalid(reason=f"a time limit is a number of seconds above 0, not {time_limit!r}")


def check_kind(name: str, given: object, kind: type) -> None:
    """Refuse something of another type as the argument `name`.

    Raises:
        ArgumentInvalid: It is.
    """
    if not isinstance(given, kind):
        raise ArgumentInvalid(name=name, reason=f"it must be of type {kind.__name__}, not {type(given).__name__}")


def check_fleet_name(name: object) -> None:
    """Refuse what no fleet can be named.

    Raises:
        ArgumentInvalid: It is no text, too long, or has characters that a name cannot have.
    """
    check_text("name", name)
    given = str(name)
    if len(given) > NAME_LENGTH or "/" in given or not given.isprintable():
        reason = f"it must have at most {NAME_LENGTH} characters, all of them printable and none a slash"
        raise ArgumentInvalid(name="name", reason=reason)
