"""Tool calls that fail, and for whom: what fails for several agents is not one agent's trouble."""

from collections import OrderedDict
from dataclasses import dataclass, replace

from ...protocols.ids import AgentId
from .deadlines import Deadlines

__all__ = ("CALLS_KEPT", "Failure", "Failures")

CALLS_KEPT = 512
"""Failing calls that are remembered; the one that failed longest ago is forgotten first."""

AGENTS_KEPT = 32
"""Agents of one call that are remembered, the newest."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One call, by its tool and arguments, that failed and did not succeed since.

    Attributes:
        signature: Digest of its tool and arguments.
        said: What came of it last, in one line.
        agents: For whom it failed, and when last, in the watch's seconds.
        count: How often it failed for all of them.
    """

    tool: str
    signature: str
    said: str = ""
    agents: tuple[tuple[AgentId, float], ...] = ()
    count: int = 0

    def failed(self, agent: AgentId, said: str, at: float) -> "Failure":
        """It failed once more."""
        others = tuple(each for each in self.agents if each[0] != agent)
        return replace(self, said=said, agents=(*others, (agent, at))[-AGENTS_KEPT:], count=self.count + 1)


class Failures:
    """The failing calls of a fleet."""

    def __init__(self, deadlines: Deadlines) -> None:
        """Nothing failed yet."""
        self._deadlines = deadlines
        self._calls = OrderedDict[tuple[str, str], Failure]()
        self._fresh: set[tuple[str, str]] = set()

    def failed(self, agent: AgentId, tool: str, signature: str, said: str, at: float) -> None:
        """A call failed for an agent."""
        key = tool, signature
        self._calls[key] = self._calls.get(key, Failure(tool, signature)).failed(agent, said, at)
        self._calls.move_to_end(key)
        self._fresh.add(key)
        if len(self._calls) > CALLS_KEPT:
            forgotten, _ = self._calls.popitem(last=False)
            self._fresh.discard(forgotten)

    def succeeded(self, tool: str, signature: str) -> None:
        """A call came to a result for somebody, so that it is not the call that fails."""
        self._calls.pop((tool, signature), None)
        self._fresh.discard((tool, signature))

    def shared(self, at: float) -> tuple[Failure, ...]:
        """Those that failed since the last look, and of late for several agents; only these agents are in them."""
        fresh, self._fresh = self._fresh, set()
        since = at - self._deadlines.failing_within
        late = (
            replace(failure, agents=tuple(each for each in failure.agents if each[1] >= since))
            for key in sorted(fresh)
            if (failure := self._calls[key])
        )
        return tuple(failure for failure in late if len(failure.agents) >= self._deadlines.failing_agents)
