"""How a run ended, in one word."""

import pytest

from amrita_fleet.protocols.ids import AgentId, RunId
from amrita_fleet.protocols.outcome import Ending, Limit, Outcome


def outcome(ending: Ending, limit: Limit | None = None) -> Outcome:
    return Outcome(RunId("ana.1.1"), AgentId("ana"), ending, "Done.", limit)


@pytest.mark.parametrize("ending", [ending for ending in Ending if ending is not Ending.LIMIT])
def test_an_ending_is_one_word(ending: Ending) -> None:
    assert str(outcome(ending)) == ending.value


@pytest.mark.parametrize("limit", Limit)
def test_a_limit_is_named(limit: Limit) -> None:
    assert str(outcome(Ending.LIMIT, limit)) == f"limit:{limit.value}"


def test_only_an_answer_is_an_answer() -> None:
    assert [ending for ending in Ending if outcome(ending).answered] == [Ending.ANSWERED]


def test_limits_of_the_configuration_have_its_names() -> None:
    assert (Limit.ROUNDS, Limit.STEP_TOKENS) == ("agent_tool_call_limit", "agent_step_token_budget")
