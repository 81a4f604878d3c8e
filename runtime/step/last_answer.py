"""The request for a last answer: short enough for the tokens that are held back for it.

Sizes are bytes of JSON text, because that is what a request is charged with before its tokens are known.
"""

import json

from ...protocols.messages import Message, Role, ToolResult, Turn
from .sizes import FRAME
from .transcript import Transcript

__all__ = ("charge", "last_request")

LINE = 1000
"""The most bytes one output or text may have in a history that was cut."""


def last_request(transcript: Transcript, size: int) -> tuple[Turn, ...]:
    """The history if it fits into `size`, else the instructions, the run's task and what came of it, cut to fit.

    The short form has no calls and no outputs, so there is nothing a provider could find unpaired.

    Args:
        transcript: No batch is open, and the last turn is the note that asks for the answer.
        size: Bytes; at least 1,000.
    """
    turns = transcript.turns
    if sum(charge(turn) for turn in turns) <= size:
        return turns
    system = next((t for t in turns if isinstance(t, Message) and t.role is Role.SYSTEM), None)
    head = cut(system.content, size // 4) if system else ""
    room = size - length(head) - 2 * FRAME - 2 * length("\n\n")
    prompt = cut(turns[-1].content, room)
    room -= length(prompt)
    task = cut(asked(transcript), room // 3)
    seen = newest(transcript.of_run[:-1], room - length(task))
    text = "\n\n".join(part for part in (task, seen, prompt) if part)
    messages = (Message(Role.SYSTEM, head),) if head else ()
    return (*messages, Message(Role.USER, text))


def asked(transcript: Transcript) -> str:
    """What the run was asked: its first note. One that stands for turns that are gone is told task first."""
    notes = [turn for turn in transcript.of_run[:-1] if isinstance(turn, Message) and turn.role is Role.USER]
    first, recap = notes[0].content if notes else "", transcript.recap
    if recap is None or first != recap.text:
        return first
    return "\n\n".join(part for part in (recap.task, recap.summary, recap.last, *recap.mails) if part)


def newest(turns: tuple[Turn, ...], room: int) -> str:
    """The newest outputs and texts, oldest first, as many as fit."""
    lines: list[str] = []
    for turn in reversed(turns):
        if isinstance(turn, ToolResult):
            line = f"{turn.name} gave: {turn.content}"
        elif turn.role is Role.ASSISTANT and turn.content:
            line = f"You said: {turn.content}"
        else:
            continue
        line = cut(line, min(room, LINE))
        room -= length(line) + length("\n")
        if room < 0:
            break
        lines.append(line)
    return "\n".join(reversed(lines))


def charge(turn: Turn) -> int:
    """The most bytes of JSON a turn takes in a request, whatever the wire format."""
    if isinstance(turn, ToolResult):
        return FRAME + length(turn.call_id) + length(turn.content)
    calls = sum(FRAME + length([call.id, call.name, call.arguments, dict(call.extra)]) for call in turn.calls)
    beside = (turn.reasoning_content, turn.reasoning_signature, dict(turn.extra))
    return FRAME + length(turn.content) + calls + sum(length(part) for part in beside if part)


def length(value: object) -> int:
    """Bytes of plain data as JSON, a text's quotes left out."""
    text = json.dumps(value, ensure_ascii=False).encode(errors="replace")
    return len(text) - 2 if isinstance(value, str) else len(text)


def cut(text: str, size: int) -> str:
    """The beginning of the text, at most `size` bytes."""
    text = text[: max(0, size)]
    excess = length(text) - size
    while text and excess > 0:
        # One character takes 1 to 6 bytes of JSON, so this takes off at most what is too much, and soon all of it.
        text = text[: -max(1, excess // 6)]
        excess = length(text) - size
    return text
