"""The entries of a fleet file, each read by itself: what is wrong with one hides nothing of the others."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar, cast

from pydantic import ValidationError

from ...protocols.messages import Json
from .problems import Problems
from .schema import MOST_AGENTS, AgentEntry, Entry, FleetEntry, PresetEntry, Root, TaskEntry
from .wording import add_invalid

__all__ = ("UNTOLD", "Entries", "names_of", "read_entries")

UNTOLD = "\0"
"""Stands for a text that must be given and is not, or cannot be read: no text of a file holds this character."""

E = TypeVar("E", bound=Entry)


@dataclass(frozen=True)
class Entries:
    """What a file has that can be read, and the names of all that it has, readable or not.

    Attributes:
        tasks: By their numbers in the file, from 0.
        preset_names: Presets there are.
        agent_counts: Agents there are, each with how many of it.
        teams: Teams there are.
    """

    fleet: FleetEntry = field(default_factory=FleetEntry)
    presets: Mapping[str, PresetEntry] = field(default_factory=dict[str, PresetEntry])
    agents: Mapping[str, AgentEntry] = field(default_factory=dict[str, AgentEntry])
    tasks: Mapping[int, TaskEntry] = field(default_factory=dict[int, TaskEntry])
    preset_names: tuple[str, ...] = ()
    agent_counts: Mapping[str, int] = field(default_factory=dict[str, int])
    teams: tuple[str, ...] = ()


def read_entries(data: Json, problems: Problems) -> Entries:
    """The entries that can be read; what is wrong with the others is noted.

    Args:
        data: The whole file.
        problems: Gets what is wrong.
    """
    try:
        Root.model_validate_json(json.dumps(data), strict=True)
    except ValidationError as error:
        add_invalid(problems, error)
    whole = mapping(data)
    presets, agents, tasks = mapping(whole.get("presets")), mapping(whole.get("agents")), whole.get("tasks")
    listed = tasks if isinstance(tasks, list) else []
    fleet = survivor(FleetEntry, whole.get("fleet"))
    return Entries(
        fleet or FleetEntry(),
        survivors(PresetEntry, presets),
        survivors(AgentEntry, agents),
        survivors(TaskEntry, dict(enumerate(listed))),
        tuple(presets),
        {name: count_in(entry) for name, entry in agents.items()},
        tuple(mapping(mapping(whole.get("fleet")).get("teams"))),
    )


def mapping(data: Json) -> Mapping[str, Json]:
    """A mapping as it is; nothing for anything else."""
    return cast("Mapping[str, Json]", data) if isinstance(data, dict) else {}


K = TypeVar("K", str, int)


def survivors(kind: type[E], given: Mapping[K, Json]) -> dict[K, E]:
    """The entries that can be read."""
    read = {name: survivor(kind, data) for name, data in given.items()}
    return {name: entry for name, entry in read.items() if entry is not None}


def survivor(kind: type[E], data: Json) -> E | None:
    """An entry without what is wrong in it, which was noted when the whole file was read; None if it is no mapping."""
    given = {**mapping(data)}
    for name, about in kind.model_fields.items():
        if about.is_required():
            given.setdefault(name, UNTOLD)
    while isinstance(data, dict):
        try:
            return kind.model_validate_json(json.dumps(given), strict=True)
        except ValidationError as error:
            for wrong in {str(each["loc"][0]) for each in error.errors(include_url=False)}:
                del given[wrong]
                if wrong in kind.model_fields and kind.model_fields[wrong].is_required():
                    given[wrong] = UNTOLD
    return None


def count_in(entry: Json) -> int:
    """How many there are of an agent, whose entry may not be readable."""
    count = mapping(entry).get("count", 1)
    return count if type(count) is int and 0 <= count <= MOST_AGENTS else 1


def names_of(name: str, count: int) -> tuple[str, ...]:
    """What so many agents of one entry are called."""
    return (name,) * count if count <= 1 else tuple(f"{name}-{number}" for number in range(1, count + 1))
