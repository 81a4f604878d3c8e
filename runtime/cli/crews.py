"""Who works for `amrita-fleet run`, and on what: agents alike that get one task, or those of a fleet file."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from ...protocols.limits import TokenLimit
from ..agent import Agent
from ..fleet import Fleet
from ..fleet_file.file import FleetFile
from ..run import Run
from .fleet_journal import FleetJournal
from .status import NAME

__all__ = ("Alike", "Crew", "Described")

OURS = re.compile(r"agent-\d+")
"""How agents alike are named."""


class Crew(Protocol):
    """Agents with their tasks."""

    @property
    def command(self) -> str:
        """The command that has them work, without its options."""
        ...

    @property
    def system(self) -> Literal["ray", "local"]:
        """Where they live."""
        ...

    def fleet(self, journal: FleetJournal) -> Fleet:
        """Their fleet, not entered yet."""
        ...

    def stranger(self, before: Sequence[str]) -> str | None:
        """One of the agents that the fleet had before, by which another command, or another file, began it."""
        ...

    async def spawn(self, fleet: Fleet, before: Sequence[str]) -> None:
        """Bring them to life, with those that the fleet had before."""
        ...

    async def start(self, fleet: Fleet) -> tuple[Run, ...]:
        """Queue their tasks."""
        ...

    def resuming(self, journal: FleetJournal) -> str:
        """The command that goes on with what they had not finished, and what must be given with it."""
        ...


@dataclass(frozen=True)
class Alike:
    """Agents of one description, each of which gets the same task.

    Attributes:
        names: Those that get the task.
        limit: The fleet's.
    """

    task: str
    agent: Agent
    names: tuple[str, ...]
    limit: TokenLimit | None
    system: Literal["ray", "local"]

    command = f"{NAME} run"

    def fleet(self, journal: FleetJournal) -> Fleet:
        """Their fleet, not entered yet."""
        return Fleet(journal.fleet, system=self.system, limit=self.limit, journal=journal.url)

    def stranger(self, before: Sequence[str]) -> str | None:
        """An agent that is not named as these are."""
        return next((name for name in before if not OURS.fullmatch(name)), None)

    async def spawn(self, fleet: Fleet, before: Sequence[str]) -> None:
        """Bring them to life; those that the fleet had before are of the same description."""
        await fleet.spawn(self.agent, tuple(dict.fromkeys((*before, *self.names))))

    async def start(self, fleet: Fleet) -> tuple[Run, ...]:
        """Give each of them the task."""
        return tuple([await fleet.start(name, self.task) for name in self.names])

    def resuming(self, journal: FleetJournal) -> str:
        """Neither the model nor the tools are written down."""
        place = "" if journal.own else " and --journal"
        return f"`{self.command} --resume --name {journal.fleet}`{place}, with the same options,"


@dataclass(frozen=True)
class Described:
    """The agents and tasks of a fleet file."""

    file: FleetFile
    system: Literal["ray", "local"]

    @property
    def command(self) -> str:
        """The command, with the file."""
        return f"{NAME} run {self.file.path}"

    def fleet(self, journal: FleetJournal) -> Fleet:
        """Their fleet, not entered yet."""
        return self.file.fleet(journal.fleet, system=self.system, journal=journal.url)

    def stranger(self, before: Sequence[str]) -> str | None:
        """An agent of a fleet that has none of these; where there are some, others are their children."""
        return None if set(before) & set(self.file.agents) else next(iter(before), None)

    async def spawn(self, fleet: Fleet, before: Sequence[str]) -> None:  # noqa: ARG002  children come with their parents
        """Bring them to life."""
        await self.file.spawn(fleet)

    async def start(self, fleet: Fleet) -> tuple[Run, ...]:
        """Queue the tasks of the file."""
        return await self.file.start(fleet)

    def resuming(self, journal: FleetJournal) -> str:
        """What the file says need not be given again."""
        name = "" if self.file.name else f" --name {journal.fleet}"
        place = "" if journal.own or self.file.journal else " and --journal"
        return f"`{self.command} --resume{name}`{place}"
