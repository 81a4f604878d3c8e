"""Rounds: a reply, its calls, and what follows when they have ended."""

import itertools

import pytest

from amrita_fleet.protocols.messages import Finish as FinishReason
from amrita_fleet.protocols.messages import Message, Reply, Role, ToolResult, Usage
from amrita_fleet.protocols.outcome import Ending, Limit
from amrita_fleet.runtime.step.effects import AskLeave, CallModel, Commit, Notify, RunTool
from amrita_fleet.runtime.step.phases import Phase, Purpose
from amrita_fleet.runtime.step.prompts import CUT, EMPTY_REPLY, LAST_ANSWER
from amrita_fleet.runtime.step.rules import Rules

from .pairing import flaw
from .play import Play, Result, call, calls, says


def test_an_answer_ends_the_run() -> None:
    play = Play([says("Two.")]).ask("What is one and one?")

    assert play.outcome.answered
    assert (play.outcome.text, play.outcome.rounds, play.outcome.steps, play.outcome.tokens) == ("Two.", 1, 1, 15)
    assert play.texts == ["What is one and one?", "Two."]
    assert play.phase is Phase.IDLE


def test_a_reply_with_calls_runs_them_and_thinks_again() -> None:
    play = Play([calls("look"), says("Seen.")]).ask()

    assert play.ran == ["look"]
    assert play.texts == ["Count the words.", "", "look is done", "Seen."]
    assert play.outcome.rounds == 2


def test_all_calls_of_a_reply_run_at_once() -> None:
    play = Play([calls("a", "b", "c")], held=("a", "b", "c")).ask()

    assert play.ran == ["a", "b", "c"]
    assert play.phase is Phase.ACTING


@pytest.mark.parametrize("order", list(itertools.permutations("abc")), ids="".join)
def test_outputs_stand_in_call_order_whatever_order_the_calls_end_in(order: tuple[str, ...]) -> None:
    play = Play([calls("a", "b", "c"), says("Done.")], held=("a", "b", "c")).ask()

    for name in order:
        assert play.state.transcript.open
        play.end(name, f"out {name}")

    assert play.outputs == ["out a", "out b", "out c"]
    assert flaw(play.turns) is None
    assert play.outcome.answered


def test_calls_that_share_an_id_each_get_their_own_output() -> None:
    twice = calls(call("eval", '{"x":1}'), call("eval", '{"x":2}'))
    play = Play([twice, says("Done.")], tools=lambda asked: Result(asked.arguments)).ask()

    assert play.outputs == ['{"x":1}', '{"x":2}']
    assert flaw(play.turns) is None


def test_a_reply_is_recorded_before_its_calls_run() -> None:
    play = Play([calls("pay"), says("Paid.")]).ask()

    kinds = [type(effect) for effect in play.effects if isinstance(effect, CallModel | Commit | RunTool)]
    assert kinds[kinds.index(CallModel) : kinds.index(RunTool) + 1] == [CallModel, Commit, RunTool]


def test_the_whole_reply_stays_as_the_provider_sent_it() -> None:
    message = Message(
        Role.ASSISTANT, "", (call("look"),), reasoning_content="Let me look.", reasoning_signature="s", extra={"id": 7}
    )
    play = Play([Reply(message, Usage(1, 1), FinishReason.CALLS, "r"), says("Seen.")]).ask()

    assert play.turns[1] is message


def test_a_failed_call_is_an_output_like_any_other() -> None:
    play = Play([calls("look"), says("It failed.")], tools=lambda _: Result("ERROR: no such file")).ask()

    assert play.outputs == ["ERROR: no such file"]
    assert "tool.failed" in play.notices
    assert play.outcome.answered


def test_an_empty_output_is_an_output() -> None:
    play = Play([calls("look"), says("Nothing there.")], tools=lambda _: Result("")).ask()

    assert play.outputs == [""]
    assert play.outcome.answered


def test_an_output_that_has_no_utf8_form_is_counted_all_the_same() -> None:
    play = Play([calls("look"), says("Odd.")], tools=lambda _: Result("\ud800")).ask()

    assert play.outcome.answered


def test_after_its_last_round_a_run_gives_a_last_answer_without_tools() -> None:
    lines = [calls(call("look", str(number))) for number in range(3)]
    play = Play([*lines, says("This is what I have.")], Rules(rounds=3)).ask()

    assert str(play.outcome) == f"limit:{Limit.ROUNDS}" == "limit:agent_tool_call_limit"
    assert play.outcome.text == "This is what I have."
    assert len(play.ran) == 3
    assert [effect.purpose is Purpose.LAST for effect in play.effects if isinstance(effect, AskLeave)] == [
        False,
        False,
        False,
        True,
    ]
    assert play.texts[-2] == LAST_ANSWER.format(limit="the run has had its 3 rounds")


def test_a_last_answer_that_calls_tools_keeps_its_text_and_runs_nothing() -> None:
    stubborn = Reply(Message(Role.ASSISTANT, "One more:", (call("b"),)), Usage(1, 1), FinishReason.CALLS, "r")
    play = Play([calls("a"), stubborn], Rules(rounds=1)).ask()

    assert play.outcome.text == "One more:"
    assert play.ran == ["a"]
    assert flaw(play.turns) is None


@pytest.mark.parametrize("last", [says(""), calls("b")], ids=["empty", "only calls"])
def test_an_empty_last_answer_is_made_of_what_there_is(last: Reply) -> None:
    play = Play([calls("a"), last], Rules(rounds=1)).ask()

    assert play.outcome.ending is Ending.LIMIT
    assert play.outcome.text == "Tool result: a is done"
    assert flaw(play.turns) is None


def test_a_step_that_has_used_its_tokens_ends_the_run_with_a_last_answer() -> None:
    lines = [calls(call("look", str(number)), prompt=100) for number in range(2)]
    play = Play([*lines, says("Enough.")], Rules(step_tokens=150)).ask()

    assert str(play.outcome) == "limit:agent_step_token_budget"
    assert play.outcome.text == "Enough."
    assert "200 of its 150 prompt tokens" in play.outcome.reason


def test_each_step_has_its_own_tokens() -> None:
    lines = [calls(call("look", str(number)), prompt=100) for number in range(4)]
    play = Play([*lines, says("Done.")], Rules(step_tokens=150, step_rounds=1)).ask()

    assert play.outcome.answered


def test_an_empty_reply_is_asked_for_once_more_and_leaves_no_trace() -> None:
    play = Play([says("  "), says("Here I am.")]).ask("Speak.")

    assert play.outcome.answered
    assert play.texts == ["Speak.", "Here I am."]
    assert "model.empty" in play.notices


def test_the_nudge_is_what_the_second_attempt_reads() -> None:
    play = Play([says("")]).ask("Speak.")

    assert play.texts == ["Speak.", EMPTY_REPLY]
    assert play.phase is Phase.THINKING


def test_a_second_empty_reply_fails_the_run_with_the_request_id() -> None:
    play = Play([says(""), says("")]).ask("Speak.")

    assert play.outcome.ending is Ending.FAILED
    assert play.outcome.reason == "empty reply (request_id=req-1, thinking_content=False)"
    assert play.texts == [], "nothing came of it, so it is not remembered"


def test_a_reply_of_reasoning_alone_is_empty_and_its_reasoning_is_no_answer() -> None:
    thought = Message(Role.ASSISTANT, "", reasoning_content="It must be 12.")
    silent = Reply(thought, Usage(1, 1), FinishReason.STOP, "ds-7")
    play = Play([silent, silent]).ask()

    assert play.outcome.reason == "empty reply (request_id=ds-7, thinking_content=True)"
    assert play.outcome.text == ""
    warning = next(one for one in play.effects if isinstance(one, Notify) and one.extra_type == "empty")
    assert warning.text == "Empty response (request_id=ds-7, thinking_content=True)"


def test_a_closed_batch_gives_the_next_empty_reply_its_own_nudge() -> None:
    play = Play([says(""), calls("look"), says(""), says("Done.")]).ask("Speak.")

    assert play.outcome.answered
    assert EMPTY_REPLY not in play.texts


def test_an_empty_reply_in_the_last_round_leaves_no_nudge_before_the_last_answer() -> None:
    play = Play([says(""), says("Fine.")], Rules(rounds=1)).ask("Speak.")

    assert str(play.outcome) == "limit:agent_tool_call_limit"
    assert EMPTY_REPLY not in play.texts


def test_calls_cut_at_the_output_limit_do_not_run() -> None:
    cut = calls("write", "write", finish=FinishReason.LENGTH)
    play = Play([cut, says("In parts, then.")]).ask()

    assert play.ran == []
    assert play.outputs == [CUT, CUT]
    assert CUT.startswith("ERROR: ")
    assert play.outcome.answered


def test_a_model_whose_calls_are_cut_again_and_again_meets_the_limit() -> None:
    cut = calls("write", finish=FinishReason.LENGTH)
    play = Play([*[cut] * 4, says("I cannot.")], Rules(rounds=4)).ask()

    assert str(play.outcome) == "limit:agent_tool_call_limit"


def test_a_text_cut_at_the_output_limit_is_still_an_answer() -> None:
    play = Play([says("Once upon a", finish=FinishReason.LENGTH)]).ask()

    assert play.outcome.text == "Once upon a"


def test_results_come_back_under_the_ids_and_names_of_their_calls() -> None:
    play = Play([calls("a", "b"), says("Done.")]).ask()

    results = [turn for turn in play.turns if isinstance(turn, ToolResult)]
    assert [(one.call_id, one.name) for one in results] == [("call_0", "a"), ("call_0", "b")]
