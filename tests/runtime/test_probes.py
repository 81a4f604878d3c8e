"""Who answers for an agent, and for the loop in which it works."""

import asyncio
from collections import Counter

import pytest

from amrita_fleet.protocols.checkin import AgentStatus
from amrita_fleet.protocols.ids import AgentId, Incarnation
from amrita_fleet.runtime.errors import PeerUnreachable
from amrita_fleet.runtime.probes import Probes, Sign

pytestmark = [pytest.mark.anyio, pytest.mark.slow]  # what does not answer is waited for by the real clock

ANA, BOB, CAT = AgentId("ana"), AgentId("bob"), AgentId("cat")


def row(agent: AgentId) -> AgentStatus:
    return AgentStatus(agent, Incarnation(1), "acting", 0.0)


class Crew:
    """Ana answers, bob's loop is blocked until it is let go, and cat's process cannot be reached."""

    def __init__(self) -> None:
        self.asked = Counter[AgentId]()
        self.free = asyncio.Event()

    async def status(self, agent: AgentId) -> AgentStatus:
        if agent == CAT:
            raise PeerUnreachable(agent=agent, reason="it does not answer")
        return row(agent)

    async def beat(self, agent: AgentId) -> None:
        self.asked[agent] += 1
        if agent == CAT:
            raise PeerUnreachable(agent=agent, reason="it does not answer")
        if agent == BOB:
            await self.free.wait()


async def test_a_blocked_loop_is_told_from_a_process_that_cannot_be_reached_of_whose_loop_nothing_is_known() -> None:
    crew = Crew()
    probes = Probes(crew.status, crew.beat)
    found = await probes.take((ANA, BOB, CAT))
    probes.close()
    assert found == {ANA: Sign(row(ANA), loop=True), BOB: Sign(row(BOB), loop=False), CAT: Sign(None, loop=True)}


async def test_a_loop_that_owes_an_answer_is_not_asked_again_before_it_has_given_it() -> None:
    crew = Crew()
    probes = Probes(crew.status, crew.beat)
    for _ in range(3):
        assert (await probes.take((ANA, BOB)))[BOB].loop is False
    assert crew.asked == {ANA: 3, BOB: 1}
    crew.free.set()
    await asyncio.sleep(0)
    assert (await probes.take((BOB,)))[BOB].loop is True
    assert crew.asked[BOB] == 2
    probes.close()


async def test_a_loop_is_asked_anew_once_its_agent_was_at_rest_in_between() -> None:
    crew = Crew()
    probes = Probes(crew.status, crew.beat)
    await probes.take((BOB,))
    assert await probes.take(()) == {}
    crew.free.set()
    assert (await probes.take((BOB,)))[BOB].loop is True
    assert crew.asked[BOB] == 2
    probes.close()
