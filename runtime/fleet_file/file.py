"""`FleetFile`: what a fleet file describes."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Self

from ...protocols.limits import Limits, plain_limit
from ...protocols.presets import ModelPreset
from ...protocols.restarts import RestartPolicy
from ..agent import Agent
from ..fleet import AgentRef, Fleet
from ..run import Run
from ..supervision.policy import WatchPolicy
from .agents import AgentReader
from .document import read_document
from .entries import Entries, names_of, read_entries
from .imports import look_in
from .policies import journal_of, watch_of
from .presets import read_presets, variable_in
from .problems import Problems
from .references import check_names, check_references, in_order
from .source import read_source

__all__ = ("FleetFile", "FleetTask", "Seats")


@dataclass(frozen=True, kw_only=True)
class Seats:
    """Agents of one description.

    Attributes:
        entry: What the file calls it.
        names: Of each agent; none: it is only a kind that others spawn.
        agent: The description.
        preset: The name of its preset.
        parent: Who is told when one ends badly; None: nobody.
        team: Their team; empty: their parent's, or none.
    """

    entry: str
    names: tuple[str, ...]
    agent: Agent
    preset: str
    parent: str | None = None
    team: str = ""


@dataclass(frozen=True, kw_only=True)
class FleetTask:
    """A task for one agent; `time_limit` in seconds, `limit` that of the run."""

    agent: str
    task: str
    time_limit: float | None = None
    limit: Limits | None = None


@dataclass(frozen=True, kw_only=True)
class FleetFile:
    """What a fleet file describes. `FleetFile.read(path)` gives one that is whole; its agents are ready to be spawned.

        described = FleetFile.read("fleet.yaml")
        async with described.fleet() as fleet:
            await described.spawn(fleet)
            for run in await described.start(fleet):
                print((await run.outcome()).text)

    Attributes:
        path: The file.
        seats: Its agents; parents stand before those below them.
        presets: Its presets by name.
        tasks: In the order of the file.
        name: The fleet's; None: a new one each time.
        limit: The fleet's.
        teams: Limits of teams by name.
        journal: A path, a URL, or `env:NAME` for one that the environment holds; None: none.
        restarts: How often agents may be restarted; None: as usual.
        watch: What is done about agents that hang or loop; None: as usual.
    """

    path: Path
    seats: tuple[Seats, ...]
    presets: Mapping[str, ModelPreset] = field(default_factory=dict[str, ModelPreset])
    tasks: tuple[FleetTask, ...] = ()
    name: str | None = None
    limit: Limits | None = None
    teams: Mapping[str, Limits | None] = field(default_factory=dict[str, Limits | None])
    journal: str | None = None
    restarts: RestartPolicy | None = None
    watch: WatchPolicy | None = None

    @classmethod
    def read(cls, path: str | Path, *, environ: Mapping[str, str] | None = None) -> Self:
        """Read a file and import the tools, hooks and other objects that it names, from its folder first.

        So the folder comes first in `sys.path`, and stays there. Nothing is started, no network is used, and no key is
        looked into.

        Args:
            path: Where it is.
            environ: Where the variables must be that it names; None: the environment of this process.

        Raises:
            FleetFileInvalid: It describes no fleet; the error has all that is wrong, each with line and column.
        """
        path = Path(path)
        variables = os.environ if environ is None else environ
        problems = Problems(str(path))
        data = read_document(read_source(path), problems)
        if data is None:
            if not problems.found:
                problems.at((1, 1), "The file is empty: it needs agents, and presets that name their models.")
            problems.check()
        entries = read_entries(data, problems)
        check_names(entries, problems)
        check_references(entries, problems)
        folder = path.resolve().parent
        look_in(folder)
        presets = read_presets(entries, variables, problems)
        agents = AgentReader(folder, presets, variables, problems).read(entries)
        seats = seats_of(entries, agents, problems)
        check_prices(entries, agents, problems)
        watch = watch_of(entries.fleet.watch, problems)
        journal = journal_of(entries.fleet.journal, folder, variables, problems)
        problems.check()
        return cls(
            path=path,
            seats=seats,
            presets=presets,
            tasks=tasks_of(entries),
            name=entries.fleet.name,
            limit=plain_limit(entries.fleet.limit),
            teams={name: plain_limit(limit) for name, limit in entries.fleet.teams.items()},
            journal=journal,
            restarts=entries.fleet.restarts,
            watch=watch,
        )

    @property
    def agents(self) -> tuple[str, ...]:
        """Names of all agents that live when the fleet begins."""
        return tuple(name for each in self.seats for name in each.names)

    def fleet(
        self,
        name: str | None = None,
        *,
        system: Literal["ray", "local"] = "ray",
        address: str | None = None,
        journal: str | None = None,
    ) -> Fleet:
        """A fleet as the file says, which is not entered yet.

        Args:
            name: A name where the file has none.
            system: Where agents live.
            address: Ray's; None: `RAY_ADDRESS`, or a new local cluster.
            journal: A journal where the file has none.

        Raises:
            ArgumentInvalid: The name or the address is none.
            JournalInvalid: The journal is none.
        """
        kept = self.journal or journal
        if variable := variable_in(kept):
            kept = os.environ.get(variable)
        return Fleet(
            self.name or name,
            limit=self.limit,
            teams=self.teams,
            system=system,
            address=address,
            journal=kept,
            restarts=self.restarts,
            watch=self.watch,
        )

    async def spawn(self, fleet: Fleet) -> dict[str, AgentRef]:
        """Bring its agents to life in a fleet that is open, and give them by name. Raises what `Fleet.spawn` does."""
        refs: dict[str, AgentRef] = {}
        for each in self.seats:
            if each.names:
                made = await fleet.spawn(each.agent, each.names, parent=each.parent, team=each.team)
                refs |= {ref.name: ref for ref in made}
        return refs

    async def start(self, fleet: Fleet) -> tuple[Run, ...]:
        """Queue its tasks for agents that were spawned, in its order. Raises what `Fleet.start` does."""
        return tuple(
            [await fleet.start(each.agent, each.task, each.time_limit, limit=each.limit) for each in self.tasks]
        )


def seats_of(entries: Entries, agents: Mapping[str, Agent], problems: Problems) -> tuple[Seats, ...]:
    """Agents with who they are, parents before those below them."""
    owners = {name: entry for entry, count in entries.agent_counts.items() for name in names_of(entry, count)}
    above = {name: (owners.get(entry.parent or "", ""),) for name, entry in entries.agents.items()}
    order = in_order(above, "parent", problems)
    return tuple(
        Seats(
            entry=name,
            names=names_of(name, entries.agents[name].count),
            agent=agents[name],
            preset=entries.agents[name].preset,
            parent=entries.agents[name].parent,
            team=entries.agents[name].team,
        )
        for name in order
        if name in agents
    )


def check_prices(entries: Entries, agents: Mapping[str, Agent], problems: Problems) -> None:
    """Note agents whose model's price nobody says, where dollars are limited."""
    fleet = plain_limit(entries.fleet.limit)
    for name, agent in agents.items():
        team = entries.fleet.teams.get(entries.agents[name].team)
        limits = (fleet, plain_limit(team), agent.limit)
        if not agent.priced and any(limit is not None and limit.dollars is not None for limit in limits):
            text = "Dollars are limited, and a preset of this agent has no price: add price: {prompt, output, as_of}."
            problems.add(("agents", name, "preset"), text)


def tasks_of(entries: Entries) -> tuple[FleetTask, ...]:
    """Its tasks in order."""
    return tuple(
        FleetTask(agent=each.agent, task=each.task, time_limit=each.time_limit, limit=plain_limit(each.limit))
        for each in entries.tasks.values()
    )
