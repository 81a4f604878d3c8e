"""How an agent stands, as the Supervisor sees it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from amrita_fleet import Agent
from amrita_fleet.protocols.codec import encode_batch
from amrita_fleet.protocols.ids import USER, AgentId, Incarnation, MessageId
from amrita_fleet.protocols.mail import Envelope, Kind
from amrita_fleet.protocols.providers.script import Move, call, say
from amrita_fleet.protocols.providers.scripted import scripted
from amrita_fleet.protocols.waits import Endless, WaitRefusal
from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.config import AmritaConfig, MailConfig
from amrita_fleet.runtime.host import AgentHost, Seat, Surroundings
from amrita_fleet.runtime.local_ways import LocalAgents, LocalLink, LocalPost
from amrita_fleet.runtime.supervision.supervisor import Supervisor
from amrita_fleet.runtime.supervision.wait_desk import WaitDesk

pytestmark = pytest.mark.anyio

ANA, BOB = AgentId("ana"), AgentId("bob")
LIFE = Incarnation(1)
NO = WaitRefusal(Endless.KNOT, "nobody writes")


class House:
    """One host that tells nobody, and its clock."""

    def __init__(self, *moves: Move, keeps: bool = False) -> None:
        self.clock = VirtualClock(1000.0)
        supervisor = Supervisor(fleet="f", limit=None, now=self.clock.now, post=lambda _agent, _text: None)
        link = LocalLink("f", supervisor, WaitDesk(supervisor, LocalAgents({})))
        config = AmritaConfig(mail=MailConfig(on_mail="keep" if keeps else "wake"))
        described = Agent(preset=scripted(*moves), config=config)
        around = Surroundings(link, LocalPost({}, supervisor), self.clock)
        self.host = AgentHost(described, Seat(ANA, supervisor.admit(ANA, None, None, 1)), around)

    async def deliver(self, sender: AgentId, number: int = 1) -> None:
        """Bring a message; nobody else runs before the next wait."""
        letter = Envelope(
            MessageId(f"{sender}.{number}"), sender, LIFE, number, ANA, Kind.PEER, "Hello.", "", 0, 0.0, 0.0, ""
        )
        await self.host.deliver(encode_batch((letter,)))


@asynccontextmanager
async def living(house: House) -> AsyncGenerator[AgentHost]:
    await house.host.open()
    await house.clock.advance(1)
    try:
        yield house.host
    finally:
        await house.host.close()


def waits(sender: str) -> Move:
    return call("wait_for_messages", from_agents=[sender], seconds=600)


async def test_an_idle_agent_stirs_once_mail_has_come_that_wakes_it() -> None:
    house = House(say("awake"))
    async with living(house) as host:
        assert not host.waits.standing().stirs
        await house.deliver(BOB)
        assert host.waits.standing().stirs


async def test_an_idle_agent_that_keeps_mail_for_its_next_run_stirs_when_there_is_one() -> None:
    house = House(say("done"), keeps=True)
    async with living(house) as host:
        await house.deliver(BOB)
        assert not host.waits.standing().stirs
        await host.start("go")
        assert host.waits.standing().stirs


async def test_one_that_waits_stirs_once_the_mail_it_waits_for_has_come_and_not_by_other_mail() -> None:
    house = House(waits("bob"), say("done"))
    async with living(house) as host:
        await host.start("go")
        await house.clock.advance(1)
        standing = host.waits.standing()
        assert (standing.phase, standing.senders, standing.stirs) == ("waiting", (BOB,), False)
        await house.deliver(USER)
        assert not host.waits.standing().stirs
        await house.deliver(BOB)
        assert host.waits.standing().stirs
        await house.clock.advance(1)
        assert host.waits.standing().wait == 0


async def test_a_run_that_waits_for_its_turn_does_not_stir_an_agent_whose_run_waits_for_mail() -> None:
    house = House(waits("bob"))
    async with living(house) as host:
        for _ in range(2):
            await host.start("go")
        await house.clock.advance(1)
        assert host.waits.standing().phase == "waiting"
        assert not host.waits.standing().stirs


async def test_only_the_wait_that_is_named_is_ended() -> None:
    house = House(waits("bob"), waits("user"))
    async with living(house) as host:
        await host.start("go")
        await house.clock.advance(1)
        op = host.waits.standing().wait
        host.waits.end(Incarnation(2), op, NO)
        host.waits.end(LIFE, op + 1, NO)
        await house.clock.advance(1)
        assert host.waits.standing().wait == op
        host.waits.end(LIFE, op, NO)
        await house.clock.advance(1)
        assert host.waits.standing().senders == (USER,)


async def test_a_stopped_agent_stands_as_stopped_once_its_run_is_over() -> None:
    house = House(waits("bob"))
    async with living(house) as host:
        await host.start("go")
        await house.clock.advance(1)
        host.stop("enough")
        assert host.waits.standing().phase == "waiting"
        await house.clock.advance(1)
        assert (host.waits.standing().phase, host.waits.standing().run) == ("stopped", None)
