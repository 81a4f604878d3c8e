"""What chat-completions providers demand of a history, written down without a look at our own code."""

from collections.abc import Iterable

from amrita_fleet.protocols.messages import Message, Role, ToolResult, Turn

__all__ = ("flaw",)


def flaw(turns: Iterable[Turn], *, batch_open: bool = False) -> str | None:  # noqa: PLR0911  one for each rule
    """Why a provider would refuse the history; None when it would not.

    Outputs must follow their calls at once, all of them, in call order; a system message may only stand first. With
    `batch_open`, the last reply's calls may lack their outputs, all of them.
    """
    due: list[tuple[str, str]] = []
    fresh = False
    for index, turn in enumerate(turns):
        if isinstance(turn, ToolResult):
            if not due:
                return f"turn {index}: an output without a call"
            if due.pop(0) != (turn.call_id, turn.name):
                return f"turn {index}: an output of another call"
            fresh = False
        elif due:
            return f"turn {index}: {len(due)} outputs are missing before it"
        elif turn.role is Role.SYSTEM and index:
            return f"turn {index}: a system message in the middle"
        else:
            due = [(one.id, one.name) for one in turn.calls]
            fresh = bool(due)
            if turn.calls and turn.role is not Role.ASSISTANT:
                return f"turn {index}: calls of a {turn.role}"
    if due and not (batch_open and fresh):
        return f"{len(due)} outputs are missing at the end"
    if batch_open and not due:
        return "no batch is open"
    return None


def says_something(turn: Turn) -> bool:
    """Whether an assistant turn has a text or calls; providers refuse one that has neither."""
    return not (isinstance(turn, Message) and turn.role is Role.ASSISTANT) or bool(turn.content.strip() or turn.calls)
