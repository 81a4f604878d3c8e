"""When nothing will happen in a fleet any more, although agents of it wait for mail."""

from collections.abc import Mapping
from typing import TypeAlias

from ...protocols.ids import USER, AgentId
from ...protocols.waits import Standing

__all__ = ("RESTING", "Look", "is_quiet", "releasable")

RESTING = ("idle", "waiting")
"""The phases of agents that do nothing by themselves."""

Look: TypeAlias = Mapping[AgentId, Standing]
"""How all agents stood that are neither dead nor stopped, when each of them was looked at."""


def is_quiet(look: Look) -> bool:
    """Whether no agent does anything, and none has cause to.

    One look proves little: what was on its way to an agent may have come right after that was looked at. In two quiet
    looks that are the same, nothing was on its way at the first, and nothing has happened since.
    """
    return all(each.phase in RESTING and not (each.stirs or each.paused or each.outgoing) for each in look.values())


def releasable(look: Look) -> Look:
    """The agents whose wait is to end when all is quiet; one that names the person is left to them."""
    return {agent: each for agent, each in look.items() if each.wait and USER not in each.senders}
