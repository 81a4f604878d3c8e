"""How often an agent may be restarted, and of what it died: OTP's intensity and period."""

from collections.abc import Iterator
from typing import NamedTuple

from ...protocols.ids import AgentId
from ...protocols.restarts import RestartPolicy

__all__ = ("USUAL", "Death", "Restarted", "Restarts")

USUAL = RestartPolicy()
"""What counts where a fleet says nothing else."""


class Death(NamedTuple):
    """When a life ended (Unix seconds), and why."""

    at: float
    reason: str


class Restarted(NamedTuple):
    """When an agent died, of late, and was restarted (Unix seconds).

    Attributes:
        reasons: Why, in the same order; what an older version counted has none.
    """

    agent: AgentId
    times: tuple[float, ...]
    reasons: tuple[str, ...] = ()

    @property
    def deaths(self) -> tuple[Death, ...]:
        """The deaths one by one."""
        unknown = ("",) * (len(self.times) - len(self.reasons))
        return tuple(map(Death, self.times, (*self.reasons, *unknown)))


class Restarts:
    """Counts the restarts of each agent.

    Attributes:
        policy: How many are allowed. Another one counts for the deaths to come, with those of late.
    """

    def __init__(self, state: tuple[Restarted, ...] = (), policy: RestartPolicy = USUAL) -> None:
        """None has been restarted, or count on from what another one has counted."""
        self.policy = policy
        self._deaths = {each.agent: each.deaths for each in state}

    def too_often(self, agent: AgentId, at: float, reason: str) -> tuple[Death, ...]:
        """Count one more death, at Unix seconds `at`, that a restart would follow.

        Returns:
            Nothing if it may be followed. Else all deaths of the period, this one the last; it is not counted.
        """
        recent = tuple(death for death in self._deaths.get(agent, ()) if death.at > at - self.policy.period)
        deaths = (*recent, Death(at, reason))
        if len(recent) >= self.policy.intensity:
            return deaths
        self._deaths[agent] = deaths
        return ()

    def state(self) -> tuple[Restarted, ...]:
        """All that is counted now."""
        return tuple(self._state())

    def _state(self) -> Iterator[Restarted]:
        for agent, deaths in self._deaths.items():
            yield Restarted(agent, tuple([death.at for death in deaths]), tuple([death.reason for death in deaths]))
