"""Steps: what ends one, and that mail enters the transcript between them and nowhere else."""

import pytest

from amrita_fleet.protocols.ids import AgentId
from amrita_fleet.protocols.messages import Finish as FinishReason
from amrita_fleet.protocols.messages import ToolCall, ToolResult
from amrita_fleet.protocols.waits import Endless
from amrita_fleet.runtime.errors import InvalidMove
from amrita_fleet.runtime.step.compaction import CompactionRules
from amrita_fleet.runtime.step.effects import CallModel, Cancel, Commit, Effect, RunTool, TakeMail, WaitForMail
from amrita_fleet.runtime.step.events import PauseAsked, Resumed, WaitEnded
from amrita_fleet.runtime.step.heads import FROM_RUNTIME
from amrita_fleet.runtime.step.phases import Phase, WaitFor
from amrita_fleet.runtime.step.prompts import MAIL_GONE, NO_MAIL, mail_note
from amrita_fleet.runtime.step.rules import Rules

from .pairing import flaw
from .play import Play, Result, call, calls, mail, says

ASK = WaitFor((), 300.0)


def waits(asked: ToolCall) -> Result:
    return Result("What comes stands in your next message.", ASK if asked.name == "wait" else None)


def different(count: int) -> list[str | ToolCall]:
    return [call("look", str(number)) for number in range(count)]


def test_a_step_has_at_most_its_rounds() -> None:
    play = Play([*(calls(one) for one in different(6)), says("Done.")], Rules(step_rounds=4)).ask()

    assert play.outcome.steps == 2
    assert play.outcome.rounds == 7
    assert play.notices.count("step.intro") == play.notices.count("step.leave") == 2


def test_mail_that_is_there_before_the_run_is_read_before_the_first_call() -> None:
    letter = mail("Use file b.")
    play = Play([says("Done.")], mailbox=[letter]).ask("Count.")

    assert play.texts == ["Count.", mail_note((letter,)), "Done."]
    assert play.mailbox == []


def test_mail_that_comes_while_tools_run_never_stands_between_a_call_and_its_output() -> None:
    letter = mail("Stop that.")

    def deliver(play: Play, effect: Effect) -> None:
        if isinstance(effect, RunTool) and effect.call.name == "a":
            play.mailbox.append(letter)

    play = Play([calls("a", "b"), says("Done.")], on=deliver).ask("Count.")

    assert play.texts == ["Count.", "", "a is done", "b is done", mail_note((letter,)), "Done."]
    assert flaw(play.turns) is None


def test_waiting_mail_ends_the_step_after_the_round_it_came_in() -> None:
    def deliver(play: Play, effect: Effect) -> None:
        if isinstance(effect, CallModel) and play.seen(CallModel) == 2:
            play.mailbox.append(mail("Look here."))

    play = Play([*(calls(one) for one in different(4)), says("Done.")], Rules(step_rounds=9), on=deliver).ask()

    note = next(index for index, text in enumerate(play.texts) if "Look here." in text)
    assert sum(isinstance(turn, ToolResult) for turn in play.turns[:note]) == 2
    assert play.outcome.steps == 2


def test_the_event_that_closes_the_batch_is_the_one_that_says_whether_mail_waits() -> None:
    play = Play([calls("a", "b"), says("Done.")], held=("a", "b")).ask()

    play.end("a", "1", mail_waits=True)
    play.end("b", "2", mail_waits=False)

    assert play.outcome.steps == 1


def test_mail_that_comes_before_the_end_opens_another_step() -> None:
    def deliver(play: Play, effect: Effect) -> None:
        if isinstance(effect, CallModel) and play.seen(CallModel) == 1:
            play.mailbox.append(mail("One more thing."))

    play = Play([says("Done."), says("That too.")], on=deliver).ask()

    assert play.outcome.text == "That too."
    assert play.outcome.steps == 2
    assert [text for text in play.texts if "Done." in text or "thing." in text or "too." in text] == [
        "Done.",
        mail_note((mail("One more thing."),)),
        "That too.",
    ]


def test_a_model_whose_answer_was_held_back_for_mail_that_is_gone_is_asked_for_it_again() -> None:
    def deliver(play: Play, effect: Effect) -> None:
        if isinstance(effect, CallModel) and play.seen(CallModel) == 1:
            play.mailbox.append(mail("Never mind."))
        if isinstance(effect, TakeMail):
            play.mailbox.clear()

    play = Play([says("Done."), says("Done, as I said.")], on=deliver).ask("Count.")

    assert play.texts == ["Count.", "Done.", MAIL_GONE, "Done, as I said."]
    assert play.outcome.answered


def test_mail_for_which_no_round_is_left_stays_for_the_next_run() -> None:
    def deliver(play: Play, effect: Effect) -> None:
        if isinstance(effect, CallModel) and play.seen(CallModel) == 1:
            play.mailbox.append(mail("One more thing."))

    play = Play([says("Done."), says("That too.")], Rules(rounds=1), on=deliver).ask()

    assert play.outcome.text == "Done."
    assert play.outcome.answered
    assert len(play.mailbox) == 1

    play.wake()
    assert play.outcome.text == "That too."


def test_mail_leaves_the_mailbox_with_the_commit_that_holds_it() -> None:
    letter = mail("Hello.")
    play = Play([says("Done.")], mailbox=[letter]).ask()

    taken = next(index for index, effect in enumerate(play.effects) if isinstance(effect, TakeMail))
    consumed = [effect for effect in play.effects[taken:] if isinstance(effect, Commit) and effect.consumed]
    assert [one.consumed for one in consumed] == [(letter.id,)]
    assert "mail.consumed" in play.notices


def test_a_boundary_takes_as_many_bytes_as_the_rules_say() -> None:
    play = Play([says("Done.")], Rules(mail_bytes=77)).ask()

    assert [effect.size for effect in play.effects if isinstance(effect, TakeMail)] == [77]


def test_a_cut_reply_ends_the_step_because_nobody_looked_for_mail() -> None:
    def deliver(play: Play, effect: Effect) -> None:
        if isinstance(effect, CallModel) and play.seen(CallModel) == 1:
            play.mailbox.append(mail("Shorter, please."))

    play = Play([calls("write", finish=FinishReason.LENGTH), says("Done.")], on=deliver).ask()

    assert play.outcome.rounds == 2
    assert any("Shorter, please." in text for text in play.texts)


def test_a_call_that_waits_ends_the_step_and_the_agent_waits() -> None:
    play = Play([calls("wait")], tools=waits).ask()

    assert play.phase is Phase.WAITING
    assert [effect.wait for effect in play.effects if isinstance(effect, WaitForMail)] == [ASK]
    assert "step.waiting" in play.notices


def test_mail_ends_the_wait_and_stands_in_the_next_message() -> None:
    letter = mail("Here it is.")
    play = Play([calls("wait"), says("Thanks.")], tools=waits).ask().send(letter)

    assert play.texts[-2:] == [mail_note((letter,)), "Thanks."]
    assert play.outcome.answered
    assert play.pending == {}, "the wait's timer is called off"


def test_a_wait_that_lasts_too_long_is_told_to_the_model() -> None:
    play = Play([calls("wait"), says("Nobody wrote.")], tools=waits).ask().fire(WaitForMail)

    assert play.texts[-2:] == [NO_MAIL.format(seconds=300.0), "Nobody wrote."]
    assert "300 seconds" in play.texts[-2]
    assert play.outcome.answered


def test_mail_that_waits_already_is_not_waited_for() -> None:
    def deliver(play: Play, effect: Effect) -> None:
        if isinstance(effect, RunTool):
            play.mailbox.append(mail("I was faster."))

    play = Play([calls("wait"), says("Good.")], tools=waits, on=deliver).ask()

    assert play.seen(WaitForMail) == 0
    assert play.outcome.answered


def test_calls_that_wait_together_wait_for_either_as_long_as_the_longer_one() -> None:
    bob, cy = AgentId("bob"), AgentId("cy")
    wanted = {"ask_bob": WaitFor((bob,), 20.0), "ask_cy": WaitFor((cy,), 10.0)}
    play = Play([calls("ask_bob", "ask_cy")], tools=lambda asked: Result("Asked.", wanted[asked.name])).ask()

    assert [effect.wait for effect in play.effects if isinstance(effect, WaitForMail)] == [WaitFor((bob, cy), 20.0)]


@pytest.mark.slow
def test_a_thousand_steps_take_a_moment() -> None:
    rounds = 2_000
    play = Play(
        [*(calls(one) for one in different(rounds)), says("Done.")],
        Rules(rounds=rounds + 1, step_rounds=2, compaction=CompactionRules(strategy="none")),
    )

    play.ask()

    assert play.outcome.steps == rounds // 2 + 1
    assert flaw(play.turns) is None


@pytest.mark.parametrize("cause", Endless)
def test_a_wait_that_nobody_would_end_is_over_and_the_model_is_told_why_and_what_to_do(cause: Endless) -> None:
    play = Play([calls("wait"), says("I go on.")], tools=waits).ask()
    why, bob = "ana waits for bob, bob waits for ana", AgentId("bob")
    [wait] = play.state.open_ops

    play.feed(WaitEnded(wait, cause, why, (bob,)))

    assert Cancel((wait,)) in play.effects, "its timer still runs"
    [told] = play.told("step.wait_ended")
    assert told.data == {"cause": cause.value, "agents": ["bob"], "senders": []}
    assert why in told.text
    note = play.texts[-2]
    assert note.startswith(FROM_RUNTIME)
    assert why in note
    assert "end with what you have" in note
    assert (str(play.outcome), play.outcome.steps) == ("answered", 2)


def test_a_wait_that_is_ended_in_a_pause_tells_the_model_when_the_pause_is_over() -> None:
    play = Play([calls("wait"), says("I go on.")], tools=waits).ask().feed(PauseAsked("a look"))

    play.feed(WaitEnded(play.state.open_ops[0], Endless.QUIET, "nobody writes"))

    assert play.phase is Phase.PAUSED
    play.feed(Resumed())
    assert "nobody writes" in play.texts[-2]


def test_the_end_of_an_earlier_wait_is_not_taken_for_that_of_a_later_one() -> None:
    play = Play([calls("wait"), calls("wait")], tools=waits).ask()
    earlier = play.state.open_ops[0]
    play.send(mail("Here I am."))
    assert play.phase is Phase.WAITING

    with pytest.raises(InvalidMove):
        play.feed(WaitEnded(earlier, Endless.KNOT, "nobody writes"))
