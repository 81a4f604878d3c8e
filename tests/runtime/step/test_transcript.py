"""A transcript cannot hold what a provider would refuse."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from amrita_fleet.protocols.messages import Message, Role, ToolResult, Turn
from amrita_fleet.runtime.errors import HistoryInvalid
from amrita_fleet.runtime.step.sizes import weight
from amrita_fleet.runtime.step.transcript import Transcript

from .pairing import flaw
from .play import call

ASSISTANT = Role.ASSISTANT


def open_batch(*names: str) -> Transcript:
    return Transcript().note("Go.").reply(Message(ASSISTANT, "", tuple(call(name) for name in names)))


def test_instructions_stand_first() -> None:
    assert Transcript.begin("You count.").turns == (Message(Role.SYSTEM, "You count."),)


def test_without_instructions_there_is_no_system_message() -> None:
    assert Transcript.begin("").turns == ()


def test_a_note_cannot_stand_between_calls_and_their_outputs() -> None:
    with pytest.raises(HistoryInvalid, match="a note cannot stand between the calls of a, b and their outputs"):
        open_batch("a", "b").note("Hello.")


def test_a_reply_cannot_either() -> None:
    with pytest.raises(HistoryInvalid, match="a reply cannot stand"):
        open_batch("a").reply(Message(ASSISTANT, "Hello."))


@pytest.mark.parametrize("role", [Role.USER, Role.SYSTEM])
def test_only_the_model_replies(role: Role) -> None:
    with pytest.raises(HistoryInvalid, match=f"a reply cannot be a {role} message"):
        Transcript().reply(Message(role, "Hello."))


@pytest.mark.parametrize("outputs", [(), ("1",), ("1", "2", "3")], ids=len)
def test_a_batch_is_closed_by_all_its_outputs_or_not_at_all(outputs: tuple[str, ...]) -> None:
    with pytest.raises(HistoryInvalid, match=f"{len(outputs)} outputs came for 2 open calls"):
        open_batch("a", "b").close(outputs)


def test_nothing_can_be_closed_that_is_not_open() -> None:
    with pytest.raises(HistoryInvalid):
        Transcript().close(())


def test_outputs_stand_in_call_order() -> None:
    closed = open_batch("a", "b").close(("1", "2"))

    assert closed.turns[-2:] == (ToolResult("call_0", "a", "1"), ToolResult("call_0", "b", "2"))
    assert closed.open == ()


def test_the_last_text_is_the_models_newest_that_says_something() -> None:
    said = Transcript().note("Go.").reply(Message(ASSISTANT, "First.")).note("Again.").reply(Message(ASSISTANT, " "))

    assert said.last_text == "First."
    assert Transcript().note("Go.").last_text == ""


def test_the_last_text_is_one_of_this_run() -> None:
    later = Transcript.begin("You count.").note("Go.").reply(Message(ASSISTANT, "Done.")).next_run().note("Again.")

    assert later.last_text == ""
    assert later.of_run == (Message(Role.USER, "Again."),)


def test_a_note_that_does_not_stay_is_taken_back_only_from_the_end() -> None:
    history = Transcript().note("Go.").note("Hint.")

    assert history.without_last_note("Hint.") == Transcript().note("Go.")
    assert history.without_last_note("Go.") is history
    assert history.note("More.").without_last_note("Hint.").turns[1].content == "Hint."
    assert Transcript().without_last_note("Hint.") == Transcript()


def test_a_run_in_which_nothing_was_said_leaves_no_trace() -> None:
    transcript = Transcript.begin("You count.").next_run().next_run().note("Go.").next_run().next_run()

    assert transcript.runs == (1, 2)
    assert transcript.since == 2


SYSTEM, GO = Message(Role.SYSTEM, "You count."), Message(Role.USER, "Go.")
CALLS, OUTPUT = Message(ASSISTANT, "", (call("a"),)), ToolResult("call_0", "a", "1")


@pytest.mark.parametrize(
    ("turns", "runs", "why"),
    [
        ((GO, OUTPUT), (0,), "turn 1 is an output of a, which no call awaits there"),
        ((GO, CALLS, ToolResult("call_1", "a", "1")), (0,), "turn 2 is an output of a"),
        ((GO, CALLS, OUTPUT, OUTPUT), (0,), "turn 3 is an output of a"),
        ((GO, CALLS, GO), (0,), "turn 2 stands where the output of a belongs"),
        ((GO, CALLS), (0,), "the output of a is missing at the end"),
        ((GO, SYSTEM), (0,), "turn 1 cannot be a system message"),
        ((Message(Role.USER, "", (call("a"),)), OUTPUT), (0,), "turn 0 cannot be a user message"),
        ((GO,), (), "runs cannot begin at"),
        ((GO,), (2,), "runs cannot begin at"),
        ((GO, GO), (1, 0), "runs cannot begin at"),
        ((GO, CALLS, OUTPUT), (2,), "runs cannot begin at"),
    ],
)
def test_no_history_is_replaced_by_one_that_is_invalid(
    turns: tuple[Turn, ...], runs: tuple[int, ...], why: str
) -> None:
    with pytest.raises(HistoryInvalid, match=why):
        Transcript().replaced(turns, runs, None)


def test_a_history_is_replaced_by_a_valid_one_unless_a_batch_is_open() -> None:
    turns = (SYSTEM, GO, CALLS, OUTPUT)

    made, said = Transcript().replaced(turns, (1,), None), Transcript.begin("You count.").note("Go.").reply(CALLS)
    assert made == replace(said.close(("1",)), settled=made.size)
    with pytest.raises(HistoryInvalid, match="a change cannot stand"):
        open_batch("a").replaced(turns, (1,), None)


@given(text=st.text())
def test_a_reply_is_kept_as_it_is(text: str) -> None:
    message = Message(ASSISTANT, text, reasoning_content=text, extra={"id": text})

    assert Transcript().reply(message).turns == (message,)


class Writer(RuleBasedStateMachine):
    """Writes whatever it likes."""

    def __init__(self) -> None:
        super().__init__()
        self.transcript = Transcript()

    @rule(text=st.sampled_from(["", "Hello."]))
    def note(self, text: str) -> None:
        """Add a note where one may stand."""
        self.attempt(lambda: self.transcript.note(text))

    @rule(names=st.lists(st.sampled_from("ab"), max_size=3), role=st.sampled_from([ASSISTANT, ASSISTANT, Role.USER]))
    def reply(self, names: list[str], role: Role) -> None:
        """Add a reply where one may stand."""
        self.attempt(lambda: self.transcript.reply(Message(role, "So.", tuple(call(name) for name in names))))

    @rule(outputs=st.lists(st.text(max_size=2), max_size=3).map(tuple))
    def close(self, outputs: tuple[str, ...]) -> None:
        """Close a batch if these are its outputs."""
        self.attempt(lambda: self.transcript.close(outputs))

    @rule()
    def take_back(self) -> None:
        """Take a note back if there is one."""
        self.transcript = self.transcript.without_last_note("Hello.")

    def attempt(self, change: Callable[[], Transcript]) -> None:
        with suppress(HistoryInvalid):
            self.transcript = change()

    @invariant()
    def providers_take_it(self) -> None:
        """The history is valid, an open batch at its end aside."""
        assert flaw(self.transcript.turns, batch_open=bool(self.transcript.open)) is None

    @invariant()
    def it_knows_its_size(self) -> None:
        """What is added and taken away is counted."""
        assert self.transcript.size == sum(map(weight, self.transcript.turns))


TestWriter = Writer.TestCase
TestWriter.settings = settings(stateful_step_count=20)
