"""A census from the first agent to the last figure."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

from ....protocols.checkin import AgentStatus
from ...fleet import Fleet
from ...supervision.account import Account
from ..follow import follow
from ..screen import Screen
from ..tally import RunEnd, Tally
from ..wording import plural
from . import prompts
from .crew import LEAD, Crew, Part
from .figures import Figures, count_directly, read_answer
from .folder import Folder

__all__ = ("Census", "take_census")


@dataclass(frozen=True)
class Census:
    """What came of a census.

    Attributes:
        tally: What happened.
        rows: The agents at the end.
        accounts: What was spent, in tokens.
        answer: How the lead's run ended.
        direct: The figures as they were counted without agents.
        seconds: How long the fleet worked.
    """

    tally: Tally
    rows: tuple[AgentStatus, ...]
    accounts: tuple[Account, ...]
    answer: RunEnd
    direct: Figures
    seconds: float

    @property
    def told(self) -> Figures | None:
        """The figures in the lead's answer."""
        return read_answer(self.answer.text)

    @property
    def agrees(self) -> bool:
        """Whether the lead answered, with the figures that were counted directly."""
        return self.answer.answered and self.told is not None and self.told.agrees(self.direct)


async def take_census(fleet: Fleet, crew: Crew, folder: Folder, screen: Screen) -> Census:
    """Spawn the crew, have it count the folder, and count it again without agents.

    Raises:
        FleetError: The agents could not be spawned, or the system failed.
    """
    workers = plural(len(crew.workers), "worker")
    with screen.waiting(f"Fleet {fleet.name} is up. Spawning a lead and {workers}."):
        await spawn(fleet, crew, screen)
    began, tally = time.monotonic(), Tally()
    run = await fleet.start(LEAD, prompts.task(folder, tuple(crew.workers)))
    await follow(fleet, (run,), tally, screen)
    seconds = time.monotonic() - began
    lost = RunEnd(run.id, run.agent, "died", reason=tally.gone.get(run.agent, ""))
    return Census(
        tally=tally,
        rows=await fleet.statuses(),
        accounts=await fleet.accounts(),
        answer=tally.ends.get(run.id, lost),
        direct=await asyncio.to_thread(count_directly, folder),
        seconds=seconds,
    )


async def spawn(fleet: Fleet, crew: Crew, screen: Screen) -> None:
    """Bring the lead and its workers to life."""
    await fleet.spawn(crew.lead, (LEAD,))
    for part in Part:
        if names := crew.named(part):
            await fleet.spawn(crew.described[part], names, parent=LEAD)
            screen.say(f"{listed(names)}: {part}, ready")


def listed(names: Sequence[str]) -> str:
    """Names in words."""
    return ", ".join(names)
