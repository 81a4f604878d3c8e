"""How often an agent may be restarted: OTP's intensity and period."""

from typing import NamedTuple

from ...protocols.ids import AgentId

__all__ = ("PERIOD", "RESTARTS", "Restarted", "Restarts")

RESTARTS = 3
"""Restarts of one agent within `PERIOD`; what dies once more is not helped by another life."""

PERIOD = 60.0
"""Seconds in which they count."""


class Restarted(NamedTuple):
    """When an agent was restarted, of late (Unix seconds)."""

    agent: AgentId
    times: tuple[float, ...]


class Restarts:
    """Counts the restarts of each agent."""

    def __init__(self, state: tuple[Restarted, ...] = ()) -> None:
        """None has been restarted, or count on from what another one has counted."""
        self._times: dict[AgentId, tuple[float, ...]] = dict(state)

    def allow(self, agent: AgentId, at: float) -> bool:
        """Count one more restart, at Unix seconds `at`; False, and it is not counted, if that is one too many."""
        recent = tuple(time for time in self._times.get(agent, ()) if time > at - PERIOD)
        if len(recent) >= RESTARTS:
            return False
        self._times[agent] = (*recent, at)
        return True

    def state(self) -> tuple[Restarted, ...]:
        """All that is counted now."""
        return tuple([Restarted(agent, times) for agent, times in self._times.items()])
