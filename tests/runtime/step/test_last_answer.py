"""The request for a last answer fits into what is held back for it, and nothing in it is unpaired."""

import json
from collections.abc import Sequence
from typing import TypeAlias

from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.protocols.messages import Message, Role, ToolCall, Turn
from amrita_fleet.runtime.step.compaction import CompactionRules, fold
from amrita_fleet.runtime.step.folding import Pins, folded
from amrita_fleet.runtime.step.last_answer import charge, last_request
from amrita_fleet.runtime.step.transcript import Transcript

from .pairing import flaw

Rounds: TypeAlias = Sequence[tuple[str, tuple[ToolCall, ...], str]]

PROMPT = "Give your final answer."
REPEATED = st.tuples(st.text(min_size=1, max_size=20), st.integers(0, 300)).map(lambda pair: pair[0] * pair[1])
TEXTS = st.text(max_size=30) | REPEATED
CALLS = st.lists(st.builds(ToolCall, st.just("c"), st.just("look"), TEXTS), max_size=3).map(tuple)
ROUNDS = st.lists(st.tuples(TEXTS, CALLS, TEXTS), max_size=6)


def history(instructions: str, old: list[str], task: str, rounds: Rounds) -> Transcript:
    """A run with an older one before it, at the point where a last answer is asked for."""
    transcript = Transcript.begin(instructions)
    for text in old:
        transcript = transcript.note(text).reply(Message(Role.ASSISTANT, "Done."))
    transcript = transcript.next_run().note(task)
    for text, asked, output in rounds:
        transcript = transcript.reply(Message(Role.ASSISTANT, text, asked, reasoning_content=text))
        if asked:
            transcript = transcript.close((output,) * len(asked))
    return transcript.note(PROMPT)


def written(turns: tuple[Turn, ...]) -> int:
    """Bytes of a request's messages in a plain wire format."""
    plain: list[dict[str, object]] = []
    for turn in turns:
        fields: dict[str, object] = {"role": "tool", "content": turn.content}
        if isinstance(turn, Message):
            asked = [{"id": one.id, "name": one.name, "arguments": one.arguments} for one in turn.calls]
            fields = {"role": turn.role, "content": turn.content, "reasoning": turn.reasoning_content, "calls": asked}
        plain.append(fields)
    return len(json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode())


@given(instructions=TEXTS, old=st.lists(TEXTS, max_size=3), task=TEXTS, rounds=ROUNDS, size=st.integers(1000, 9000))
def test_it_fits_and_is_paired(
    instructions: str,
    old: list[str],
    task: str,
    rounds: Rounds,
    size: int,
) -> None:
    transcript = history(instructions, old, task, rounds)

    turns = last_request(transcript, size)

    assert sum(charge(turn) for turn in turns) <= size
    assert written(turns) <= size
    assert flaw(turns) is None
    assert turns[-1].content.endswith(PROMPT)


def test_a_history_that_fits_is_sent_as_it_is() -> None:
    transcript = history("You count.", [], "Count.", [("", (ToolCall("c", "look", "{}"),), "three")])

    assert last_request(transcript, 1000) == transcript.turns


def test_a_history_that_does_not_is_told_in_short() -> None:
    rounds = [("I look.", (ToolCall("c", "look", "{}"),), "three"), ("", (ToolCall("c", "read", "x" * 2000),), "four")]
    transcript = history("You count.", ["What is old?"], "Count.", rounds)

    turns = last_request(transcript, 1000)

    assert [turn.content for turn in turns] == [
        "You count.",
        f"Count.\n\nYou said: I look.\nlook gave: three\nread gave: four\n\n{PROMPT}",
    ]


def test_long_arguments_count_although_no_text_shows_them() -> None:
    transcript = history("", [], "Write.", [("", (ToolCall("c", "write", "x" * 9000),), "ok")])

    assert written(last_request(transcript, 8000)) <= 8000


def test_the_newest_results_stay_when_not_all_fit() -> None:
    rounds = [("", (ToolCall("c", f"tool{number}", "{}"),), "r" * 900) for number in range(20)]

    text = last_request(history("", [], "Count.", rounds), 4000)[-1].content

    assert "tool19 gave" in text
    assert "tool3 gave" not in text
    assert text.index("tool18") < text.index("tool19")


def test_without_instructions_there_is_no_system_message() -> None:
    turns = last_request(history("", [], "x" * 5000, []), 1000)

    assert [turn.role for turn in turns if isinstance(turn, Message)] == [Role.USER]


def test_of_a_folded_history_the_request_is_told_first_then_the_summary() -> None:
    rounds = [("", (ToolCall("c", "look", "{}"),), "r" * 500) for _ in range(9)]
    transcript = history("", ["What is old?"], "Count.", rounds)
    found = fold(transcript, CompactionRules(messages=8))
    assert found is not None

    text = last_request(folded(found, Pins("Count."), "Half is counted."), 1000)[-1].content

    assert text.startswith("Count.\n\nHalf is counted.\n\nlook gave: r")
    assert text.endswith(PROMPT)


def test_a_run_that_was_asked_nothing_has_only_the_prompt() -> None:
    transcript = Transcript.begin("i" * 5000).note(PROMPT)

    assert [turn.content for turn in last_request(transcript, 1000)] == ["i" * 250, PROMPT]
