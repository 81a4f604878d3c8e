"""A strict provider's rules on the order of messages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.runtime.simulator.conversation import Call, Said
from amrita_fleet.runtime.simulator.errors import Refused
from amrita_fleet.runtime.simulator.rules import check_pairs, check_reasoning, is_thinking
from amrita_fleet.runtime.simulator.seal import call_id

pytestmark = pytest.mark.slow

USER = Said("user", "Go.")
ANSWERED = "must be followed by tool messages responding to each 'tool_call_id'"
ORPHAN = "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'"
MISSING = "The reasoning_content in the thinking mode must be passed back to the API."


def asked(*ids: str, reasoning: str | None = None) -> Said:
    return Said("assistant", "", tuple(Call("look", id=identifier) for identifier in ids), reasoning=reasoning)


def output(identifier: str) -> Said:
    return Said("tool", "seen", call_id=identifier)


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        pytest.param([USER, output("a")], ORPHAN, id="an output without calls"),
        pytest.param([USER, asked("a"), output("a"), USER, output("a")], ORPHAN, id="an output after a user message"),
        pytest.param([USER, asked("a")], ANSWERED, id="calls at the end"),
        pytest.param([USER, asked("a", "b"), output("a")], "response messages: b", id="one of two outputs"),
        pytest.param([USER, asked("a"), USER, output("a")], "response messages: a", id="a note before the output"),
        pytest.param([USER, asked("a"), asked("b"), output("b")], "response messages: a", id="calls after calls"),
        pytest.param([USER, asked("a"), output("x")], "'tool_call_id' of 'x' not found", id="another id"),
        pytest.param([USER, asked("a", "b"), output("a"), output("a")], "Duplicate value", id="an output twice"),
    ],
)
def test_calls_and_outputs_that_are_not_paired_are_refused(messages: list[Said], words: str) -> None:
    with pytest.raises(Refused) as caught:
        check_pairs(messages)
    assert words in caught.value.message
    assert (caught.value.status, caught.value.kind) == (400, "invalid_request_error")


def test_ids_may_come_again_in_a_later_answer() -> None:
    check_pairs([USER, asked("a"), output("a"), asked("a"), output("a")])


def test_the_outputs_of_one_answer_may_come_in_any_order() -> None:
    check_pairs([USER, asked("a", "b"), output("b"), output("a"), USER])


@given(st.lists(st.integers(min_value=0, max_value=4), max_size=8), st.data())
def test_a_paired_history_breaks_when_any_message_of_a_batch_is_taken_out(
    batches: list[int], data: st.DataObject
) -> None:
    history = [USER]
    for size in batches:
        ids = [f"call_{place}" for place in range(size)]
        history += [asked(*ids), *map(output, ids)]
    check_pairs(history)
    paired = [place for place, said in enumerate(history) if said.calls or said.role == "tool"]
    if paired:
        del history[data.draw(st.sampled_from(paired))]
        with pytest.raises(Refused):
            check_pairs(history)


@pytest.mark.parametrize(
    "history",
    [
        pytest.param([USER, Said("assistant", "Hello.")], id="a text without the field"),
        pytest.param([USER, asked("a"), output("a")], id="calls without the field"),
        pytest.param([USER, asked(call_id("I look.", 1, 0), reasoning="")], id="an empty field in its place"),
        pytest.param([USER, asked(call_id("I look.", 1, 0), reasoning="I look!")], id="a changed field"),
    ],
)
def test_reasoning_that_does_not_come_back_is_refused(history: list[Said]) -> None:
    with pytest.raises(Refused) as caught:
        check_reasoning(history)
    assert caught.value.message == MISSING
    assert caught.value.status == 400


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(asked(call_id("I look.", 1, 0), reasoning="I look."), id="what the simulator gave"),
        pytest.param(asked("foreign", reasoning=""), id="an empty field for calls that the simulator did not make"),
        pytest.param(Said("assistant", "Hello.", reasoning=""), id="an empty field for a text"),
    ],
)
def test_reasoning_that_comes_back_unchanged_is_taken(said: Said) -> None:
    check_reasoning([USER, said])


def test_models_with_thinking_in_their_name_think() -> None:
    assert is_thinking("simulated-census-thinking")
    assert not is_thinking("simulated-census")
