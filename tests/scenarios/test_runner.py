"""The runner itself: what is misspelt is refused, and what is expected wrongly is found."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from amrita_fleet import Fleet
from amrita_fleet.protocols.errors import PresetInvalid

from .judge import complaints
from .scenario import FOLDER, Scenario, read, scenarios
from .stage import Played, Stage

pytestmark = pytest.mark.slow

PLAIN: Mapping[str, Any] = {
    "title": "One call",
    "why": "To be judged.",
    "task": "Say hi.",
    "agent": {"tools": ["echo"]},
    "model": [{"calls": [{"name": "echo", "arguments": {"text": "hi"}}]}, {"say": "done"}],
    "expect": {"outcome": "answered", "notices": ["run.finished"]},
}


def written(path: Path, plain: Mapping[str, Any]) -> Path:
    path.write_text(yaml.safe_dump(dict(plain)), encoding="utf-8")
    return path


def expecting(**expect: object) -> dict[str, Any]:
    return {**PLAIN, "expect": {**PLAIN["expect"], **expect}}


@pytest.fixture(scope="module")
async def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    folder = tmp_path_factory.mktemp("one")
    scenario = read(written(folder / "one.yaml", PLAIN))
    async with Fleet(system="local") as fleet, Stage(fleet, folder) as stage:
        played = await stage.play(scenario)
    assert complaints(scenario, played) == []
    return played


WRONG: Mapping[str, tuple[Mapping[str, object], str]] = {
    "outcome": ({"outcome": "stalled"}, "the outcome is answered, not stalled"),
    "text": ({"text": "nothing"}, "without 'nothing'"),
    "reason": ({"reason": "because"}, "without 'because'"),
    "rounds": ({"rounds": 3}, "2 rounds, not 3"),
    "steps": ({"steps": 2}, "1 Steps, not 2"),
    "output": ({"output": {"same": True}}, "the output is None, not {'same': True}"),
    "missing notice": ({"notices": ["tool.failed"]}, "no notice tool.failed came"),
    "wrong order": ({"notices": ["tool.ended", "tool.started"]}, "no notice tool.started came after tool.ended"),
    "wrong text": ({"notices": [{"tool.ended": "hu"}]}, "no notice tool.ended: hu came"),
    "wrong data": ({"notices": [{"tool.ended": {"tool": "ecko"}}]}, "no notice tool.ended"),
    "times": ({"times": {"tool.started": 2}}, "1 notices tool.started came, not 2"),
    "never": ({"never": ["tool.started"]}, "1 notices tool.started came, not 0"),
    "no such request": ({"requests": [{"nth": 3, "shows": ["x"]}]}, "only 2 requests"),
    "shows": ({"requests": [{"nth": 2, "shows": ["tool: ho"]}]}, "does not show 'tool: ho'"),
    "shows in order": ({"requests": [{"nth": 2, "shows": ["tool: hi", "user: Say hi."]}]}, "'user: Say hi.' where"),
    "hides": ({"requests": [{"nth": 2, "hides": ["tool: hi"]}]}, "it shows 'tool: hi'"),
    "offers": ({"requests": [{"nth": 1, "offers": ["ecko"]}]}, "it offers no ecko"),
    "withholds": ({"requests": [{"nth": 1, "withholds": ["echo"]}]}, "it offers echo"),
    "bare": ({"requests": [{"nth": 1, "bare": True}]}, "it offers echo, send_message"),
    "messages": ({"requests": [{"nth": 1, "messages": 2}]}, "1 messages, not 2"),
}


@pytest.mark.anyio
@pytest.mark.parametrize(("expect", "complaint"), WRONG.values(), ids=WRONG)
async def test_a_wrong_expectation_is_found(
    expect: Mapping[str, object], complaint: str, played: Played, tmp_path: Path
) -> None:
    scenario = read(written(tmp_path / "one.yaml", expecting(**expect)))
    assert complaint in complaints(scenario, played)[0]


@pytest.mark.anyio
async def test_a_model_that_is_asked_more_or_less_often_than_it_has_moves_is_found(
    played: Played, tmp_path: Path
) -> None:
    for moves in (PLAIN["model"][:1], [*PLAIN["model"], {"say": "more"}]):
        scenario = read(written(tmp_path / "one.yaml", {**PLAIN, "model": moves}))
        assert complaints(scenario, played)[0] == f"the models of one were asked 2 times and have {len(moves)} moves"


@pytest.mark.anyio
async def test_a_scenario_that_does_not_end_says_what_it_waited_for(tmp_path: Path) -> None:
    person = [{"at": "tool.failed", "stop": "over"}]
    scenario = read(written(tmp_path / "one.yaml", {**PLAIN, "person": person}))
    async with Fleet(system="local") as fleet, Stage(fleet, tmp_path, patience=0.05) as stage:
        played = await stage.play(scenario)
    assert complaints(scenario, played)[0] == "its time was over while it waited for the notice tool.failed"


MISSPELT: Mapping[str, Mapping[str, Any]] = {
    "file": {**PLAIN, "mail": []},
    "agent": {**PLAIN, "agent": {"tool": ["echo"]}},
    "peer": {**PLAIN, "peers": {"bob": {"model": [{"say": "x"}], "name": "bob"}}},
    "person": {**PLAIN, "person": [{"at": "tool.started", "shout": "x"}]},
    "idle person": {**PLAIN, "person": [{"at": "tool.started"}]},
    "hasty person": {**PLAIN, "person": [{"at": "tool.started", "send": "x", "stop": "y"}]},
    "expectation": expecting(outcomes="answered"),
    "request": expecting(requests=[{"nth": 1, "show": ["x"]}]),
    "empty request": expecting(requests=[{"nth": 1}]),
    "text that is nothing": expecting(requests=[{"nth": 1, "shows": [""]}]),
    "kind of a notice": expecting(notices=["finished"]),
    "unknown agent": expecting(notices=["bob/run.finished"]),
    "no notices": expecting(notices=[]),
    "no expectation": {**PLAIN, "expect": {}},
    "no model": {**PLAIN, "model": []},
    "nothing to wait for": {name: value for name, value in PLAIN.items() if name != "task"},
}


@pytest.mark.parametrize("plain", MISSPELT.values(), ids=MISSPELT)
def test_a_file_that_says_what_nobody_reads_is_refused(plain: Mapping[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ValidationError):
        read(written(tmp_path / "one.yaml", plain))


UNBUILT: Mapping[str, tuple[Mapping[str, Any], type[Exception]]] = {
    "setting": ({**PLAIN, "agent": {"config": {"llm": {"max_retry": 1}}}}, PresetInvalid),
    "tool": ({**PLAIN, "agent": {"tools": ["ecko"]}}, KeyError),
    "move": ({**PLAIN, "model": [{"says": "x"}]}, PresetInvalid),
}


@pytest.mark.anyio
@pytest.mark.parametrize(("plain", "error"), UNBUILT.values(), ids=UNBUILT)
async def test_an_agent_that_cannot_be_is_an_error(
    plain: Mapping[str, Any], error: type[Exception], tmp_path: Path
) -> None:
    scenario = read(written(tmp_path / "one.yaml", plain))
    async with Fleet(system="local") as fleet, Stage(fleet, tmp_path) as stage:
        with pytest.raises(error):
            await stage.play(scenario)


def texts(scenario: Scenario, part: str) -> set[str]:
    return {text for request in scenario.expect.requests for text in getattr(request, part) or ()}


def test_what_must_not_be_seen_is_seen_elsewhere_so_it_is_not_misspelt() -> None:
    every = scenarios()
    kinds = {sight.event for scenario in every for sight in scenario.expect.notices}
    kinds |= {kind.rpartition("/")[2] for scenario in every for kind in scenario.expect.times}
    read_somewhere = "\n".join(path.read_text(encoding="utf-8") for path in FOLDER.glob("*.yaml"))
    for scenario in every:
        assert {kind.rpartition("/")[2] for kind in scenario.expect.never} <= kinds, scenario.name
        for text in texts(scenario, "hides"):
            assert read_somewhere.count(text) > 1, (scenario.name, text)
        offered = {name for each in every for name in texts(each, "offers")}
        assert texts(scenario, "withholds") <= offered, scenario.name


def test_no_name_is_used_in_two_files() -> None:
    names = [name for scenario in scenarios() for name in scenario.cast]
    assert sorted(names) == sorted({*names})


def test_there_are_at_least_thirty() -> None:
    assert len(scenarios()) >= 30
