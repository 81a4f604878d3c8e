"""Scenarios: which rule answers, and what a file may not say."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from amrita_fleet.protocols.messages import Json
from amrita_fleet.runtime.simulator.conversation import Answer, Call, Conversation, Said
from amrita_fleet.runtime.simulator.errors import Refused, ScenarioInvalid
from amrita_fleet.runtime.simulator.library import read_scenario, read_scenarios, shipped
from amrita_fleet.runtime.simulator.scenario import Scenario, When, parse_scenario

pytestmark = pytest.mark.slow

WEATHER = r"""
models: [weather]
rules:
  - when: {last_role: user, user: 'weather in (?P<city>\w+) for (?P<days>\w+) days', tools_include: [get_weather]}
    calls:
      - name: get_weather
        arguments: {city: "{city}", days: "{days:d}", options: {units: [C, "about {city}"], exact: true}}
  - when: {last_role: tool, tool: '(?P<degrees>-?\d+)'}
    say: It is {degrees} degrees.
"""


def weather() -> Scenario:
    return parse_scenario("weather", yaml.safe_load(WEATHER))


def conversation(*messages: Said, tools: tuple[str, ...] = ()) -> Conversation:
    return Conversation("weather", messages, tools)


def test_groups_of_a_pattern_stand_in_the_arguments_and_numbers_are_numbers() -> None:
    asked = conversation(Said("user", "The weather in Oslo for 3 days?"), tools=("get_weather",))
    options: Json = {"units": ["C", "about Oslo"], "exact": True}
    assert weather().answer(asked) == Answer(
        calls=(Call("get_weather", {"city": "Oslo", "days": 3, "options": options}),)
    )


def test_groups_of_a_pattern_stand_in_the_text() -> None:
    call = Said("assistant", "", (Call("get_weather", id="a"),))
    told = conversation(Said("user", "?"), call, Said("tool", "minus: -4", call_id="a"))
    assert weather().answer(told) == Answer("It is -4 degrees.")


def test_a_group_that_should_be_a_number_and_is_none_is_refused() -> None:
    asked = conversation(Said("user", "The weather in Oslo for few days?"), tools=("get_weather",))
    with pytest.raises(Refused, match="wants a number in 'days', and the conversation has 'few' there"):
        weather().answer(asked)


def test_without_a_rule_that_fits_the_request_is_refused_with_what_was_read() -> None:
    with pytest.raises(Refused) as caught:
        weather().answer(conversation(Said("user", "Sing."), tools=("get_weather", "sing")))
    assert caught.value.status == 400
    assert caught.value.message == (
        "No rule of scenario 'weather' fits: "
        "the newest message is from user: 'Sing.', tools offered: get_weather, sing."
    )


def test_a_refusal_quotes_no_more_than_the_beginning_of_a_long_message() -> None:
    with pytest.raises(Refused, match=r"from user: 'x{200}\.\.\.', tools"):
        weather().answer(conversation(Said("user", 1_000 * "x")))


def test_the_first_rule_that_fits_answers() -> None:
    rules = [{"say": "first", "when": {"contains": "x"}}, {"say": "second"}, {"say": "third"}]
    scenario = parse_scenario("s", {"models": ["m"], "rules": rules})
    assert scenario.answer(conversation(Said("user", "x"))) == Answer("first")
    assert scenario.answer(conversation(Said("user", "y"))) == Answer("second")


HISTORY = (
    Said("system", "You count."),
    Said("user", "Count to 3."),
    Said("assistant", "", (Call("count", id="a"),)),
    Said("tool", "1, 2, 3", call_id="a"),
    Said("assistant", "Counted."),
)


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        pytest.param({}, True, id="none"),
        pytest.param({"system": "^You"}, True, id="system"),
        pytest.param({"system": "lead"}, False, id="other system"),
        pytest.param({"user": "to 3"}, True, id="user"),
        pytest.param({"tool": r"\d$"}, True, id="tool"),
        pytest.param({"contains": "Counted"}, True, id="newest text"),
        pytest.param({"contains": "1, 2"}, False, id="older text"),
        pytest.param({"last_role": "assistant"}, True, id="role"),
        pytest.param({"last_role": "tool"}, False, id="other role"),
        pytest.param({"tools_include": ["count"]}, True, id="offered"),
        pytest.param({"tools_include": ["count", "sing"]}, False, id="not offered"),
        pytest.param({"no_tools": False}, True, id="some tool"),
        pytest.param({"no_tools": True}, False, id="no tool"),
        pytest.param({"rounds": 2}, True, id="rounds"),
        pytest.param({"rounds": 1}, False, id="fewer rounds"),
        pytest.param({"system": "You", "rounds": 1}, False, id="one of two"),
    ],
)
def test_a_rule_fits_when_all_its_conditions_hold(condition: dict[str, Any], *, holds: bool) -> None:
    read = conversation(*HISTORY, tools=("count", "look"))
    assert (When.model_validate(condition).match(read) is not None) is holds


def test_the_rounds_begin_again_with_each_user_message() -> None:
    assert conversation(*HISTORY, Said("user", "Again.")).rounds == 0
    assert conversation(Said("system", "You count.")).rounds == 0


def test_a_function_can_answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    source = (
        "from amrita_fleet.runtime.simulator.conversation import Answer\n\n"
        "def loud(read):\n    return Answer(read.last.content.upper())\n"
    )
    (tmp_path / "loud_model.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    scenario = parse_scenario("s", {"models": ["m"], "rules": [{"python": "loud_model:loud"}]})
    assert scenario.answer(conversation(Said("user", "hey"))) == Answer("HEY")


def one_rule(**rule: object) -> dict[str, object]:
    return {"models": ["m"], "rules": [rule]}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param([], "it is no mapping", id="list"),
        pytest.param({"rules": [{"say": "x"}]}, "models: Field required", id="no models"),
        pytest.param({**one_rule(), "rules": ()}, "rules: ", id="no rules"),
        pytest.param({**one_rule(say="x"), "models": ["m", "m"]}, "a model is named twice", id="model twice"),
        pytest.param({**one_rule(say="x"), "rulez": 1}, "rulez: Extra inputs", id="unknown field"),
        pytest.param(one_rule(say="x", when={"usr": "x"}), r"rules\.0\.when\.usr", id="condition"),
        pytest.param(one_rule(say="x", when={"user": "("}), "regular expression", id="pattern"),
        pytest.param(one_rule(say="x", when={"last_role": "boss"}), "last_role", id="role"),
        pytest.param(one_rule(say="{city}"), "no pattern of the rule has a group named city", id="group"),
        pytest.param(one_rule(), "either python, or say and calls", id="empty rule"),
        pytest.param(one_rule(say="x", python="json:dumps"), "either python, or say and calls", id="both"),
        pytest.param(one_rule(python="no.such:thing"), "names no function", id="no module"),
        pytest.param(one_rule(python="json:no"), "names no function", id="no attribute"),
        pytest.param(one_rule(python="json:__name__"), "is no function", id="no function"),
    ],
)
def test_a_scenario_that_cannot_work_is_an_error_when_it_is_read(content: object, reason: str) -> None:
    with pytest.raises(ScenarioInvalid, match=reason) as caught:
        parse_scenario("s", content)
    assert caught.value.scenario == "s"


def test_the_shipped_scenarios_can_be_read() -> None:
    assert "simulated-census" in {model for scenario in shipped() for model in scenario.models}


def test_a_file_of_the_users_joins_the_shipped_ones(tmp_path: Path) -> None:
    file = tmp_path / "weather.yaml"
    file.write_text(WEATHER, encoding="utf-8")
    assert [scenario.name for scenario in read_scenarios([str(file)])] == [*(s.name for s in shipped()), "weather"]


@pytest.mark.parametrize("text", [None, "models: [", "\udcff"], ids=["missing", "no YAML", "no UTF-8"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "broken.yaml"
    if text is not None:
        file.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ScenarioInvalid, match=r"'broken\.yaml' cannot be used: the file cannot be read"):
        read_scenario(file)
