"""Agents as they are named on the command line."""

from collections.abc import Iterable
from difflib import get_close_matches

from ..errors import AgentUnknown
from ..helm import Helm

__all__ = ("check_named",)


async def check_named(fleet: Helm, agents: Iterable[str]) -> None:
    """See that all of these are there, before anything is done to the first.

    Raises:
        AgentUnknown: One of them is not.
    """
    known = [str(row.agent) for row in await fleet.statuses()]
    for agent in agents:
        if agent not in known:
            raise AgentUnknown(name=agent, near=tuple(get_close_matches(agent, known)))
