"""The history made smaller in the middle of a run: when, why, and what comes when it cannot be."""

from dataclasses import replace
from typing import Any, cast

import pytest

from amrita_fleet.protocols.checkin import Directive, EndStep, WindDown
from amrita_fleet.protocols.messages import Finish as FinishReason
from amrita_fleet.protocols.messages import Message, Reply, ToolResult, Turn
from amrita_fleet.runtime.step.compaction import CompactionRules
from amrita_fleet.runtime.step.effects import AskLeave
from amrita_fleet.runtime.step.events import Stopped
from amrita_fleet.runtime.step.phases import Phase, Purpose
from amrita_fleet.runtime.step.rules import Rules
from amrita_fleet.runtime.step.strategies import BuiltinStrategy

from .pairing import flaw
from .play import Failure, Line, Play, Result, call, calls, came_to, grant, mail, plan, says

COMPACT = Purpose.COMPACT
OVERFLOW = Failure("The request is too long (request_id=r1).", retryable=False, kind="ContextOverflow")
SUMMARY = says("Two files were read.")


def looks(*prompts: int) -> list[Line]:
    """Rounds of one call each, whose prompts the provider counts so."""
    return [calls(call("look", str(number)), prompt=prompt) for number, prompt in enumerate(prompts)]


def small(threshold: int = -1, window: int = 64_000, messages: int = 200) -> Rules:
    """Rules under which a history is too long soon."""
    return Rules(rounds=99, step_rounds=99, compaction=CompactionRules(threshold, window, messages))


TRIGGERS: dict[str, tuple[Rules, list[Line]]] = {
    "llm.memory_abstract_threshold": (small(threshold=100), looks(10, 101)),
    "llm.session_tokens_windows": (small(window=200), looks(10, 200)),
    "llm.memory_length_limit": (small(messages=5), looks(10, 10)),
}


@pytest.mark.parametrize("setting", TRIGGERS)
def test_whichever_limit_is_reached_first_is_the_reason(setting: str) -> None:
    rules, lines = TRIGGERS[setting]
    play = Play([*lines, SUMMARY], rules).ask("Count.")

    (told,) = play.told("step.compress")
    assert (told.data["reason"], told.data["how"]) == (setting, "summary")
    assert told.data["from_messages"] == 5
    assert told.data["to_messages"] == len(play.turns) < 5
    assert told.data["from"] > told.data["to"]  # type: ignore[operator]
    assert play.purposes == [Purpose.THINK, Purpose.THINK, COMPACT, Purpose.THINK]
    assert "[Note: summary of earlier messages]\nTwo files were read." in play.texts[0]
    assert flaw(play.turns) is None


def test_below_every_limit_nothing_is_asked_for() -> None:
    play = Play(looks(10, 50), small(threshold=150, window=200, messages=6)).ask("Count.")

    assert COMPACT not in play.purposes


def test_what_comes_next_counts_and_not_only_what_was_counted() -> None:
    play = Play(looks(10, 20), small(window=2000), tools=lambda _: Result("x" * 6000)).ask("Count.")

    assert play.purposes[-1] is COMPACT


def test_it_happens_at_a_boundary_where_mail_is_read_first() -> None:
    rules, lines = TRIGGERS["llm.memory_length_limit"]
    play = Play(lines, rules, mailbox=[]).ask("Count.")

    assert play.phase is Phase.COMPACTING
    assert play.notices.count("step.intro") == 2


@pytest.mark.parametrize(
    "none",
    [
        says(" "),
        calls("look"),
        replace(SUMMARY, finish=FinishReason.LENGTH),
        Reply(replace(SUMMARY.message, calls=(call("look"),)), SUMMARY.usage, FinishReason.CALLS, "r"),
        replace(OVERFLOW),
        Failure("The key is wrong.", retryable=False),
    ],
    ids=["empty", "calls", "cut", "text and calls", "too long itself", "failed"],
)
def test_a_summary_that_is_none_leaves_the_old_rounds_out(none: Line) -> None:
    rules, lines = TRIGGERS["llm.memory_length_limit"]
    play = Play([*lines, none, says("Done.")], rules).ask("Count.")

    (told,) = play.told("step.compress")
    assert told.data["how"] == "sliding"
    assert told.warning
    assert "[Note: earlier messages left out]" in play.texts[0]
    assert play.purposes.count(COMPACT) == 1
    assert play.ran == ["look", "look"]
    assert play.outcome.answered


def test_a_failure_that_may_pass_is_tried_again_before_anything_is_left_out() -> None:
    rules, lines = TRIGGERS["llm.memory_length_limit"]
    play = Play([*lines, Failure(), SUMMARY], rules).ask("Count.")

    assert play.told("step.compress")[0].data["how"] == "summary"


def test_the_next_preset_takes_over_for_a_summary_too() -> None:
    rules, lines = TRIGGERS["llm.memory_length_limit"]
    play = Play([*lines, Failure(retryable=False), SUMMARY], replace(rules, presets=2)).ask("Count.")

    assert play.told("step.compress")[0].data["how"] == "summary"
    assert play.state.current.preset == 1


def test_a_summary_is_paid_for_and_is_no_round() -> None:
    rules, lines = TRIGGERS["llm.memory_length_limit"]
    play = Play([*lines, SUMMARY, says("Done.")], rules).ask("Count.")

    assert play.outcome.rounds == 3
    assert play.outcome.tokens == 15 * 4


def test_nothing_is_done_where_the_configuration_says_so() -> None:
    rules = Rules(compaction=CompactionRules(messages=2, window=10, strategy="none"))
    play = Play([*looks(50, 50), says("Done.")], rules).ask("Count.")

    assert COMPACT not in play.purposes
    assert play.told("step.compress") == []
    assert play.outcome.answered


def test_what_must_survive_does() -> None:
    lines: list[Line] = [plan(a="", b="a"), *looks(10, 10, 10), SUMMARY]
    play = Play(lines, replace(small(messages=7), plan="always"), mailbox=[mail("Use file b.")])
    play.ask("Count the words of all files.")

    text = play.texts[0]
    assert "[Note: current request]\nCount the words of all files." in text
    assert "[Message bob.1.ana.1 from bob]\nUse file b." in text
    assert text.count("[Plan status]\n- [current] a: Do a") == 1
    assert "\n\nWork on step a now: Do a. " in text
    assert play.told("step.compress")


def test_a_status_that_stays_is_not_told_twice() -> None:
    lines: list[Line] = [plan(a="", b="a"), *looks(10, 10), says("Found."), came_to("found", "a"), SUMMARY]
    play = Play(lines, replace(small(messages=7), plan="always")).ask("Count.")

    assert play.told("step.compress")
    assert ["[Plan status]" in text for text in play.texts] == [False, False, True]


def test_the_reasoning_of_what_stays_goes_back_as_it_came() -> None:
    thought = Message(calls("x").message.role, "", (call("look", "9"),), "Hm.", "seal", {"index": 1}, "deepseek")
    rules, lines = TRIGGERS["llm.memory_length_limit"]
    play = Play([lines[0], Reply(thought, SUMMARY.usage, FinishReason.CALLS, "r"), SUMMARY], rules).ask("Count.")

    assert play.told("step.compress")
    assert any(turn is thought for turn in play.turns)


def test_a_batch_stays_whole() -> None:
    play = Play([*looks(10), calls("a", "b", "c"), SUMMARY], small(messages=6)).ask("Count.")

    assert [turn.name for turn in play.turns if isinstance(turn, ToolResult)] == ["a", "b", "c"]
    assert flaw(play.turns) is None


def test_outputs_that_are_too_large_by_themselves_are_cut_without_asking() -> None:
    play = Play(looks(10), small(window=2000), tools=lambda _: Result("x" * 9000)).ask("Count.")

    (told,) = play.told("step.compress")
    assert told.data["how"] == "cut"
    assert "call the tool again for a smaller part" in play.outputs[0]
    assert COMPACT not in play.purposes


def test_a_summary_is_asked_for_at_most_once_a_boundary_and_not_again_for_stale_numbers() -> None:
    heavy: list[Line] = []
    for _ in range(6):
        heavy += [calls("look", prompt=10**6), SUMMARY]
    play = Play(heavy, Rules(rounds=99, repeats=99, compaction=CompactionRules(window=100))).ask("Count.")

    steps = play.notices.count("step.intro")
    assert play.purposes.count(COMPACT) <= steps
    assert all({one, other} != {COMPACT} for one, other in zip(play.purposes, play.purposes[1:], strict=False))


def test_what_asks_for_the_final_answer_survives() -> None:
    nodes: list[Line] = [says("A."), came_to("found", "a"), says("B."), came_to("found", "b")]
    lines: list[Line] = [plan(a="", b="a"), *nodes, *looks(10, 10, 10, 10), SUMMARY]
    play = Play(lines, replace(small(messages=13), plan="always", strategy=Keeps(1, 1))).ask("Count.")

    assert play.told("step.compress")
    assert "No step of the plan is left to work on. Answer the request now" in play.texts[0]


@pytest.mark.parametrize("more", [[], [calls("other")]], ids=["goes on", "is over"])
def test_a_hint_about_a_repeated_call_survives_as_long_as_that_goes_on(more: list[Line]) -> None:
    messages = 11 + 2 * len(more)
    lines: list[Line] = [*[calls("look")] * 4, *more, SUMMARY]
    play = Play(lines, replace(small(messages=messages - 1), strategy=Keeps(1))).ask("Count.")

    assert play.told("step.compress")
    assert ("You have called look 3 times in a row" in play.texts[0]) is not bool(more)


def test_a_request_that_is_larger_than_the_window_is_cut_and_a_notice_says_so() -> None:
    play = Play([says("Done."), says("Fine.")]).ask("T" * 5_000_000)

    (told,) = play.told("step.compress")
    assert told.data["request_from"] == 5_000_000
    assert 90_000 < told.data["request_to"] < 97_000  # type: ignore[operator]
    assert "; the request itself is cut: 5000000 -> " in told.text
    assert told.warning
    assert play.purposes == [Purpose.THINK]
    assert play.ask("Small.").outcome.answered
    assert play.told("step.compress") == [told]


def test_a_run_that_was_stopped_over_a_huge_request_does_not_spoil_the_next() -> None:
    play = Play([says("Fine.")], Rules(compaction=CompactionRules(strategy="none")), held=(AskLeave,)).ask(
        "T" * 900_000
    )
    play.feed(Stopped("by the user"))
    play.state, play.held = replace(play.state, rules=Rules()), ()
    play.ask("Small.")

    assert play.texts[1:] == ["Small.", "Fine."]
    assert play.state.transcript.size < 1000


def test_too_little_for_a_summary_is_left_out_without_asking_for_one() -> None:
    play = Play([says("Hi."), says("Done.")]).ask("Hello.").ask("T" * 900_000)

    assert COMPACT not in play.purposes
    assert play.told("step.compress")[0].data["how"] == "cut"


def test_a_trigger_below_the_instructions_is_not_tried_round_after_round() -> None:
    rules = replace(small(threshold=1000), instructions="i" * 4000)
    lines: list[Line] = [calls(call("look", str(number)), prompt=2000) for number in range(24)]
    play = Play(lines, rules).ask("Count.")

    assert 1 <= play.purposes.count(COMPACT) <= 5


# --- a provider finds it too long -------------------------------------------------------------------------------------


def test_a_history_that_a_provider_finds_too_long_is_made_smaller_and_sent_once_more() -> None:
    play = Play([*looks(10, 10, 10), OVERFLOW, SUMMARY, says("Done.")]).ask("Count.")

    (told,) = play.told("step.compress")
    assert told.data["reason"] == "ContextOverflow"
    assert play.purposes[-3:] == [Purpose.THINK, COMPACT, Purpose.THINK]
    assert play.outcome.answered
    assert play.notices.count("model.failed") == 0


def test_a_second_one_fails_the_run_with_the_providers_sentence() -> None:
    play = Play([*looks(10, 10, 10), OVERFLOW, SUMMARY, OVERFLOW]).ask("Count.")

    assert str(play.outcome) == "failed"
    assert play.outcome.reason == "The request is too long (request_id=r1)."
    assert play.purposes.count(COMPACT) == 1


def test_a_reply_in_between_makes_the_first_one_forgotten() -> None:
    lines: list[Line] = [*looks(10, 10, 10), OVERFLOW, SUMMARY, calls("a"), calls("b"), OVERFLOW, SUMMARY]
    play = Play([*lines, says("Done.")]).ask("Count.")

    assert play.purposes.count(COMPACT) == 2
    assert play.outcome.answered


@pytest.mark.parametrize(
    "play",
    [
        Play([OVERFLOW]),
        Play([*looks(10, 10, 10), OVERFLOW], Rules(compaction=CompactionRules(strategy="none"))),
    ],
    ids=["nothing to fold", "not wanted"],
)
def test_what_cannot_be_made_smaller_fails_at_once(play: Play) -> None:
    play.ask("Count.")

    assert play.outcome.reason == "The request is too long (request_id=r1)."
    assert COMPACT not in play.purposes


def test_a_preset_with_a_larger_window_may_take_what_was_too_long() -> None:
    play = Play([OVERFLOW, says("Done.")], Rules(presets=2)).ask("Count.")

    assert play.outcome.answered


def test_a_request_that_a_provider_finds_too_long_is_cut_and_sent_once_more() -> None:
    play = Play([OVERFLOW, says("Done."), says("Fine.")]).ask("T" * 100_000)

    (told,) = play.told("step.compress")
    assert (told.data["how"], told.data["reason"]) == ("cut", "ContextOverflow")
    assert told.data["request_to"] < 50_000  # type: ignore[operator]
    assert play.outcome.answered
    assert play.ask("Small.").outcome.answered


def test_one_output_that_is_too_large_is_cut_and_sent_once_more() -> None:
    play = Play([*looks(10), OVERFLOW, says("Done.")], tools=lambda _: Result("x" * 90_000)).ask("Count.")

    assert play.told("step.compress")[0].data["how"] == "cut"
    assert play.outcome.answered


def test_a_last_answer_that_is_too_long_is_done_without() -> None:
    directives: list[Directive] = [grant(), WindDown("tokens", "none left")]
    play = Play([calls("look"), OVERFLOW], directives=directives).ask("Count.")

    assert str(play.outcome) == "limit:tokens"
    assert "look is done" in play.outcome.text
    assert COMPACT not in play.purposes


# --- a Supervisor that grants no summary ------------------------------------------------------------------------------


def test_without_leave_for_a_summary_the_old_rounds_are_left_out() -> None:
    rules, lines = TRIGGERS["llm.memory_length_limit"]
    directives: list[Directive] = [grant(), grant(), EndStep("not now")]
    play = Play([*lines, says("Done.")], rules, directives=directives).ask("Count.")

    assert play.told("step.compress")[0].data["how"] == "sliding"
    assert play.outcome.answered


# --- a strategy -------------------------------------------------------------------------------------------------------


class Keeps(BuiltinStrategy):
    """Says how many rounds stay, another number each time."""

    def __init__(self, *rounds: object) -> None:
        """Keep the answers."""
        self.rounds: list[Any] = list(rounds)

    def compact(self, turns: tuple[Turn, ...], why: str) -> int | None:  # noqa: ARG002
        """The next answer."""
        return cast("int | None", self.rounds.pop(0))


def test_a_strategy_says_how_many_rounds_stay_and_is_asked_once() -> None:
    play = Play([*looks(10, 10, 10), SUMMARY], replace(small(messages=7), strategy=Keeps(2))).ask("Count.")

    assert len(play.outputs) == 2
    assert play.told("step.compress")


@pytest.mark.parametrize("nonsense", [-1, "two", 1.5, object()], ids=["negative", "text", "half", "object"])
def test_nonsense_of_a_strategy_is_passed_over_with_a_warning(nonsense: object) -> None:
    play = Play([*looks(10, 10), SUMMARY], replace(small(messages=5), strategy=Keeps(nonsense))).ask("Count.")

    (told,) = play.told("step.strategy_failed")
    assert told.data == {"method": "compact"}
    assert told.text.endswith("which does not fit: a whole number of rounds from 0, or None would")
    assert told.warning
    assert play.told("step.compress")


def test_a_strategy_that_keeps_everything_keeps_it_and_the_model_is_not_asked() -> None:
    play = Play([*looks(10, 10)], replace(small(messages=5), strategy=Keeps(99, 99))).ask("Count.")

    assert COMPACT not in play.purposes
    assert play.phase is Phase.THINKING
