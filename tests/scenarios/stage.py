"""Plays scenarios in a fleet, as many at once as are asked for; what came of them is judged elsewhere."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from amrita_fleet import Agent, AmritaConfig, Fleet, Outcome, Run, TokenLimit
from amrita_fleet.protocols.notices import Notice
from amrita_fleet.runtime.typed import OutputType

from ..contracts.gate import Gate
from .recording import Shown, recorded, shown
from .scenario import Act, Part, Peer, Scenario, Sight
from .tools import outputs, toolset

__all__ = ("Played", "Stage", "fits")

PATIENCE = 30.0
"""Seconds a scenario may take, on a machine that does much else."""


@dataclass(frozen=True)
class Played:
    """What came of a scenario.

    Attributes:
        notices: Those of its agents, in order.
        requests: What each agent's models were shown.
        outcomes: Those of the runs that a person asked for, by run.
        unended: What was still waited for when its time was over.
    """

    notices: tuple[Notice, ...]
    requests: Mapping[str, tuple[Shown, ...]]
    outcomes: Mapping[str, Outcome]
    unended: str = ""


@dataclass
class Scene:
    """One scenario while it is played."""

    scenario: Scenario
    gate: Gate
    notices: list[Notice] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    awaited: str = ""
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def see(self, notice: Notice) -> None:
        """Take the next notice of one of the agents."""
        self.notices.append(notice)
        self.changed.set()

    async def until(self, awaited: str, holds: Callable[[], bool]) -> None:
        """Wait until notices have come with which it holds."""
        self.awaited = awaited
        while not holds():
            self.changed.clear()
            await self.changed.wait()

    def ended(self) -> bool:
        """Whether all runs have ended that the scenario waits for."""
        last: list[str] = [notice.agent for notice in self.notices if kind(notice) == "run.finished"]
        return all(last.count(name) >= part.ends for name, part in self.scenario.cast.items())


class Stage:
    """A fleet in which scenarios are played.

    `async with Stage(fleet, folder, at_once) as stage: await stage.play(scenario)`
    """

    def __init__(self, fleet: Fleet, folder: Path, at_once: int = 1, patience: float = PATIENCE) -> None:
        """Play in an open fleet.

        Args:
            fleet: Where agents live.
            folder: Where requests are written.
            at_once: Agents that are brought up at a time.
            patience: Seconds a scenario may take once its agents live.
        """
        self._fleet = fleet
        self._folder = folder
        self._patience = patience
        self._turns = asyncio.Semaphore(at_once)
        self._scenes: dict[str, Scene] = {}

    async def __aenter__(self) -> Self:
        """Begin to watch the fleet."""
        self._watching = asyncio.create_task(self._watch())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Watch no longer."""
        self._watching.cancel()
        with suppress(asyncio.CancelledError):
            await self._watching

    async def play(self, scenario: Scenario) -> Played:
        """Play a scenario to its end, or until its time is over."""
        unended = ""
        async with Gate() as gate:
            scene = Scene(scenario, gate)
            self._scenes |= dict.fromkeys(scenario.cast, scene)
            await self._spawn(scenario, gate)
            try:
                async with asyncio.timeout(self._patience):
                    outcomes = await self._perform(scene)
            except TimeoutError:
                outcomes, unended = {}, scene.awaited
        requests = {name: shown(self._record(name)) for name in scenario.cast}
        return Played(tuple(scene.notices), requests, outcomes, unended)

    async def _watch(self) -> None:
        async for notice in self._fleet.notices():
            if (scene := self._scenes.get(notice.agent)) is not None:
                scene.see(notice)

    async def _spawn(self, scenario: Scenario, gate: Gate) -> None:
        for name, part in scenario.cast.items():
            parent = part.parent if isinstance(part, Peer) else None
            async with self._turns:
                await self._fleet.spawn(self._described(name, part, gate), [name], parent=parent)

    def _described(self, name: str, part: Part, gate: Gate) -> Agent:
        first, *others = (recorded(moves, self._record(name)) for moves in (part.model, *part.fallbacks))
        agent = part.agent
        return Agent(
            preset=first,
            fallbacks=tuple(others),
            instructions=agent.instructions,
            tools=toolset(agent.tools, gate),
            config=AmritaConfig.parse(agent.config),
            limit=None if agent.limit is None else TokenLimit(tokens=agent.limit),
            memory=agent.memory,
            run_timeout=agent.run_timeout,
            plan=agent.plan,
            output=None if agent.output is None else OutputType(outputs()[agent.output]),
        )

    def _record(self, name: str) -> Path:
        return self._folder / f"{name}.jsonl"

    async def _perform(self, scene: Scene) -> dict[str, Outcome]:
        for name, part in scene.scenario.cast.items():
            if part.task is not None:
                scene.runs.append(await self._fleet.start(name, part.task))
        place = -1
        for act in scene.scenario.person:
            for sight in act.at:
                place = await self._awaited(scene, sight, place + 1)
            await self._act(scene, act, place)
        await scene.until("the end of the runs", scene.ended)
        scene.awaited = "the outcomes"
        return {run.id: await run.outcome() for run in scene.runs}

    async def _awaited(self, scene: Scene, sight: Sight, place: int) -> int:
        """Wait for a notice at or after a place; gives its place."""

        def found() -> list[int]:
            own = scene.scenario.name
            return [at for at, notice in enumerate(scene.notices[place:], place) if fits(notice, sight, own)]

        await scene.until(f"the notice {sight}", lambda: bool(found()))
        return found()[0]

    async def _act(self, scene: Scene, act: Act, place: int) -> None:
        """Do what a person does; `place` is that of the last notice waited for."""
        fleet, whom = self._fleet, act.of or scene.scenario.name
        match act:
            case Act(send=str(body)):
                await fleet.send(whom, body)
            case Act(ask=str(task)):
                scene.runs.append(await fleet.start(whom, task))
            case Act(pause=str(reason)):
                await fleet.pause(whom, reason)
            case Act(stop=str(reason)):
                await fleet.stop(whom, reason=reason)
            case Act(resume=True):
                await fleet.resume(whom)
            case Act(allow=True):
                await fleet.approvals.allow(str(scene.notices[place].data["id"]))
            case Act(refuse=str(reason)):
                await fleet.approvals.refuse(str(scene.notices[place].data["id"]), reason)
            case _:
                scene.gate.let(str(act.open))


def kind(notice: Notice) -> str:
    """`type.extra_type`."""
    return f"{notice.type}.{notice.extra_type}"


def fits(notice: Notice, sight: Sight, own: str) -> bool:
    """Whether the notice is what is looked for; `own` is the scenario's own agent."""
    return (
        notice.agent == (sight.agent or own)
        and kind(notice) == sight.event
        and sight.text in notice.text
        and all(name in notice.data and notice.data[name] == value for name, value in sight.data.items())
    )
