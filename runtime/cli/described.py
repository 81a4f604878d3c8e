"""The fleet that a fleet file describes, for people and for programs."""

from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ...protocols.limits import Limits
from ...protocols.presets import ModelPreset
from ..fleet_file.file import FleetFile, Seats
from .table import one_line
from .wording import plural

__all__ = ("shown", "tables")


def tables(file: FleetFile) -> Iterator[RenderableType]:
    """What a person reads: the fleet, its agents, its presets, its tasks."""
    count = len(file.agents)
    about = (f"limit {limit_shown(file.limit)}", f"journal {file.journal}" if file.journal else "")
    facts = "; ".join(filter(None, about))
    yield Text(f"{file.path}: {file.name or 'a fleet without a name'}, {plural(count, 'agent')}; {facts}")
    yield agents_table(file)
    yield presets_table(file)
    if file.tasks:
        yield tasks_table(file)
    else:
        yield Text("It has no tasks, so `run` has nothing to do with it.")


def agents_table(file: FleetFile) -> Table:
    """A row for each entry of `agents`."""
    table = Table()
    bounded = any(each.agent.peers is not None for each in file.seats)
    for heading in ("agent", "preset", "tools", "limit", "team", "parent", *(["peers"] if bounded else [])):
        table.add_column(heading, no_wrap=heading == "agent", style="bold" if heading == "agent" else "")
    for each in file.seats:
        limit = "" if each.agent.limit is None else str(each.agent.limit)
        texts = (names_shown(each), each.preset, ", ".join(tools_of(each)), limit, each.team, each.parent or "")
        table.add_row(*map(Text, (*texts, *([peers_shown(each)] if bounded else []))))
    return table


def presets_table(file: FleetFile) -> Table:
    """A row for each preset."""
    table = Table()
    for heading in ("preset", "model", "protocol", "base_url", "price"):
        table.add_column(heading, style="bold" if heading == "preset" else "")
    for name, preset in file.presets.items():
        table.add_row(*map(Text, (name, preset.model, preset.protocol, preset.base_url, price_shown(preset))))
    return table


def tasks_table(file: FleetFile) -> Table:
    """A row for each task."""
    table = Table()
    table.add_column("agent", no_wrap=True, style="bold")
    table.add_column("task")
    for each in file.tasks:
        table.add_row(Text(each.agent), one_line(each.task))
    return table


def names_shown(seats: Seats) -> str:
    """What the agents of one entry are called."""
    match seats.names:
        case ():
            return f"{seats.entry} (a kind)"
        case (name,):
            return name
        case names:
            return f"{names[0]} ... {names[-1]}"


def tools_of(seats: Seats) -> tuple[str, ...]:
    """Names of its tools, and of its MCP servers."""
    return (*(tool.name for tool in seats.agent.tools), *(f"{server.name} (MCP)" for server in seats.agent.servers))


def peers_shown(seats: Seats) -> str:
    """Whom its agents may write to."""
    peers = seats.agent.peers
    return "everybody" if peers is None else ", ".join(peers) or "nobody"


def price_shown(preset: ModelPreset) -> str:
    """What a million tokens cost."""
    price = preset.price
    return "" if price is None else f"${price.prompt:g} / ${price.output:g} ({price.as_of})"


def limit_shown(limit: Limits | None) -> str:
    """A limit for people."""
    return "none" if limit is None else str(limit)


def shown(file: FleetFile) -> dict[str, Any]:
    """The same as JSON. No key is in it, and no name of one."""
    return {
        "file": str(file.path),
        "fleet": {
            "name": file.name,
            "limit": limit_data(file.limit),
            "teams": {name: limit_data(limit) for name, limit in file.teams.items()},
            "journal": file.journal,
        },
        "presets": {
            name: {"model": preset.model, "protocol": preset.protocol, "base_url": preset.base_url}
            for name, preset in file.presets.items()
        },
        "agents": [
            {
                "entry": each.entry,
                "names": each.names,
                "preset": each.preset,
                "tools": [tool.name for tool in each.agent.tools],
                "servers": [server.name for server in each.agent.servers],
                "limit": limit_data(each.agent.limit),
                "team": each.team,
                "parent": each.parent,
                "peers": each.agent.peers,
            }
            for each in file.seats
        ],
        "tasks": [
            {"agent": each.agent, "task": each.task, "time_limit": each.time_limit, "limit": limit_data(each.limit)}
            for each in file.tasks
        ],
    }


def limit_data(limit: Limits | None) -> dict[str, Any] | None:
    """A limit as plain data: what it limits, and how much."""
    return None if limit is None else {str(unit): getattr(limit, unit) for unit in limit.units}
