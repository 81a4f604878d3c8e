"""Ends of runs: last answers, stops, time-outs, memory."""

import pytest

from amrita_fleet.protocols.checkin import Directive, EndStep, Pause, Stop, WindDown
from amrita_fleet.protocols.messages import Finish as FinishReason
from amrita_fleet.protocols.messages import Message, Reply, Role, Usage
from amrita_fleet.protocols.outcome import Ending
from amrita_fleet.runtime.errors import InvalidMove
from amrita_fleet.runtime.step.effects import (
    AskLeave,
    CallModel,
    Cancel,
    Effect,
    Finish,
    LookForMail,
    StartDeadline,
    StartTimer,
    TakeMail,
)
from amrita_fleet.runtime.step.events import PauseAsked, Replied, Resumed, Stopped, ToolEnded
from amrita_fleet.runtime.step.prompts import EMPTY_REPLY, INTERRUPTED, LAST_ANSWER
from amrita_fleet.runtime.step.state import Op, Phase, Rules, WaitFor

from .pairing import flaw
from .play import Failure, Line, Play, Result, call, calls, grant, mail, says


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

    assert [(effect.output, effect.last) for effect in play.effects if isinstance(effect, AskLeave)] == [
        (4096, False),
        (512, True),
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


def test_a_stop_closes_the_batch_and_keeps_what_has_ended() -> None:
    play = Play([calls("a", "b", "c")], held=("a", "b", "c")).ask()
    play.end("b", "found it").feed(Stopped("by the user"))

    assert play.outputs == [INTERRUPTED, "found it", INTERRUPTED]
    assert "may have run" in INTERRUPTED
    assert not INTERRUPTED.startswith("ERROR")
    assert flaw(play.turns) is None
    assert str(play.outcome) == "stopped"
    assert play.outcome.reason == "by the user"


def test_a_stop_cancels_what_runs() -> None:
    play = Play([calls("a", "b")], held=("a", "b")).ask()
    running = tuple(play.pending)

    play.feed(Stopped("by the user"))

    assert [effect.ops for effect in play.effects if isinstance(effect, Cancel)] == [running]


HELD: dict[Phase, tuple[type[Effect], ...]] = {
    Phase.ENTERING: (TakeMail,),
    Phase.THINKING: (),
    Phase.LEAVING: (LookForMail,),
    Phase.DONE: (Finish,),
}


def at(phase: Phase, timeout: float | None = None) -> Play:
    """An agent in the middle of a phase."""
    if phase is Phase.IDLE:
        return Play()
    if phase is Phase.WAITING:
        return Play([calls("wait")], tools=lambda _: Result("", WaitFor((), 1.0))).ask(timeout=timeout)
    if phase is Phase.WINDING_DOWN:
        return Play(directives=[WindDown("tokens", "none left")]).ask(timeout=timeout)
    if phase is Phase.PAUSED:
        return Play(directives=[Pause("a look")]).ask(timeout=timeout)
    if phase is Phase.ACTING:
        return Play([calls("a")], held=("a",)).ask(timeout=timeout)
    lines = [says("Done.")] if phase in {Phase.LEAVING, Phase.DONE} else []
    return Play(lines, held=HELD[phase]).ask(timeout=timeout)


@pytest.mark.parametrize("phase", list(Phase), ids=str)
def test_every_phase_takes_a_stop_and_leaves_a_valid_history(phase: Phase) -> None:
    play = at(phase)
    assert play.phase is phase

    play.feed(Stopped("by the user"))

    assert play.phase is (phase if phase in {Phase.IDLE, Phase.DONE} else Phase.IDLE)
    assert flaw(play.turns) is None
    assert [str(one) for one in play.outcomes] == ([] if phase in {Phase.IDLE, Phase.DONE} else ["stopped"])
    assert play.state.open_ops == tuple(play.pending)


@pytest.mark.parametrize("phase", list(Phase), ids=str)
def test_every_phase_lets_a_pause_be_asked_for_and_called_off(phase: Phase) -> None:
    play = at(phase).feed(PauseAsked("a look"))
    assert play.state.pause == "a look"

    play.feed(Resumed())

    assert play.state.pause is None
    assert play.phase is not Phase.PAUSED


def test_an_answer_that_comes_after_the_stop_is_refused() -> None:
    play = Play([calls("a")], held=("a",)).ask()
    late = next(iter(play.pending))
    play.feed(Stopped("by the user")).ask("Once more.")
    before = play.state

    with pytest.raises(InvalidMove):
        play.feed(ToolEnded(late, "too late", "d"))
    assert play.state is before


def test_an_answer_that_comes_twice_is_refused() -> None:
    play = Play([calls("a", "b")], held=("a", "b")).ask()
    first = next(iter(play.pending))
    play.end("a", "done")
    before = play.state

    with pytest.raises(InvalidMove):
        play.feed(ToolEnded(first, "done again", "d"))
    assert play.state is before


def test_an_answer_to_another_question_is_refused() -> None:
    play = Play(held=(AskLeave,)).ask()
    op = next(iter(play.pending))

    with pytest.raises(InvalidMove, match="no move for Replied"):
        play.feed(Replied(op, says("Too early.")))
    with pytest.raises(InvalidMove):
        play.feed(ToolEnded(Op(999), "", ""))
    assert play.phase is Phase.THINKING


def test_a_run_that_ends_in_time_calls_its_timer_off() -> None:
    play = Play([says("Done.")]).ask(timeout=5.0)

    assert [effect.seconds for effect in play.effects if isinstance(effect, StartDeadline)] == [5.0]
    assert play.pending == {}
    assert play.state.open_ops == ()


def test_a_run_woken_by_mail_may_have_a_timer_too() -> None:
    play = Play(mailbox=[mail("Count.")]).wake(timeout=5.0)

    assert play.fire(StartDeadline).phase is Phase.WINDING_DOWN


def test_time_that_runs_out_in_the_middle_of_a_tool_leads_to_a_last_answer() -> None:
    play = Play([calls("a", "slow")], held=("slow",)).ask(timeout=5.0)
    play.fire(StartDeadline).model(says("Half of it."))

    assert str(play.outcome) == "limit:time"
    assert play.outcome.text == "Half of it."
    assert play.outputs == ["a is done", INTERRUPTED]
    assert flaw(play.turns) is None
    assert play.pending == {}


@pytest.mark.parametrize("phase", [Phase.ENTERING, Phase.THINKING, Phase.ACTING, Phase.LEAVING, Phase.WAITING], ids=str)
def test_time_that_runs_out_elsewhere_leads_to_a_last_answer(phase: Phase) -> None:
    play = at(phase, timeout=5.0).fire(StartDeadline)

    assert play.phase is Phase.WINDING_DOWN
    assert [text for text in play.texts if text.startswith("A limit is reached")] == [
        LAST_ANSWER.format(limit="the run's time is over")
    ]


def test_time_that_runs_out_during_the_last_answer_changes_nothing() -> None:
    play = Play(directives=[WindDown("tokens", "none left")]).ask(timeout=5.0)
    play.fire(StartDeadline).model(says("Bye."))

    assert str(play.outcome) == "limit:tokens"
    assert sum(text.startswith("A limit is reached") for text in play.texts) == 1


def test_time_that_runs_out_in_a_pause_ends_the_run_without_a_model() -> None:
    play = Play([calls("a")], Rules(step_rounds=1), held=("a",)).ask(timeout=5.0).feed(PauseAsked("a look"))
    play.end("a", "seen")
    assert play.phase is Phase.PAUSED

    play.fire(StartDeadline)

    assert str(play.outcome) == "limit:time"
    assert play.outcome.text == "Tool result: seen"


def test_time_that_runs_out_while_a_last_answer_is_paused_keeps_its_ending() -> None:
    play = Play(directives=[WindDown("tokens", "none left"), Pause("a look")]).ask(timeout=5.0)
    play.fire(StartDeadline)

    assert str(play.outcome) == "limit:tokens"


def test_each_run_finishes_once_and_the_next_one_begins_afresh() -> None:
    play = Play([says("One."), says("Two.")]).ask("First.").ask("Second.")

    assert [one.text for one in play.outcomes] == ["One.", "Two."]
    assert [one.rounds for one in play.outcomes] == [1, 1]
    assert play.state.step == 2


def test_an_agent_remembers_across_its_runs() -> None:
    play = Play([says("One."), says("Two.")], Rules(instructions="You count.")).ask("First.").ask("Second.")

    assert play.texts == ["You count.", "First.", "One.", "Second.", "Two."]
    assert play.turns[0] == Message(Role.SYSTEM, "You count.")


def test_an_agent_without_memory_begins_each_run_with_its_instructions_alone() -> None:
    rules = Rules(instructions="You count.", memory="run")
    play = Play([says("One."), says("Two."), says("Three.")], rules, mailbox=[])
    play.ask("First.").ask("Second.")
    assert play.texts == ["You count.", "Second.", "Two."]

    play.mailbox.append(mail("Third."))
    play.wake()
    assert play.texts[0] == "You count."
    assert len(play.texts) == 3


def test_what_an_earlier_run_said_is_not_the_text_of_a_stopped_one() -> None:
    play = Play([calls("a"), says("One.")]).ask("First.").ask("Second.").feed(Stopped("by the user"))

    assert play.outcome.text == ""


def test_what_an_earlier_run_found_is_not_the_answer_of_a_later_one() -> None:
    directives: list[Directive] = [grant(), grant(), WindDown("tokens", "none left"), EndStep("none left")]
    play = Play([calls("a"), says("One.")], directives=directives).ask("First.").ask("Second.")

    assert play.outcome.text == "No answer: the run ended before the model said anything."


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
