"""A history that is too large however it is folded: outputs lose their middle first, then whole rounds become text."""

from dataclasses import replace

from ...protocols.messages import ToolResult
from .compaction import CompactionRules, Fold, allowed, room_of, tail
from .folding import Pins, collapsed
from .sizes import level, shortened, size_of
from .transcript import Transcript

__all__ = ("fitted", "shrunk")

LEAST_OUTPUT = 1024
"""Bytes below which no output is cut."""


def fitted(transcript: Transcript, rules: CompactionRules, pins: Pins) -> Transcript:
    """The history with what is too large cut; where nothing is to be cut it is the same object.

    Afterwards it has at most the bytes that the rules allow, whatever was in it; `compaction.room_of` says what is
    allowed where the instructions alone take nearly all of that.

    Args:
        transcript: No batch is open.
        rules: What is allowed.
        pins: What survives, as long as it has half of the room, if the outputs are not all that must be cut.
    """
    room, limit = room_of(transcript, rules), allowed(transcript, rules)
    short = shrunk(transcript, limit)
    if short.size <= limit:
        return short
    cut = tail(transcript, room // 4, len(transcript.turns), len(transcript.turns))
    return collapsed(Fold(transcript, cut, room), pins)


def shrunk(transcript: Transcript, room: int) -> Transcript:
    """The history with its largest outputs cut until it has at most `room` bytes, or each has at most 1 KiB.

    Nothing else is touched; where nothing is to be cut it is the same object.

    Raises:
        HistoryInvalid: A batch is open and something is to be cut.
    """
    if transcript.size <= room:
        return transcript
    sizes = [size_of(turn.content) for turn in transcript.turns if isinstance(turn, ToolResult)]
    limit = level(sorted(sizes, reverse=True), transcript.size - room, LEAST_OUTPUT)
    if not any(size > limit for size in sizes):
        return transcript
    turns = tuple(cut_output(turn, limit) if isinstance(turn, ToolResult) else turn for turn in transcript.turns)
    return transcript.replaced(turns, transcript.runs, transcript.recap)


def cut_output(turn: ToolResult, limit: int) -> ToolResult:
    """The output with its middle left out, if it is longer."""
    text = shortened(turn.content, limit, "call the tool again for a smaller part to see them")
    return turn if text is turn.content else replace(turn, content=text)
