"""Every scenario, in this process and on Ray: all are played at once in one fleet, and judged one by one."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Literal

import pytest

from amrita_fleet import Fleet

from .judge import complaints
from .scenario import Scenario, scenarios
from .stage import Played, Stage

System = Literal["local", "ray"]
Results = Mapping[str, Played | BaseException]

AT_ONCE: Mapping[System, int] = {"local": 100, "ray": 3}
"""Agents brought up at a time; on Ray each takes a core for a second."""

TIME_ON_RAY = 400
"""Seconds for all scenarios on Ray, which the first test takes: about one for each agent, more where much else runs."""

every = [pytest.param(each, id=each.name, marks=[pytest.mark.slow] if each.slow else []) for each in scenarios()]


@pytest.mark.parametrize("scenario", every)
@pytest.mark.parametrize(
    "system",
    ["local", pytest.param("ray", marks=[pytest.mark.ray, pytest.mark.slow, pytest.mark.timeout(TIME_ON_RAY)])],
)
def test_a_scenario_holds(system: System, scenario: Scenario, played: Callable[[System], Results]) -> None:
    result = played(system)[scenario.name]
    if isinstance(result, BaseException):
        raise result
    found = complaints(scenario, result)
    assert not found, "\n".join((scenario.why, *found))


@pytest.fixture(scope="module")
def played(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[System], Results]:
    """What came of the scenarios on a system, by name; they are played when it is first asked."""
    done: dict[System, Results] = {}

    def on(system: System) -> Results:
        if system not in done:
            if system == "ray":
                request.getfixturevalue("ray_cluster")
            asked = tuple(selected(request.session, system))
            done[system] = asyncio.run(play(system, asked, tmp_path_factory.mktemp(system)))
        return done[system]

    return on


def selected(session: pytest.Session, system: System) -> Iterator[Scenario]:
    """The scenarios that this session is asked to play on a system."""
    for item in session.items:
        if isinstance(item, pytest.Function) and item.function is test_a_scenario_holds:
            asked = item.callspec.params
            if asked["system"] == system and isinstance(scenario := asked["scenario"], Scenario):
                yield scenario


async def play(system: System, asked: tuple[Scenario, ...], folder: Path) -> Results:
    """Play scenarios, all at once; one that cannot be played spoils no other."""
    async with Fleet(system=system) as fleet, Stage(fleet, folder, AT_ONCE[system]) as stage:
        results = await asyncio.gather(*map(stage.play, asked), return_exceptions=True)
    return {scenario.name: result for scenario, result in zip(asked, results, strict=True)}
