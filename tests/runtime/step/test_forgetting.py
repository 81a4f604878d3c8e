"""A run that failed because of its request leaves nothing behind that would fail the next."""

from dataclasses import replace

import pytest

from amrita_fleet.runtime.step.compaction import CompactionRules
from amrita_fleet.runtime.step.events import Stopped
from amrita_fleet.runtime.step.phases import Purpose
from amrita_fleet.runtime.step.prompts import GIVE_UP
from amrita_fleet.runtime.step.rules import Rules

from .pairing import flaw
from .play import Failure, Line, Play, call, calls, mail, says

REFUSED = Failure("The content filter refused it (request_id=r1).", retryable=False, kind="ContentRefused")
OVERFLOW = Failure("The request is too long (request_id=r1).", retryable=False, kind="ContextOverflow")
BUSY = Failure(retryable=False)
HELLO: list[Line] = [says("Hi.")]


@pytest.mark.parametrize("failure", [REFUSED, BUSY], ids=lambda failure: failure.kind)
def test_a_request_that_failed_before_any_reply_is_not_remembered(failure: Failure) -> None:
    play = Play([*HELLO, failure, says("Fine.")]).ask("Hello.").ask("Tell me of it.")

    assert str(play.outcome) == "failed"
    assert play.texts == ["Hello.", "Hi."]
    (told,) = play.told("run.forgotten")
    assert (told.text, told.warning) == ("What the run added to the memory is left out, 1 message", True)
    play.ask("Is the weather nice?")
    assert play.texts == ["Hello.", "Hi.", "Is the weather nice?", "Fine."]
    assert play.state.transcript.runs == (0, 2)


def test_nor_is_one_that_is_too_long_and_cannot_be_cut() -> None:
    play = Play([OVERFLOW, says("Fine.")]).ask("Look.")

    assert str(play.outcome) == "failed"
    assert play.texts == []
    assert play.ask("Small.").texts == ["Small.", "Fine."]


def test_nor_are_the_rounds_of_a_run_whose_contents_are_refused() -> None:
    rules = Rules(instructions="You count.")
    play = Play([*HELLO, calls("a"), REFUSED], rules).ask("Hello.").ask("Look.")

    assert str(play.outcome) == "failed"
    assert play.texts == ["You count.", "Hello.", "Hi."]
    assert flaw(play.turns) is None


def test_a_run_that_failed_later_for_another_reason_is_remembered() -> None:
    play = Play([calls("a"), BUSY]).ask("Look.")

    assert play.texts == ["Look.", "", "a is done"]
    assert play.told("run.forgotten") == []


def test_nothing_is_told_where_nothing_would_be_remembered_anyway() -> None:
    play = Play([REFUSED], Rules(memory="run")).ask("Look.")

    assert play.told("run.forgotten") == []


def test_messages_that_are_left_out_are_named_and_their_words_are_not_kept() -> None:
    mailbox = [mail("The secret word."), mail("Another one.", sender="eve", number=7)]
    play = Play([REFUSED, REFUSED, says("Fine.")], mailbox=mailbox).ask("Look.")

    named = (
        "[Note from the runtime]\nA request failed and is left out, and so are these messages that came with it:\n"
        "- [Message bob.1.ana.1 from bob]\n- [Message eve.1.ana.7 from eve]"
    )
    assert play.texts == [named]
    assert play.told("run.forgotten")[0].data["mails"] == [
        "[Message bob.1.ana.1 from bob]",
        "[Message eve.1.ana.7 from eve]",
    ]
    assert play.ask("Again.").texts == [named], "they are still named after another run of that kind"
    assert play.ask("Small.").texts == [named, "Small.", "Fine."]


def test_a_note_that_names_messages_does_not_cost_the_run_before_it() -> None:
    play = Play([*HELLO, REFUSED, REFUSED]).ask("Hello.")
    play.mailbox.append(mail("The secret word."))
    play.ask("Look.").ask("Again.")

    assert play.texts[:2] == ["Hello.", "Hi."]
    assert "bob.1.ana.1 from bob" in play.texts[2]


def test_what_an_earlier_run_left_unanswered_goes_with_it_when_contents_are_refused() -> None:
    play = Play([*HELLO, calls("a"), REFUSED, says("Fine.")], held=("a",)).ask("Hello.").ask("Look.")
    play.feed(Stopped("by the user")).ask("Go on.")

    assert str(play.outcome) == "failed"
    assert play.texts == ["Hello.", "Hi."], "the output that nobody answered may be what is refused"
    assert play.ask("Small.").outcome.answered


def test_a_last_answer_that_is_refused_leaves_nothing_either() -> None:
    play = Play([*HELLO, *[calls(call("a"))] * 3, REFUSED], Rules(repeats=3)).ask("Hello.").ask("Look.")

    assert play.purposes[-1] is Purpose.LAST
    assert str(play.outcome) == "stalled"
    assert GIVE_UP not in play.texts
    assert play.texts == ["Hello.", "Hi."]


def test_of_a_folded_run_what_was_before_it_stays() -> None:
    many = [calls(call("a", str(number))) for number in range(4)]
    lines: list[Line] = [*HELLO, *many, OVERFLOW, says("We said hello."), OVERFLOW, says("Fine.")]
    play = Play(lines, Rules(rounds=99)).ask("Hello.")
    play.mailbox.append(mail("The secret word."))
    play.ask("Look at all of it.")

    assert play.told("step.compress")
    assert str(play.outcome) == "failed"
    assert play.texts[0].startswith("[Note: summary of earlier messages]\nWe said hello.")
    assert "Look at all" not in "".join(play.texts)
    assert "bob.1.ana.1 from bob" in play.texts[-1]
    assert play.ask("Small.").outcome.answered


def test_a_note_that_names_messages_survives_compaction() -> None:
    play = Play([REFUSED, *(calls(call("a", str(number))) for number in range(4)), says(""), says("Fine.")])
    play.mailbox.append(mail("The secret word."))
    play.state = replace(play.state, rules=Rules(rounds=99, compaction=CompactionRules(messages=8)))
    play.ask("Look.").ask("Again.")

    assert play.told("step.compress")
    assert "so are these messages that came with it:\n- [Message bob.1.ana.1 from bob]" in play.texts[0]
