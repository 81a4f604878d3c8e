"""A conversation as one text keeps its beginning and its end."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from amrita_fleet.protocols.messages import ToolCall
from amrita_fleet.runtime.step.digest import digest
from amrita_fleet.runtime.step.sizes import size_of
from amrita_fleet.runtime.step.transcript import Transcript

from .histories import batch, history, says


def test_each_turn_is_told_by_who_said_it() -> None:
    turns = Transcript().note("Look.").reply(says("I look.", ToolCall("c", "a", "{}"))).close(("seen",)).turns

    assert digest(turns, 1000) == "User: Look.\nAgent: I look.\nAgent called a: {}\na gave: seen"


def test_the_middle_is_left_out() -> None:
    transcript = Transcript().note("Look.")
    for number in range(100):
        transcript = batch(transcript, f"output {number}")

    lines = digest(transcript.turns, 1000).splitlines()

    assert lines[0] == "User: Look."
    assert lines[1].endswith(" messages are left out here ...]")
    assert lines[-1] == "a gave: output 99"


@given(seed=st.integers(0, 2**32), size=st.integers(1000, 9000))
@settings(max_examples=30)
def test_it_fits(seed: int, size: int) -> None:
    assert size_of(digest(history(Random(seed))[0].turns, size)) <= size  # noqa: S311  no key is made of it
