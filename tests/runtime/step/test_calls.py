"""Calls: hints about those that fail or repeat, and those that wait for a person."""

import pytest

from amrita_fleet.protocols.messages import Finish as FinishReason
from amrita_fleet.protocols.messages import Message, ToolCall
from amrita_fleet.runtime.errors import InvalidMove
from amrita_fleet.runtime.step.effects import AskApproval, Cancel, Commit, RunTool, StartDeadline
from amrita_fleet.runtime.step.events import Decided, PauseAsked, Stopped, ToolEnded, ToolHeld
from amrita_fleet.runtime.step.phases import Phase
from amrita_fleet.runtime.step.prompts import CANCELLED, INTERRUPTED, NOT_RUN
from amrita_fleet.runtime.step.rules import Rules

from .pairing import flaw
from .play import Play, Result, call, calls, mail, revise, says


def fails(asked: ToolCall) -> Result:
    return Result("ERROR: no such file" if asked.name == "bad" else "Fine.")


def hints(play: Play) -> list[str]:
    return [told.text for told in play.told("step.hint")]


# --- hints ------------------------------------------------------------------------------------------------------------


def test_the_first_failure_allows_one_retry_and_the_second_none() -> None:
    play = Play([calls(call("bad", "1")), calls(call("bad", "2"))], tools=fails).ask()

    first, second = hints(play)
    assert "retry at most once" in first
    assert "do not retry" in second
    assert "update_step" not in first + second, "a tool that is not offered is not named"
    assert play.texts[1:] == ["", "ERROR: no such file", first, "", "ERROR: no such file", second]


def test_a_hint_follows_the_whole_batch_however_many_of_its_calls_failed() -> None:
    play = Play([calls("bad", "good", "bad")], tools=fails).ask()

    assert play.texts[2:5] == ["ERROR: no such file", "Fine.", "ERROR: no such file"]
    assert play.texts[5:] == hints(play)
    assert len(hints(play)) == 1
    assert flaw(play.turns) is None


def test_two_hints_a_step_are_enough_and_the_next_step_counts_anew() -> None:
    rounds = [calls(call("bad", str(number))) for number in range(4)]
    play = Play(rounds, Rules(step_rounds=3), tools=fails).ask()

    assert [told.data["failures"] for told in play.told("step.hint")] == [1, 2, 1]


def test_a_hint_is_recorded_with_the_batch_that_it_follows() -> None:
    play = Play([calls("bad")], tools=fails).ask()

    hinted = play.effects.index(play.told("step.hint")[0])
    assert isinstance(play.effects[hinted + 1], Commit)


def test_an_output_that_only_mentions_an_error_is_none() -> None:
    play = Play([calls("look")], tools=lambda _: Result("No ERROR: all fine")).ask()

    assert hints(play) == []


def test_a_cancelled_repeat_calls_for_no_hint_about_failures() -> None:
    play = Play([calls("bad"), calls("bad")], Rules(repeats=2), tools=fails).ask()

    assert play.outputs[-1] == CANCELLED
    assert len(hints(play)) == 1


def test_a_repeat_is_told_before_it_is_cancelled() -> None:
    play = Play([*[calls("look")] * 5, says("Enough.")], Rules(repeats=5)).ask()

    (hint,) = hints(play)
    assert "look 3 times in a row" in hint
    assert "Call number 5 will be cancelled" in hint
    assert play.ran == ["look"] * 4


def test_a_repeat_whose_results_change_is_not_told_of() -> None:
    results = iter(range(9))
    play = Play([*[calls("look")] * 4], Rules(repeats=5), tools=lambda _: Result(str(next(results)))).ask()

    assert hints(play) == []


def test_a_cut_reply_calls_for_no_hint() -> None:
    play = Play([calls("bad", finish=FinishReason.LENGTH)], tools=fails).ask()

    assert play.outputs[0].startswith("ERROR")
    assert hints(play) == []


# --- approval ---------------------------------------------------------------------------------------------------------


def marked(*names: str) -> Play:
    """An agent whose model calls `rm`, which is marked, beside these."""
    return Play([calls("rm", *names), says("Done.")], approval=("rm",)).ask()


def hooked(reason: str = "it deletes files") -> Play:
    """An agent whose hook holds `rm`."""
    return Play([calls("rm"), says("Done.")], tools=lambda _: Result("Gone.", held=reason)).ask()


def test_a_call_of_a_marked_tool_does_not_run_before_a_person_has_decided() -> None:
    play = marked("look")

    assert play.phase is Phase.ACTING
    assert play.ran == ["look"]
    (told,) = play.told("tool.approval")
    assert told.data["tool"] == "rm"
    assert told.data["arguments"] == "{}"
    assert told.data["id"] == f"ana.1.1.{next(iter(play.pending))}"


def test_a_call_that_a_hook_holds_is_recorded_and_waits_like_a_marked_one() -> None:
    play = hooked()

    (asked,) = (effect for effect in play.effects if isinstance(effect, AskApproval))
    assert asked.reason == "it deletes files"
    assert isinstance(play.effects[-1], Commit)
    assert play.phase is Phase.ACTING


def test_a_person_sees_the_call_that_will_run_and_the_history_keeps_the_models_own() -> None:
    asked, rewritten = call("rm", '{"path": "/"}'), call("rm", '{"path":"/tmp/1"}')
    play = Play([calls(asked), says("Done.")], tools=lambda _: Result("Gone.", None, "it deletes", rewritten.arguments))
    play.ask()

    (shown,) = (effect for effect in play.effects if isinstance(effect, AskApproval))
    assert shown.call == rewritten
    assert play.told("tool.approval")[0].data["arguments"] == rewritten.arguments

    play.decide(allowed=True)
    ran = [effect.call for effect in play.effects if isinstance(effect, RunTool)]
    assert ran == [asked, rewritten]
    replies = [turn for turn in play.turns if isinstance(turn, Message) and turn.calls]
    assert [reply.calls for reply in replies] == [(asked,)]


def test_a_call_may_be_held_without_a_reason() -> None:
    play = hooked("")

    play.feed(Stopped("enough"))

    assert play.outputs == [NOT_RUN]
    assert play.told("tool.approval")[0].data["reason"]


@pytest.mark.parametrize("play", [marked, hooked], ids=["marked", "hooked"])
def test_an_allowed_call_runs_once_as_approved(play: type[Play]) -> None:
    played = play().decide(allowed=True)

    assert [effect.approved for effect in played.effects if isinstance(effect, RunTool)][-1]
    assert len([effect for effect in played.effects if isinstance(effect, RunTool) and effect.approved]) == 1
    assert played.outcome.answered
    assert played.notices.count("tool.approved") == 1


def test_the_decision_is_recorded_before_the_call_runs() -> None:
    play = marked().decide(allowed=True)

    ran = next(at for at, effect in enumerate(play.effects) if isinstance(effect, RunTool) and effect.approved)
    assert isinstance(play.effects[ran - 1], Commit)


@pytest.mark.parametrize(
    ("reason", "output"),
    [
        ("not that one", "Cancelled: A person did not allow this call: not that one. Do not repeat it."),
        ("", "Cancelled: A person did not allow this call. Do not repeat it."),
    ],
)
def test_a_refused_call_does_not_run_and_the_model_reads_why(reason: str, output: str) -> None:
    play = marked().decide(allowed=False, reason=reason)

    assert play.outputs == [output]
    assert play.ran == []
    assert hints(play) == [], "it is no failure"
    assert play.outcome.answered


def test_several_calls_are_held_and_decided_each_by_itself_in_any_order() -> None:
    play = Play([calls(call("rm", "1"), "look", call("rm", "2")), says("Done.")], approval=("rm",)).ask()
    first, second = play.pending

    play.feed(Decided(second, allowed=True))
    assert play.phase is Phase.ACTING
    play.feed(Decided(first, allowed=False, reason="no"))

    allowed = [effect.call for effect in play.effects if isinstance(effect, RunTool) and effect.approved]
    assert allowed == [call("rm", "2")]
    assert play.outputs[0].startswith("Cancelled: ")
    assert play.outputs[1:] == ["look is done", "rm is done"]
    assert flaw(play.turns) is None


def test_a_stop_says_of_a_held_call_that_it_did_not_run() -> None:
    play = Play([calls("rm", "slow", "look")], approval=("rm",), held=("slow",)).ask().feed(Stopped("by the user"))

    assert play.outputs == [NOT_RUN, INTERRUPTED, "look is done"]
    assert "not run" in NOT_RUN
    (cancelled,) = (effect for effect in play.effects if isinstance(effect, Cancel))
    assert len(cancelled.ops) == 2
    assert play.pending == {}


def test_the_runs_time_runs_on_while_a_person_decides() -> None:
    play = Play([calls("rm")], approval=("rm",)).ask(timeout=5.0).fire(StartDeadline)

    assert play.outputs == [NOT_RUN]
    assert play.phase is Phase.WINDING_DOWN
    assert str(play.model(says("Not done.")).outcome) == "limit:time"


def test_a_pause_does_not_keep_a_person_from_deciding() -> None:
    play = marked().feed(PauseAsked("a look")).decide(allowed=False)

    assert play.phase is Phase.PAUSED, "the batch is over, and nobody has looked for mail"


def test_nobody_looked_for_mail_while_a_person_decided_so_a_look_follows() -> None:
    play = marked()
    play.mailbox.append(mail("Better not."))
    play.decide(allowed=False)

    assert any("Better not." in text for text in play.texts)


def test_a_held_call_takes_nothing_but_a_decision_and_a_running_one_everything_else() -> None:
    play = Play([calls("rm", "slow")], approval=("rm",), held=("slow",)).ask()
    running, held = sorted(play.pending, key=lambda op: isinstance(play.pending[op], AskApproval))
    before = play.state

    for event in (ToolEnded(held, "", ""), ToolHeld(held, "why", "{}"), Decided(running, allowed=True)):
        with pytest.raises(InvalidMove):
            play.feed(event)
    assert play.state is before


def test_a_held_call_counts_as_a_repeat_and_the_nth_is_not_even_asked_about() -> None:
    play = Play([*[calls("rm")] * 3, says("Enough.")], Rules(repeats=3), approval=("rm",)).ask()
    play.decide(allowed=True).decide(allowed=True)

    assert play.seen(AskApproval) == 2
    assert play.outputs[-1] == CANCELLED


def test_a_revision_needs_no_approval_and_no_tool() -> None:
    play = Play([calls(revise("mark_done"))], approval=("rm",)).ask()

    assert play.seen(AskApproval) == 0
