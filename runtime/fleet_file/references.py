"""Names in a fleet file that stand for something else in it: presets, agents, teams."""

from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter

from ...protocols.errors import FleetError
from ..errors import ArgumentInvalid, NameInvalid
from ..given import check_fleet_name, check_task
from ..supervision.roster import check_name
from .entries import UNTOLD, Entries, names_of
from .problems import Keys, Problems, nearest
from .schema import AgentEntry

__all__ = ("check_names", "check_references", "in_order")


def check_names(entries: Entries, problems: Problems) -> None:
    """Note names that nothing can have, and those that two would have."""
    taken: dict[str, str] = {}
    for name, count in entries.agent_counts.items():
        for each in names_of(name, count) or (name,):
            try:
                check_name(each)
            except NameInvalid as error:
                problems.add(("agents", name), f"{error.reason.capitalize()}.", key=True)
                break
            if count and taken.setdefault(each, name) != name:
                text = f'An agent would be named "{each}", and so would one of "{taken[each]}": choose another name.'
                problems.add(("agents", name), text, key=True)
    for team in entries.teams:
        try:
            check_name(team)
        except NameInvalid as error:
            problems.add(("fleet", "teams", team), f"{error.reason.capitalize()}.", key=True)
    try:
        check_fleet_name(entries.fleet.name or "")
    except ArgumentInvalid as error:
        problems.add(("fleet", "name"), f"{error.reason.capitalize()}.")


def check_references(entries: Entries, problems: Problems) -> None:
    """Note names of what is not there."""
    for name, entry in entries.agents.items():
        check_agents(name, entry, entries, problems)
        here: Keys = ("agents", name)
        for keys, preset in ((("preset",), entry.preset), *numbered("fallbacks", entry.fallbacks)):
            if preset not in (UNTOLD, *entries.preset_names):
                text = f'There is no preset "{preset}". {nearest(preset, entries.preset_names)}'
                problems.add((*here, *keys), text)
        for kind, agent in (entry.spawns.kinds if entry.spawns else {}).items():
            if agent not in entries.agent_counts:
                text = f'There is no agent "{agent}". {nearest(agent, tuple(entries.agent_counts))}'
                problems.add((*here, "spawns", "kinds", kind), text)
        if entry.team and entry.team not in entries.teams:
            text = f'There is no team "{entry.team}" in fleet.teams. {nearest(entry.team, entries.teams)}'
            problems.add((*here, "team"), text)
    for number, task in entries.tasks.items():
        check_agent(task.agent, ("tasks", number, "agent"), entries, problems)
        try:
            check_task(task.task, task.time_limit)
        except FleetError as error:
            problems.add(("tasks", number, "task"), str(error))


def check_agents(name: str, entry: AgentEntry, entries: Entries, problems: Problems) -> None:
    """Note the agents that an agent's entry names and that are not there."""
    for keys, peer in numbered("peers", entry.peers or ()):
        check_peer(name, peer, ("agents", name, *keys), entries, problems)
    if entry.parent is not None:
        check_agent(entry.parent, ("agents", name, "parent"), entries, problems)


def numbered(key: str, values: tuple[str, ...]) -> Iterator[tuple[tuple[str, int], str]]:
    """The values of a list, each with what leads to it."""
    yield from (((key, number), value) for number, value in enumerate(values))


def check_agent(name: str, keys: Keys, entries: Entries, problems: Problems) -> None:
    """Note a name that is none of one agent that lives when the fleet begins."""
    counts = entries.agent_counts
    live = [each for entry, count in counts.items() for each in names_of(entry, count)]
    if name in (UNTOLD, *live):
        return
    if (count := counts.get(name)) is None:
        problems.add(keys, f'There is no agent "{name}". {nearest(name, live)}')
    elif count:
        text = f'"{name}" are {count} agents: name one of them, from {name}-1 to {name}-{count}.'
        problems.add(keys, text)
    else:
        problems.add(keys, f'"{name}" has count 0: it is only a kind that others spawn, and does not live by itself.')


def check_peer(name: str, peer: str, keys: Keys, entries: Entries, problems: Problems) -> None:
    """Note a peer that is no agent that lives when the fleet begins, nor several alike, or that is the agent itself."""
    if entries.agent_counts.get(peer, 0) > 1:
        return
    if peer == name:
        problems.add(keys, f'"{peer}" is this agent itself, which writes to others only: leave it out.')
        return
    check_agent(peer, keys, entries, problems)


def in_order(needs: Mapping[str, tuple[str, ...]], key: str, problems: Problems) -> tuple[str, ...]:
    """Agents, each behind those that it needs; those of a circle are left out, which is noted.

    Args:
        needs: The agents that each needs to be there before it.
        key: What in an agent's entry names them.
        problems: Gets a circle.
    """
    graph = {name: tuple(one for one in before if one in needs) for name, before in needs.items()}
    while True:
        sorter = TopologicalSorter(graph)
        try:
            return tuple(sorter.static_order())
        except CycleError as error:
            circle = [str(each) for each in error.args[1]]
            first = next(name for name in needs if name in circle)
            text = f"This leads round in a circle: {' needs '.join(circle[::-1])}."
            problems.add(("agents", first, key), text)
            graph = {
                name: tuple(one for one in before if one not in circle)
                for name, before in graph.items()
                if name not in circle
            }
