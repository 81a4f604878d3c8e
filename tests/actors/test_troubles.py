"""What befalls agents on Ray: each trouble is ended by itself, and its notice says who, what, and on which evidence."""

import asyncio
from pathlib import Path

import pytest

from amrita_fleet.protocols.outcome import Ending

from .troubled import POLICY, Told, live

pytestmark = [pytest.mark.ray, pytest.mark.slow]

LIMITS = POLICY.deadlines


@pytest.fixture(scope="module")
def told(ray_cluster: str, tmp_path_factory: pytest.TempPathFactory) -> Told:
    """One fleet lives through all of it; each test looks at one part."""
    journal: Path = tmp_path_factory.mktemp("troubles") / "journal.sqlite"
    return asyncio.run(live(journal))


@pytest.mark.parametrize(
    ("agent", "made"), [("same", ["look"]), ("swap", ["open", "shut"]), ("toil", ["read", "edit", "test"])]
)
def test_calls_that_come_round_with_the_same_results(told: Told, agent: str, made: list[str]) -> None:
    assert told.watched(agent) == ["found", "cancelled"]
    data = told.of(agent, "watch", "found").data
    assert (data["trouble"], data["agents"]) == ("call_loop", [agent])
    assert (data["period"], data["times"]) == (len(made), LIMITS.call_rounds)
    assert sorted(map(str, data["tools"])) == sorted(made)  # type: ignore[arg-type]
    assert told.outcomes[agent].ending is Ending.STOPPED
    assert told.outcomes[agent].reason.startswith(f"the watch ended it: {agent} made the same call")


def test_two_agents_that_send_each_other_the_same_messages(told: Told) -> None:
    assert told.watched("ping") == told.watched("pong") == ["found", "cancelled"]
    data = told.of("ping", "watch", "found").data
    assert (data["trouble"], data["agents"]) == ("message_loop", ["ping", "pong"])
    assert (data["period"], data["times"], len(data["messages"])) == (2, 3, 6)  # type: ignore[arg-type]
    assert told.outcomes["ping"].ending is Ending.STOPPED
    assert told.outcomes["ping"].reason.startswith("the watch ended it: ping and pong sent each other the same 2")
    assert told.of("pong", "run", "finished").data["outcome"] == "stopped"


def test_three_agents_that_wait_for_each_other(told: Told) -> None:
    (refused,) = [each for each in told.notices if (each.type, each.extra_type) == ("step", "wait_ended")]
    assert refused.data["cause"] == "knot"
    assert {*map(str, refused.data["agents"])} == {"one", "two", "three"}  # type: ignore[arg-type]
    for agent in ("one", "two", "three"):
        assert told.outcomes[agent].text == "done"
        assert told.watched(agent) == []


def test_a_tool_that_blocks_the_event_loop(told: Told) -> None:
    assert told.watched("wedged") == ["found", "killed"]
    found = told.of("wedged", "watch", "found")
    assert (found.data["trouble"], found.data["agents"], found.data["tool"]) == ("wedged", ["wedged"], "grind")
    assert "its loop has not answered for" in found.text
    assert float(str(found.data["seconds"])) >= LIMITS.loop
    assert (told.outcomes["wedged"].text, told.lives["wedged"]) == ("I go on.", 2)


def test_a_tool_that_never_returns(told: Told) -> None:
    assert told.watched("hung") == ["found", "cancelled"]
    data = told.of("hung", "watch", "found").data
    assert (data["trouble"], data["agents"], data["tool"]) == ("tool", ["hung"], "hang")
    assert (data["run"], data["step"], data["round"]) == (told.outcomes["hung"].run, 1, 1)
    assert float(str(data["quiet"])) >= LIMITS.tool
    assert told.outcomes["hung"].reason.startswith("the watch ended it: hung is in tool hang for")
    assert told.lives["hung"] == 1


def test_a_process_that_is_killed(told: Told) -> None:
    died = told.of("killed", "agent", "died")
    assert (died.data["incarnation"], died.data["restarts"]) == (1, True)
    assert "died" in died.text
    assert told.watched("killed") == []
    assert (told.outcomes["killed"].text, told.lives["killed"]) == ("I go on.", 2)


def test_a_model_call_that_never_answers(told: Told) -> None:
    assert told.watched("mute") == ["found", "cancelled"]
    data = told.of("mute", "watch", "found").data
    assert (data["trouble"], data["agents"], data["phase"]) == ("model", ["mute"], "thinking")
    assert float(str(data["quiet"])) >= LIMITS.model
    assert told.outcomes["mute"].reason.startswith("the watch ended it: mute is waiting on model")


def test_a_tool_that_raises_what_would_end_a_program(told: Told) -> None:
    failed = told.of("stopped", "tool", "failed")
    assert failed.data["tool"] == "interrupt"
    assert "KeyboardInterrupt" in failed.text
    assert (told.outcomes["stopped"].text, told.lives["stopped"]) == ("I go on.", 1)
    assert told.watched("stopped") == []


def test_one_who_polls_and_one_who_waits_are_left_alone(told: Told) -> None:
    assert (told.outcomes["poller"].text, told.outcomes["patient"].text) == ("built", "It came.")
    assert told.watched("poller") == told.watched("patient") == []
