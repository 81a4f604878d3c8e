"""The ladder: which rung is climbed now for what the watch found."""

from collections.abc import Iterable
from dataclasses import dataclass

from ...protocols.ids import AgentId
from .finding import Finding
from .policy import Rung, WatchPolicy

__all__ = ("Action", "Ladder")


@dataclass(frozen=True, slots=True)
class Action:
    """What is to be done now.

    Attributes:
        rung: What.
        agents: To whom.
        finding: Why.
        then: What comes next if the trouble goes on; None: nothing more.
        seconds: Seconds until then, at least.
    """

    rung: Rung
    agents: tuple[AgentId, ...]
    finding: Finding
    then: Rung | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Standing:
    """How far it is with one trouble.

    Attributes:
        stage: The place in its course of the rung that was climbed last.
        acted: When that was.
        seen: When the trouble was found last.
        calm: Seconds after which it is forgotten.
    """

    stage: int
    acted: float
    seen: float
    calm: float


class Ladder:
    """Climbs one ladder for each trouble. As pure as the watch: time is handed in."""

    def __init__(self, policy: WatchPolicy) -> None:
        """Nothing was done yet."""
        self._policy = policy
        self._standings: dict[str, Standing] = {}
        self._kills: dict[AgentId, tuple[float, ...]] = {}

    def climb(self, findings: Iterable[Finding], at: float) -> tuple[Action, ...]:
        """What is to be done about what was found, at most one rung for each trouble.

        Args:
            findings: All that a look found.
            at: When, in the watch's seconds.
        """
        actions = [action for finding in findings for action in self._climbed(finding, at)]
        self._standings = {key: each for key, each in self._standings.items() if at - each.seen <= each.calm}
        return tuple(actions)

    def _climbed(self, finding: Finding, at: float) -> tuple[Action, ...]:
        course = self._policy.course(finding.trouble)
        was = self._standings.get(finding.key)
        stage = self._next(finding, was, at)
        if stage is None:
            if was is not None:
                self._standings[finding.key] = Standing(was.stage, was.acted, at, course.calm)
            return ()
        self._standings[finding.key] = Standing(stage, at, at, course.calm)
        now, *later = course.stages[stage:]
        then = later[0].rung if later else None
        return tuple(
            Action(rung, agents, finding, None if rung is Rung.QUARANTINE else then, now.seconds if then else 0.0)
            for rung, agents in self._rungs(now.rung, finding, at)
        )

    def _next(self, finding: Finding, was: Standing | None, at: float) -> int | None:
        """The place of the rung to climb now; None: it is not time, or there is none."""
        stages = self._policy.course(finding.trouble).stages
        if was is None:
            return 0 if stages else None
        due = at - was.acted >= stages[was.stage].seconds and finding.fresh > was.acted
        return was.stage + 1 if due and was.stage + 1 < len(stages) else None

    def _rungs(self, rung: Rung, finding: Finding, at: float) -> tuple[tuple[Rung, tuple[AgentId, ...]], ...]:
        """The rung for all agents of a finding, but a harder one for those that were killed too often."""
        if rung is not Rung.KILL:
            return ((rung, finding.agents),)
        again = tuple(agent for agent in finding.agents if self._may_kill(agent, at))
        worn = tuple(agent for agent in finding.agents if agent not in again)
        return tuple((each, agents) for each, agents in ((Rung.KILL, again), (Rung.QUARANTINE, worn)) if agents)

    def _may_kill(self, agent: AgentId, at: float) -> bool:
        """Count one more kill, unless it is one too many."""
        recent = tuple(time for time in self._kills.get(agent, ()) if time > at - self._policy.kill_seconds)
        if len(recent) >= self._policy.kills:
            return False
        self._kills[agent] = (*recent, at)
        return True
