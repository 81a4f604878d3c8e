"""Strategies, typed answers and extensions: what comes from outside and may be nonsense."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn, cast

import pytest

from amrita_fleet.protocols.checkin import WindDown
from amrita_fleet.protocols.outcome import Ending
from amrita_fleet.runtime.step.phases import Purpose
from amrita_fleet.runtime.step.plan import NodeStatus, Plan
from amrita_fleet.runtime.step.prompts import CORRECT, FINAL, LAST_ANSWER
from amrita_fleet.runtime.step.rules import Rules
from amrita_fleet.runtime.step.stall import Window
from amrita_fleet.runtime.step.strategies import BuiltinStrategy

from .pairing import flaw
from .play import Line, Play, call, calls, came_to, plan, says

TWO = plan(a="", b="")


def rounds(count: int) -> list[Line]:
    return [calls(call("look", str(number))) for number in range(count)]


def refuse() -> NoReturn:
    raise RuntimeError("no idea")


class Strange(BuiltinStrategy):
    """Says the same to everything."""

    def __init__(self, say: Callable[[], Any]) -> None:
        """Keep what to say."""
        self.say = say

    def next_node(self, plan: Plan) -> str | None:  # noqa: ARG002
        """What it says."""
        return cast("str | None", self.say())

    def stalled(self, window: Window) -> bool:  # noqa: ARG002
        """What it says."""
        return cast("bool", self.say())

    def final_prompt(self, plan: Plan) -> str | None:  # noqa: ARG002
        """What it says."""
        return cast("str | None", self.say())


class Mute(Exception):
    """Says nothing of itself."""

    def __str__(self) -> str:
        """Refuse."""
        raise SystemExit


class Hidden:
    """What nobody can look at."""

    def __repr__(self) -> str:
        """Refuse."""
        raise Mute


def raising(error: BaseException) -> Callable[[], Any]:
    """What raises this."""

    def fail() -> None:
        raise error

    return fail


class Backwards(BuiltinStrategy):
    """Takes the last node that is ready."""

    def next_node(self, plan: Plan) -> str | None:
        """The last."""
        return plan.ready[-1] if plan.ready else None


class Impatient(BuiltinStrategy):
    """Gives up at the second identical call."""

    def stalled(self, window: Window) -> bool:
        """Earlier than the core."""
        return window.count >= 2


class Brief(BuiltinStrategy):
    """Has its own words for the end."""

    def final_prompt(self, plan: Plan) -> str | None:
        """Knows the plan."""
        return f"Sum up {len(plan.nodes)} steps in one line."


def played(strategy: BuiltinStrategy) -> Play:
    """A plan of two nodes, worked on to its end."""
    node: list[Line] = [calls("look"), says("Found."), came_to("found", "it")]
    return Play([TWO, *node, *node, says("Done.")], Rules(plan="always", strategy=strategy)).ask()


def test_a_strategy_may_take_another_node_that_is_ready() -> None:
    play = played(Backwards())

    assert [told.data["node"] for told in play.told("step.intro")] == ["b", "a", ""]
    assert play.outcome.answered


def test_a_strategy_may_see_a_stall_earlier() -> None:
    play = Play([calls("look"), calls("look"), says("Enough.")], Rules(strategy=Impatient())).ask()

    assert play.outcome.ending is Ending.STALLED
    assert play.ran == ["look", "look"]


def test_a_strategy_cannot_keep_the_core_from_seeing_a_stall() -> None:
    play = Play([*[calls("look")] * 3, says("Enough.")], Rules(repeats=3, strategy=Strange(lambda: False))).ask()

    assert play.outcome.ending is Ending.STALLED


def test_a_strategy_may_have_its_own_words_for_the_end() -> None:
    play = played(Brief())

    assert any(text.endswith("Sum up 2 steps in one line.") for text in play.texts)
    assert not any(FINAL in text for text in play.texts)


@pytest.mark.parametrize(
    "say",
    [
        *(refuse, raising(SystemExit(3)), raising(KeyboardInterrupt()), raising(Mute()), Hidden),
        *(lambda: "no such node", lambda: 7, lambda: ["a"], lambda: " "),
    ],
    ids=["raises", "exits", "interrupts", "mute", "hidden", "stranger", "number", "list", "blank"],
)
def test_what_a_strategy_does_amiss_costs_nothing_but_its_say(say: Callable[[], Any]) -> None:
    play = played(Strange(say))

    assert [told.data["node"] for told in play.told("step.intro")] == ["a", "b", ""]
    assert play.outcome.answered
    assert {"next_node", "stalled"} <= {str(told.data["method"]) for told in play.told("step.strategy_failed")}
    assert all(told.warning for told in play.told("step.strategy_failed"))
    assert flaw(play.turns) is None


def test_a_node_whose_needs_are_not_done_cannot_be_taken() -> None:
    play = Play([plan(a="", b="a")], Rules(plan="always", strategy=Strange(lambda: "b"))).ask()

    assert [told.data["node"] for told in play.told("step.intro")] == ["a"]


# --- typed answers ----------------------------------------------------------------------------------------------------


def test_a_flawed_answer_is_corrected_and_its_value_reaches_the_outcome() -> None:
    play = Play([says("two"), says("2")], flaws=["it is no number."]).ask("Count.")

    assert play.texts == ["Count.", "two", CORRECT.format(flaw="it is no number."), "2"]
    assert play.outcome.answered
    assert play.outcome.output == {"said": "2"}
    assert play.notices.count("model.flawed") == 1


def test_a_third_flawed_answer_fails_the_run_and_says_what_is_wrong() -> None:
    play = Play([says("two"), says("zwei"), says("deux"), says("2")], flaws=["words", "German", "French"]).ask()

    assert play.outcome.ending is Ending.FAILED
    assert play.outcome.reason == "the answer is still not of the type that is asked for: French"
    assert (play.outcome.text, play.outcome.output) == ("deux", None)
    assert play.outcome.rounds == 3


def test_calls_between_corrections_give_no_more_of_them() -> None:
    lines: list[Line] = [says("1"), calls("look"), says("2"), calls("look"), says("3")]
    play = Play(lines, flaws=["bad"] * 3).ask()

    assert play.outcome.ending is Ending.FAILED


def test_a_correction_is_a_round_like_any_other() -> None:
    play = Play([says("two"), says("So far.")], Rules(rounds=1), flaws=["bad"]).ask()

    assert str(play.outcome) == "limit:agent_tool_call_limit"
    assert play.outcome.output is None


def test_only_the_final_answer_of_a_plan_must_be_of_the_type() -> None:
    node = [says("Found."), came_to("found", "it")]
    play = Play([TWO, *node, *node, says("2")], Rules(plan="always"), flaws=["bad", "bad", ""]).ask()

    assert play.outcome.answered
    assert play.outcome.output == {"said": "2"}
    assert play.notices.count("model.flawed") == 0


# --- more rounds ------------------------------------------------------------------------------------------------------


def test_a_run_that_is_given_more_rounds_goes_on_as_if_it_had_met_no_limit() -> None:
    play = Play([*rounds(4), says("Done.")], Rules(rounds=2), extensions=[3]).ask()

    assert play.outcome.answered
    assert play.outcome.rounds == 5
    assert Purpose.LAST not in play.purposes
    assert not any(text.startswith(LAST_ANSWER[:20]) for text in play.texts)
    assert play.told("run.extended")[0].data == {"rounds": 3, "limit": "agent_tool_call_limit"}


def test_the_limit_that_was_moved_is_a_limit_again() -> None:
    play = Play([*rounds(5), says("So far.")], Rules(rounds=2), extensions=[1, 2]).ask()

    assert play.outcome.rounds == 5
    assert "5 rounds" in play.outcome.reason
    assert flaw(play.turns) is None


def test_other_limits_cannot_be_moved() -> None:
    play = Play([says("So far.")], directives=[WindDown("tokens", "none left")], extensions=[3]).ask()

    assert str(play.outcome) == "limit:tokens"
    assert play.told("run.not_extended")[0].warning


def test_a_plan_goes_on_at_the_node_where_the_limit_was_met() -> None:
    play = Play([TWO, *rounds(2)], Rules(plan="always", rounds=1), extensions=[5]).ask()

    assert [told.data["node"] for told in play.told("step.intro")] == ["a", "a"]
    assert play.nodes == {"a": NodeStatus.PENDING, "b": NodeStatus.PENDING}


def test_an_early_stall_of_a_strategy_in_a_plan_ends_the_node_alone() -> None:
    rules = replace(Rules(plan="always"), strategy=Impatient())
    play = Play([TWO, calls("look"), calls("look")], rules).ask()

    assert play.nodes == {"a": NodeStatus.FAILED, "b": NodeStatus.PENDING}
