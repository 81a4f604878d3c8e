"""Agents that stand as a test says, behind a real Supervisor."""

import asyncio
from dataclasses import replace

from amrita_fleet.protocols.checkin import AgentStatus
from amrita_fleet.protocols.ids import AgentId, Incarnation
from amrita_fleet.protocols.waits import Standing, WaitRefusal, WaitRequest
from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.supervision.supervisor import Supervisor

__all__ = ("ANA", "BOB", "CYD", "DAN", "NAMES", "Town", "waits")

ANA, BOB, CYD, DAN = NAMES = tuple(map(AgentId, ("ana", "bob", "cyd", "dan")))

FIRST = Incarnation(1)
IDLE = Standing(FIRST, "idle")


def waits(agent: AgentId, *senders: AgentId, op: int = 1) -> WaitRequest:
    """A wait of an agent's first life, in its first Step."""
    return WaitRequest(agent, FIRST, 1, op, senders)


class Town:
    """The port `Agents`.

    Attributes:
        now: How each agent stands; None: it does not say.
        later: How it stands when it is looked at again.
        asked: Who was looked at, in order.
        ended: The waits that were ended, and why.
    """

    def __init__(self) -> None:
        """All agents live, and are idle."""
        self.clock = VirtualClock(1000.0)
        self.supervisor = Supervisor(fleet="f", limit=None, now=self.clock.now, post=lambda _agent, _text: None)
        for name in NAMES:
            self.supervisor.admit(name, None, None, 1)
        self.now: dict[AgentId, Standing | None] = dict.fromkeys(NAMES, IDLE)
        self.later: dict[AgentId, Standing] = {}
        self.asked: list[AgentId] = []
        self.ended: list[tuple[AgentId, int, str]] = []

    def begin(self, wait: WaitRequest, **how: object) -> WaitRequest:
        """Have an agent wait; `how` are further fields of its standing."""
        standing = Standing(wait.incarnation, "waiting", None, wait.step, wait.op, wait.senders)
        self.now[wait.agent] = replace(standing, **how)  # type: ignore[arg-type]
        return wait

    def report(self, agent: AgentId, phase: str) -> AgentStatus:
        """Have the Supervisor hear how an agent is."""
        status = AgentStatus(agent, FIRST, phase, 0.0, step=1)
        self.supervisor.report(status, ())
        return status

    async def standing(self, agent: AgentId) -> Standing | None:
        """As the test says; others may run meanwhile."""
        await asyncio.sleep(0)
        again = agent in self.asked
        self.asked.append(agent)
        return self.later.get(agent, self.now[agent]) if again else self.now[agent]

    async def end_wait(self, agent: AgentId, incarnation: Incarnation, op: int, refusal: WaitRefusal) -> None:
        """Note it; the agent goes on."""
        self.ended.append((agent, op, refusal.cause.value))
        self.now[agent] = Standing(incarnation, "thinking", step=2)
