"""The schema of `update_step` says what `revise` takes."""

import json

import pytest

from amrita_fleet import UPDATE_STEP_TOOL
from amrita_fleet.protocols.messages import Json
from amrita_fleet.runtime.step.plan import Node, Plan
from amrita_fleet.runtime.step.revision import ACTIONS, FIELDS, revise

PARAMETERS = json.loads(json.dumps(UPDATE_STEP_TOOL.parameters))
GIVEN: dict[str, dict[str, Json]] = {
    "mark_done": {"id": "a", "summary": "Read."},
    "add_step": {"id": "c", "title": "Send", "needs": ["b"]},
    "remove_step": {"id": "a"},
    "replan": {"steps": [{"id": "c", "title": "Send", "needs": []}]},
}


def test_its_name_is_the_one_that_users_know() -> None:
    assert UPDATE_STEP_TOOL.name == "update_step"


def test_it_offers_every_action_and_every_field_and_no_other() -> None:
    assert PARAMETERS["properties"]["action"]["enum"] == list(ACTIONS) == list(GIVEN)
    assert list(PARAMETERS["properties"]) == list(FIELDS)


def test_strict_providers_take_it() -> None:
    """Plain objects that are closed, whose required fields exist; no choice between schemas."""
    for each in (PARAMETERS, PARAMETERS["properties"]["steps"]["items"]):
        assert each["type"] == "object"
        assert each["additionalProperties"] is False
        assert {*each["required"]} <= {*each["properties"]}
        assert all({"type", "description"} <= part.keys() for part in each["properties"].values())
    assert not any(word in json.dumps(PARAMETERS) for word in ("oneOf", "anyOf", "allOf", "$ref"))


@pytest.mark.parametrize("action", ACTIONS)
def test_each_action_can_be_called_as_the_schema_says(action: str) -> None:
    plan = Plan.of([Node("a", "Read"), Node("b", "Sort", ("a",))])

    assert revise(plan, json.dumps({"action": action, **GIVEN[action]})).changed
