"""The census as a demonstration: on a simulated provider, or on a real model."""

import asyncio
import json
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Literal, cast
from urllib.parse import urlsplit

from ....protocols.presets import ModelPreset
from ...fleet import Fleet
from ...simulator.faults import Faults
from ...simulator.process import SimulatorProcess
from ..console import complain, print_json, stdout
from ..errors import InputInvalid
from ..fleet_journal import FleetJournal
from ..screen import Screen, open_screen
from ..starting import started
from ..wording import plural, size_shown
from . import summary
from .crew import crew_of
from .folder import Folder
from .work import Census, take_census

__all__ = ("Order", "demonstrate")

SIMULATED = "simulated-census"
PATIENCE = 10.0
"""Seconds the simulator may take to say what it counted."""


@dataclass(frozen=True)
class Order:
    """A census to be taken.

    Attributes:
        workers: How many are wanted; a folder with fewer files has no work for all.
        journal: The fleet's name, and where is written what it does.
        preset: The model of all agents; None: the simulated one.
        latency: Seconds that the simulated one takes for an answer.
    """

    folder: Folder
    workers: int
    system: Literal["ray", "local"]
    journal: FleetJournal
    preset: ModelPreset | None = None
    latency: float = 0.0

    @property
    def busy(self) -> int:
        """Workers for whom there is a file."""
        return min(self.workers, len(self.folder.files))


async def demonstrate(order: Order, *, as_json: bool) -> bool:
    """Take the census and print what came of it; gives whether the figures agree.

    Raises:
        InputInvalid: There is such a fleet, or its journal cannot be used.
        FleetError: The system or the simulator could not be started, or failed.
    """
    console, name = stdout(), order.journal.fleet
    if await order.journal.look() is not None:
        raise InputInvalid(reason=f"There is a fleet {name!r} already, and the demo begins one: choose another --name.")
    with open_screen(console, silent=as_json, live=True) as screen:
        screen.say(announcement(order))
        census, simulated = await on_model(order, screen)
    if as_json:
        named = {"fleet_name": name, "journal": order.journal.where}
        print_json(named | summary.as_json(census, simulated))
    else:
        summary.show(console, census, simulated)
    if not census.agrees:
        complain(summary.verdict(census))
    return census.agrees


async def on_model(order: Order, screen: Screen) -> tuple[Census, int | None]:
    """Take the census on the model that is asked for; with the simulator's count of tokens, if it is the simulator."""
    if order.preset:
        return await in_fleet(order, order.preset, screen), None
    async with SimulatorProcess(faults=Faults(latency=order.latency)) as simulator:
        screen.say(f"A simulated provider listens at {simulator.base_url}")
        census = await in_fleet(order, ModelPreset(model=SIMULATED, base_url=simulator.base_url), screen)
        return census, await asyncio.to_thread(counted, simulator.base_url)


async def in_fleet(order: Order, preset: ModelPreset, screen: Screen) -> Census:
    """Take the census in a fleet of its own, which ends with it: nobody goes on with a demonstration."""
    crew, journal = crew_of(preset, order.folder, order.busy), order.journal
    made = Fleet(journal.fleet, system=order.system, limit=crew.limit, journal=journal.url)
    try:
        async with started(made, order.system, screen) as fleet:
            return await take_census(fleet, crew, order.folder, screen)
    finally:
        await journal.end()


def announcement(order: Order) -> str:
    """What is going to be done, and what not."""
    folder = order.folder
    what = f"Census of {plural(len(folder.files), 'file')}, {size_shown(folder.size())}, in {folder.root}."
    less = f" There is work for {plural(order.busy, 'worker')} only." if order.busy < order.workers else ""
    troubles = ("No worker is planted stuck or short of tokens", "No worker is planted short of tokens")
    spared = f" {troubles[order.busy - 1]}: too few would be left." if order.busy <= len(troubles) else ""
    return f"{what}{less}{spared}"


def counted(base_url: str) -> int:
    """The tokens that the simulator counted."""
    connection = HTTPConnection(urlsplit(base_url).netloc, timeout=PATIENCE)
    try:
        connection.request("GET", "/simulator/totals")
        totals = cast("dict[str, int]", json.load(connection.getresponse()))
        return totals["total"]
    finally:
        connection.close()
