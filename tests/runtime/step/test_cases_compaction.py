"""Histories made short: faults that users of other programs reported. The numbers are those of the reports."""

import pytest

from amrita_fleet.protocols.messages import Message, Role, ToolCall, ToolResult
from amrita_fleet.runtime.errors import HistoryInvalid
from amrita_fleet.runtime.step.compaction import (
    CompactionRules,
    Measured,
    due,
    fold,
    next_input,
    summary_request,
)
from amrita_fleet.runtime.step.fitting import shrunk
from amrita_fleet.runtime.step.folding import Pins, folded
from amrita_fleet.runtime.step.prompts import INTERRUPTED
from amrita_fleet.runtime.step.transcript import Transcript

from .histories import batch, providers_take, run_of, says, texts

pytestmark = pytest.mark.slow


def test_case_10_no_window_begins_with_an_output() -> None:
    history = run_of(Transcript(), "q1").reply(says("", ToolCall("c1", "f", "{}"))).close(("r1",))
    history = run_of(history.reply(says("a1")), "q2")

    for messages in range(1, 8):
        found = fold(history, CompactionRules(messages=messages))
        assert found is not None
        assert not isinstance(found.kept[0], ToolResult)
        providers_take(folded(found, Pins("q2"), None).turns)


@pytest.mark.parametrize("calls", [1, 2, 5])
def test_case_12_no_cut_falls_into_a_batch(calls: int) -> None:
    history = run_of(Transcript(), "do it")
    for number in range(3):
        history = batch(history, *(f"r{number}{call}" for call in range(calls)))

    windows = [fold(history, CompactionRules(messages=messages)) for messages in range(1, 2 * len(history.turns))]
    kept = [fold(history, CompactionRules(), keep) for keep in (1, 2, 3)]

    assert kept[2] is None, "only the request is older than all rounds"
    cuts = {found.cut: found for found in (*windows, *kept[:2]) if found is not None}
    assert all((len(history.turns) - cut) % (calls + 1) == 0 for cut in cuts)
    assert len(cuts) == 2
    for found in cuts.values():
        providers_take(folded(found, Pins("do it"), "Going.").turns)


def test_case_13_a_call_without_output_gets_one_before_anything_is_folded() -> None:
    history = run_of(Transcript(), "old").reply(says("done"))
    stuck = run_of(history, "go").reply(says("Looking.", ToolCall("toolu_9", "read", '{"path":"x"}')))

    assert fold(stuck, CompactionRules(), 2) is None
    with pytest.raises(HistoryInvalid, match="the output of read is missing at the end"):
        Transcript().replaced(stuck.turns, stuck.runs, None)
    found = fold(stuck.close((INTERRUPTED,)), CompactionRules(), 1)
    assert found is not None
    providers_take(summary_request(found, 1000))
    providers_take(folded(found, Pins("go"), "So far.").turns)


def test_case_68_the_request_in_work_is_the_one_that_is_kept() -> None:
    history = Transcript.begin("You help.")
    for number in range(1, 9):
        history = run_of(history, "set up the linter" if number == 1 else f"u{number}").reply(says(f"done {number}"))
    history = run_of(history, "why is the login slow?")
    for step in range(30):
        history = batch(history, f"step {step}")

    found = fold(history, CompactionRules())
    assert found is not None
    note = texts(folded(found, Pins("why is the login slow?"), "Two steps of the login are done."))[1]

    assert note.endswith("[Note: current request]\nwhy is the login slow?")
    assert note.count("why is the login slow?") == 1
    assert "[Note: earlier requests, all done]\n- set up the linter\n- u2\n" in note
    assert "Two steps of the login are done." in note


def test_case_70_the_summariser_sees_no_call_it_could_imitate() -> None:
    history = run_of(Transcript.begin("You help."), "go")
    for number in range(9):
        history = batch(history, f"r{number}")
    found = fold(history, CompactionRules())
    assert found is not None

    request = summary_request(found, 4000)

    assert [turn.role for turn in request if isinstance(turn, Message) and not turn.calls] == [Role.SYSTEM, Role.USER]
    assert 'Agent called a: {"n":1}\na gave: r0' in request[1].content


def test_case_72_the_next_input_counts() -> None:
    history = run_of(Transcript(), "first").reply(says("ok")).note("more").reply(says("ok"))
    pasted = run_of(history, "x" * 330_000)
    counted = Measured(history.size, 150_000)

    assert next_input(pasted, counted) > 260_000
    assert due(CompactionRules(window=200_000, messages=16), history, counted) == ""
    assert due(CompactionRules(window=200_000, messages=16), pasted, counted) == "llm.session_tokens_windows"


def test_case_73_an_output_larger_than_the_window_loses_its_middle_and_nothing_else_is_lost() -> None:
    log = "compiling ...\n" * 140_000 + "error: undefined symbol"
    history = batch(run_of(Transcript.begin("You build."), "Build it."), log)
    rules = CompactionRules()

    assert due(rules, history, None) == "llm.session_tokens_windows"
    short = shrunk(history, rules.room)

    assert short.size <= rules.room
    assert due(rules, short, None) == ""
    providers_take(short.turns)
    assert texts(short)[:2] == ["You build.", "Build it."]
    assert short.turns[-1].content.startswith("compiling ...\n")
    assert short.turns[-1].content.endswith("error: undefined symbol")
    assert f"of {len(log)} bytes are left out here; call the tool again" in short.turns[-1].content
