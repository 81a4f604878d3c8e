"""Last answers, with a model and without one."""

import pytest

from amrita_fleet.protocols.checkin import Directive, EndStep, Stop, WindDown
from amrita_fleet.protocols.messages import Finish as FinishReason
from amrita_fleet.protocols.messages import Message, Reply, Role, Usage
from amrita_fleet.protocols.outcome import Ending
from amrita_fleet.runtime.step.effects import (
    AskLeave,
    CallModel,
    StartDeadline,
    StartTimer,
)
from amrita_fleet.runtime.step.events import Stopped
from amrita_fleet.runtime.step.phases import Purpose
from amrita_fleet.runtime.step.prompts import EMPTY_REPLY, LAST_ANSWER
from amrita_fleet.runtime.step.rules import Rules

from .play import Failure, Line, Play, Result, call, calls, grant, says


@pytest.mark.parametrize(
    ("limit", "shown"), [("tokens", "limit:tokens"), ("fleet_tokens", "limit:fleet_tokens")], ids=str
)
def test_a_spent_account_leads_to_a_last_answer_and_its_limit_is_the_outcome(limit: str, shown: str) -> None:
    play = Play([calls("a"), says("So far: a.")], directives=[grant(), WindDown(limit, "no tokens left")]).ask()

    assert str(play.outcome) == shown
    assert (play.outcome.text, play.outcome.reason) == ("So far: a.", "no tokens left")
    assert play.texts[-2] == LAST_ANSWER.format(limit="no tokens left")


def test_a_last_answer_asks_for_fewer_tokens() -> None:
    rules = Rules(output=4096, last_output=512)
    play = Play([says("Bye.")], rules, directives=[WindDown("tokens", "none left")]).ask()

    assert [(effect.output, effect.purpose) for effect in play.effects if isinstance(effect, AskLeave)] == [
        (4096, Purpose.THINK),
        (512, Purpose.LAST),
    ]


@pytest.mark.parametrize("refused", [WindDown("tokens", "none left"), EndStep("none left")], ids=["wind down", "end"])
def test_without_tokens_for_a_last_answer_the_run_ends_without_a_model(refused: WindDown | EndStep) -> None:
    play = Play([calls("a", "b")], directives=[grant(), WindDown("tokens", "none left"), refused]).ask()

    assert str(play.outcome) == "limit:tokens"
    assert play.outcome.text == "Tool result: a is done\nTool result: b is done"
    assert play.seen(CallModel) == 1


def test_an_end_without_a_model_quotes_the_last_text_and_the_newest_results() -> None:
    lines = [calls(call("look", str(number))) for number in range(6)]
    directives: list[Directive] = [*[grant()] * 6, *[WindDown("tokens", "none left")] * 2]
    play = Play(lines, directives=directives, tools=lambda asked: Result(f"saw {asked.arguments}")).ask()

    assert play.outcome.text.splitlines() == [f"Tool result: saw {number}" for number in (2, 3, 4, 5)]


def test_an_end_before_anything_was_said_says_so() -> None:
    play = Play(directives=[WindDown("tokens", "none left"), EndStep("none left")]).ask()

    assert play.outcome.text == "No answer: the run ended before the model said anything."


def test_a_last_answer_that_fails_is_tried_again_and_then_done_without() -> None:
    rules = Rules(rounds=1, retries=1)
    play = Play([calls("a"), Failure(), Failure()], rules).ask()

    assert play.seen(CallModel) == 3
    assert str(play.outcome) == "limit:agent_tool_call_limit"
    assert play.outcome.text == "Tool result: a is done"
    assert "model.failed" in play.notices


def test_the_supervisor_can_end_a_step_without_a_call() -> None:
    play = Play([says("Done.")], directives=[EndStep("not now")]).ask()

    assert play.outcome.steps == 2
    assert play.outcome.rounds == 1


def test_the_supervisor_can_stop_a_run() -> None:
    play = Play([calls("a")], directives=[grant(), Stop("the fleet is stopped")]).ask()

    assert str(play.outcome) == "stopped"
    assert play.outcome.reason == "the fleet is stopped"


@pytest.mark.parametrize(
    "end", [Failure(retryable=False), "stop", "time", "wind down", "end of step"], ids=lambda end: str(end)[:12]
)
def test_a_nudge_stays_in_no_history_however_the_run_goes_on(end: Failure | str) -> None:
    refusals: dict[object, Directive] = {"wind down": WindDown("tokens", "none"), "end of step": EndStep("not now")}
    second = refusals.get(end, grant())
    lines: list[Line] = [says(""), *([end] if isinstance(end, Failure) else [])]
    play = Play(lines, directives=[grant(), second]).ask("Speak.", timeout=9.0)
    if end == "stop":
        play.feed(Stopped("by the user"))
    elif end == "time":
        play.fire(StartDeadline)

    assert EMPTY_REPLY not in play.texts


def test_the_text_of_a_run_that_fails_is_what_the_model_said_last() -> None:
    spoke = Reply(Message(Role.ASSISTANT, "I look.", (call("a"),)), Usage(1, 1), FinishReason.CALLS, "r")
    play = Play([spoke, Failure("The key is wrong.", retryable=False)]).ask()

    assert play.outcome.ending is Ending.FAILED
    assert (play.outcome.text, play.outcome.reason) == ("I look.", "The key is wrong.")
    assert play.outcome.limit is None
    assert play.seen(StartTimer) == 0
