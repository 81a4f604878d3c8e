"""Long histories that are easily reckoned with, and what is made of them."""

from amrita_fleet.protocols.messages import Message, Role
from amrita_fleet.runtime.step.compaction import CompactionRules, Fold, fold
from amrita_fleet.runtime.step.transcript import Transcript

from .histories import batch, run_of

__all__ = ("SMALL", "found_in", "goes_on_plainly", "long_run", "note_of")

SMALL = CompactionRules(window=300, messages=12)


def long_run(rounds: int = 20, task: str = "Count.") -> Transcript:
    transcript = run_of(Transcript.begin("You count."), task)
    for number in range(rounds):
        transcript = batch(transcript, f"output {number}", thought="I look.")
    return transcript


def found_in(transcript: Transcript, rules: CompactionRules = SMALL, keep: int | None = None) -> Fold:
    found = fold(transcript, rules, keep)
    assert found is not None
    return found


def note_of(transcript: Transcript) -> str:
    """The note that stands for what is gone."""
    return next(turn.content for turn in transcript.turns if isinstance(turn, Message) and turn.role is Role.USER)


def goes_on_plainly(transcript: Transcript) -> Transcript:
    for number in range(20):
        transcript = batch(transcript, f"later output {number}")
    return transcript
