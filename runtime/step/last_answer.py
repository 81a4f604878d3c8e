"""The request for a last answer: short enough for the tokens that are held back for it."""

from ...protocols.messages import Message, Role, ToolResult, Turn
from .transcript import Transcript

__all__ = ("last_request",)


def last_request(transcript: Transcript, size: int) -> tuple[Turn, ...]:
    """The history if its texts fit into `size` bytes, else the instructions, the task and what came of it, cut to fit.

    The short form has no calls and no outputs, so there is nothing a provider could find unpaired.
    """
    turns = transcript.turns
    if sum(len(turn.content.encode()) for turn in turns) <= size:
        return turns
    system = next((t for t in turns if isinstance(t, Message) and t.role is Role.SYSTEM), None)
    asked = [t.content for t in turns if isinstance(t, Message) and t.role is Role.USER]
    prompt, task = asked[-1], asked[0] if len(asked) > 1 else ""
    head = cut(system.content, size // 4) if system else ""
    room = size - len(head.encode()) - len(prompt.encode())
    task = cut(task, max(0, room // 3))
    seen = newest(turns, max(0, room - len(task.encode())))
    text = "\n\n".join(part for part in (task, seen, prompt) if part)
    messages = (Message(Role.SYSTEM, head),) if head else ()
    return (*messages, Message(Role.USER, text))


def newest(turns: tuple[Turn, ...], size: int) -> str:
    """The newest outputs and texts, oldest first, as many as fit."""
    lines: list[str] = []
    for turn in reversed(turns[:-1]):
        if isinstance(turn, ToolResult):
            line = f"{turn.name} gave: {turn.content}"
        elif turn.role is Role.ASSISTANT and turn.content:
            line = f"You said: {turn.content}"
        else:
            continue
        line = cut(line, min(size, 1000))
        size -= len(line.encode()) + 1
        if size < 0:
            break
        lines.append(line)
    return "\n".join(reversed(lines))


def cut(text: str, size: int) -> str:
    """The beginning of the text, at most `size` bytes of UTF-8."""
    raw = text.encode()
    return text if len(raw) <= size else raw[:size].decode(errors="ignore")
