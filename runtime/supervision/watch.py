"""The watch: it is told facts with the time at which they became known, and says how agents are and what is wrong.

| trouble | rule |
| --- | --- |
| dead | a life is over and none follows |
| wedged | the process answers, the loop in which the agent works does not |
| unreachable | neither answers |
| model, tool, stuck | no sign of progress for longer than that kind of work may take (`Deadlines`) |
| call loop | the rounds of one agent's calls, results included, have a period of 1 to 4 |
| message loop | messages between agents, each following from the one before, have a period of 2 to 4 |
| shared failure | the same call fails for several agents |

It is pure: no clock, no I/O. What it remembers is bounded for each agent and each pair of agents. It begins with
nothing, so that a Supervisor that was started again learns anew who loops.
"""

from ...protocols.checkin import AgentStatus
from ...protocols.ids import AgentId, Incarnation, life_of
from ...protocols.notices import Notice, NoticeType
from .deadlines import Deadlines
from .facts import Fact, Heard, Seen
from .finding import Finding
from .hearing import heard
from .loops import Loops
from .progress import trouble_with
from .sight import Sight
from .verdict import Verdict, verdict_on

__all__ = ("Watch",)


class Watch:
    """What is known of the agents of one fleet."""

    def __init__(self, deadlines: Deadlines | None = None) -> None:
        """Nobody is known yet."""
        self._deadlines = deadlines or Deadlines()
        self._sights: dict[AgentId, Sight] = {}
        self._loops = Loops(self._deadlines)

    def take(self, fact: Fact, at: float) -> None:
        """Learn a fact. What is about a life that is over, or about an agent that is not known, changes nothing.

        Args:
            fact: In the order in which each agent did things; facts of two agents may come in any order.
            at: When it became known, in seconds that never go back.
        """
        if isinstance(fact, Heard):
            self._heard(fact.notice, at)
            return
        agent, life = fact.life
        if isinstance(fact, Seen) and self._is_new(agent, life):
            self._begin(agent, life, min(at, fact.asked))
        sight = self._sights.get(agent)
        if sight is not None and sight.incarnation == life:
            self._sights[agent] = sight.learnt(fact, at)

    def look(self, at: float) -> tuple[Finding, ...]:
        """What is wrong now; of messages and shared failures, only what came to since the last look."""
        alone = (trouble_with(sight, at, self._deadlines) for sight in self._sights.values())
        return (*(finding for finding in alone if finding is not None), *self._loops.found(at))

    def verdict(self, status: AgentStatus, at: float) -> Verdict:
        """How an agent is, and why, if this is its row. Nothing is learned from that."""
        known = self._sights.get(status.agent)
        if known is None or known.incarnation != status.incarnation:
            known = Sight(status.agent, status.incarnation, at, at)
        return verdict_on(known.learnt(Seen(status), at), at, self._deadlines)

    def parents(self, agents: tuple[AgentId, ...]) -> tuple[AgentId, ...]:
        """The agents that started these and are none of them, each once."""
        known = [self._sights[agent] for agent in agents if agent in self._sights]
        parents = dict.fromkeys(sight.parent for sight in known if sight.parent is not None)
        return tuple(parent for parent in parents if parent not in agents)

    def _is_new(self, agent: AgentId, incarnation: Incarnation) -> bool:
        sight = self._sights.get(agent)
        return sight is None or sight.incarnation < incarnation

    def _begin(self, agent: AgentId, incarnation: Incarnation, at: float) -> None:
        """A life begins, or is heard of for the first time."""
        was = self._sights.get(agent)
        self._sights[agent] = Sight(agent, incarnation, at, at, None if was is None else was.parent)
        self._loops.forget(agent)

    def _heard(self, notice: Notice, at: float) -> None:
        agent, life = notice.agent, life_in(notice)
        admitted = (notice.type, notice.extra_type) == (NoticeType.AGENT, "admitted")
        if admitted and life is not None and self._is_new(agent, life):
            self._begin(agent, life, at)
        sight = self._sights.get(agent)
        if sight is None or life not in {None, sight.incarnation}:
            return
        self._sights[agent] = heard(sight, notice, at)
        self._loops.heard(notice, at)
        if self._sights[agent].over:
            self._loops.forget(agent)


def life_in(notice: Notice) -> Incarnation | None:
    """The life that a notice is about, where it says so."""
    if notice.type is NoticeType.AGENT:
        life = notice.data.get("incarnation")
        return Incarnation(life) if isinstance(life, int) else None
    return None if notice.run is None else life_of(notice.run)
