"""What providers demand of a history, written down without a look at our own code.

`flaw` has the demands of chat completions, `messages_flaw` those of the Messages API.
"""

from collections.abc import Iterable

from amrita_fleet.protocols.messages import Message, Role, ToolCall, ToolResult, Turn

__all__ = ("flaw", "messages_flaw", "says_something")


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


def messages_flaw(turns: Iterable[Turn], *, batch_open: bool = False) -> str | None:
    """Why the Messages API would refuse the history; None when it would not.

    What is no reply goes into one user turn. The first turn is a user's. Two replies do not follow one another. A user
    turn after a reply with calls begins with exactly their outputs; any other has none.
    """
    replies: list[Message] = []
    said: list[list[Turn]] = [[]]
    for turn in turns:
        if isinstance(turn, Message) and turn.role is Role.ASSISTANT:
            replies.append(turn)
            said.append([])
        elif not (isinstance(turn, Message) and turn.role is Role.SYSTEM):
            said[-1].append(turn)
    if batch_open:
        said.pop()
    due: tuple[ToolCall, ...] = ()
    for index, user in enumerate(said):
        outputs = [(turn.call_id, turn.name) for turn in user[: len(due)] if isinstance(turn, ToolResult)]
        if outputs != [(one.id, one.name) for one in due]:
            return f"user turn {index} does not begin with the outputs of its {len(due)} calls"
        if any(isinstance(turn, ToolResult) for turn in user[len(due) :]):
            return f"user turn {index} has an output that no call awaits"
        last = index == len(said) - 1
        if not user and replies and not (last and not due and not batch_open):
            return f"user turn {index} is missing"
        due = replies[index].calls if index < len(replies) else ()
    return None


def says_something(turn: Turn) -> bool:
    """Whether a message has a text or calls; providers refuse one that has neither. An output may be empty."""
    return isinstance(turn, ToolResult) or bool(turn.content.strip() or turn.calls)
