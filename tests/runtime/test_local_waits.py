"""Waits of agents in one process, on a clock that the test moves."""

from collections.abc import AsyncGenerator

import pytest

from amrita_fleet import Agent, tool
from amrita_fleet.protocols.checkin import AgentStatus
from amrita_fleet.protocols.ids import USER, AgentId, RunId
from amrita_fleet.protocols.messages import Json
from amrita_fleet.protocols.notices import Notice
from amrita_fleet.protocols.providers.script import Move, call, fail, say
from amrita_fleet.protocols.providers.scripted import scripted
from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.config import AmritaConfig, LLMConfig, MailConfig
from amrita_fleet.runtime.local import LocalSystem
from amrita_fleet.runtime.sender import Sender
from amrita_fleet.runtime.system import SpawnOrder

pytestmark = pytest.mark.anyio

ANA, BOB, CYD = AgentId("ana"), AgentId("bob"), AgentId("cyd")


class Bedroom(VirtualClock):
    """A clock that knows for how long each who sleeps wanted to.

    Attributes:
        asleep: Seconds.
    """

    def __init__(self, now: float) -> None:
        super().__init__(now)
        self.asleep: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.asleep.append(seconds)
        try:
            await super().sleep(seconds)
        finally:
            self.asleep.remove(seconds)


class Town:
    """A fleet in this process."""

    def __init__(self) -> None:
        self.clock = Bedroom(1_700_000_000.0)
        self.system = LocalSystem("f", None, self.clock)

    async def spawn(self, name: AgentId, *moves: Move, **fields: object) -> None:
        agent = Agent(preset=scripted(*moves), **fields)  # type: ignore[arg-type]
        await self.system.spawn((SpawnOrder(name, agent),), lambda _ready, _ordered: None)

    async def ended(self, *agents: AgentId) -> list[Notice]:
        """The notices of waits that were ended; all of them if no agent is named."""
        notices = await self.system.notices(0, 0)
        ends = [each for each in notices if (each.type, each.extra_type) == ("step", "wait_ended")]
        return [each for each in ends if not agents or each.agent in agents]

    async def row(self, agent: AgentId) -> AgentStatus:
        return next(row for row in await self.system.statuses() if row.agent == agent)

    async def text(self, agent: AgentId, run: RunId) -> str:
        return (await self.system.outcome(agent, run)).text


@pytest.fixture
async def town() -> AsyncGenerator[Town]:
    town = Town()
    await town.system.open()
    yield town
    await town.system.close()


def wait(*agents: str, seconds: float = 3000) -> Move:
    named: list[Json] = [*agents]
    return call("wait_for_messages", from_agents=named, seconds=seconds)


async def test_of_two_that_wait_for_each_other_at_once_the_second_is_refused_and_goes_on(town: Town) -> None:
    await town.spawn(ANA, wait("bob"), say("bob wrote"))
    await town.spawn(BOB, wait("ana"), call("send_message", to="ana", body="I begin."), say("I went on."))

    runs = [await town.system.start(agent, "Wait.", None) for agent in (ANA, BOB)]
    await town.clock.advance(1)

    (end,) = await town.ended()
    assert (end.agent, end.data["cause"]) == (BOB, "knot")
    assert end.text == "waits no longer: bob waits for ana, ana waits for bob"
    assert [await town.text(ANA, runs[0]), await town.text(BOB, runs[1])] == ["bob wrote", "I went on."]


async def test_questions_that_cross_are_answered_and_no_wait_is_refused(town: Town) -> None:
    for agent, other in ((ANA, "bob"), (BOB, "ana")):
        ask = call("ask_peer", to=other, question=f"{agent} asks.", seconds=3000)
        await town.spawn(agent, ask, say(f"{agent} has read it."), say("Thanks."))

    runs = [await town.system.start(agent, "Ask.", None) for agent in (ANA, BOB)]
    await town.clock.advance(1)

    assert await town.ended() == []
    assert [str(await town.system.outcome(agent, run)) for agent, run in zip((ANA, BOB), runs, strict=True)] == [
        "answered",
        "answered",
    ]


async def test_a_quiet_fleet_is_released_and_each_that_waits_is_told(town: Town) -> None:
    await town.spawn(ANA, wait("bob"), say("ana goes on"))
    await town.spawn(BOB, say("never"))
    await town.spawn(CYD, wait(), say("cyd goes on"))
    runs = {agent: await town.system.start(agent, "Wait.", None) for agent in (ANA, CYD)}

    await town.clock.advance(5)
    assert await town.ended() == []
    await town.clock.advance(25)

    assert {end.agent: end.data["cause"] for end in await town.ended()} == {ANA: "quiet", CYD: "quiet"}
    assert [await town.text(agent, run) for agent, run in runs.items()] == ["ana goes on", "cyd goes on"]


async def test_one_whose_peer_is_in_a_long_call_waits_on(town: Town) -> None:
    clock = town.clock

    @tool
    async def think_hard() -> str:
        """Take 200 seconds."""
        await clock.sleep(200)
        return "done"

    await town.spawn(ANA, wait("bob"), say("bob wrote"))
    await town.spawn(
        BOB, call("think_hard"), call("send_message", to="ana", body="It is 7."), say("Told."), tools=(think_hard,)
    )
    runs = [await town.system.start(agent, "Go.", None) for agent in (ANA, BOB)]

    await town.clock.advance(199)
    assert await town.ended() == []
    await town.clock.advance(2)

    assert await town.text(ANA, runs[0]) == "bob wrote"
    assert await town.ended() == []


async def test_one_whose_peer_tries_a_model_again_and_again_waits_on(town: Town) -> None:
    config = AmritaConfig(llm=LLMConfig(max_retries=20))
    busy = [fail("ProviderBusy", sentence="busy", after=30.0) for _ in range(6)]
    await town.spawn(ANA, wait("bob"), say("bob wrote"))
    await town.spawn(BOB, *busy, call("send_message", to="ana", body="At last."), say("Told."), config=config)
    runs = [await town.system.start(agent, "Go.", None) for agent in (ANA, BOB)]

    await town.clock.advance(170)
    assert await town.ended() == []
    await town.clock.advance(60)

    assert await town.text(ANA, runs[0]) == "bob wrote"
    assert await town.ended() == []


async def test_nobody_is_released_while_somebody_is_paused_and_everybody_soon_after(town: Town) -> None:
    await town.spawn(ANA, wait("bob"), say("ana goes on"))
    await town.spawn(BOB, say("never"))
    await town.system.pause(BOB, "a look")
    await town.system.start(ANA, "Wait.", None)

    await town.clock.advance(100)
    assert await town.ended() == []
    await town.system.pause(BOB, None)
    await town.clock.advance(30)

    assert [end.agent for end in await town.ended()] == [ANA]


async def test_nobody_is_released_while_a_call_waits_for_a_person(town: Town) -> None:
    @tool(approval=True)
    async def delete() -> str:
        """Delete it."""
        return "gone"

    await town.spawn(ANA, wait("bob"), say("ana goes on"))
    await town.spawn(BOB, call("delete"), say("never"), tools=(delete,))
    for agent in (ANA, BOB):
        await town.system.start(agent, "Go.", None)

    await town.clock.advance(100)

    assert await town.ended() == []


async def test_a_wait_for_the_person_lasts_until_they_write(town: Town) -> None:
    await town.spawn(ANA, wait("user"), say("You wrote."))
    run = await town.system.start(ANA, "Wait.", None)
    await town.clock.advance(1000)
    assert await town.ended() == []

    sender = Sender(USER, await town.system.admit_user(), town.system.post, town.clock)
    await sender.send(ANA, "Here I am.")
    await sender.aclose()

    assert await town.text(ANA, run) == "You wrote."


async def test_mail_that_an_idle_agent_keeps_for_its_next_run_holds_nobody_up(town: Town) -> None:
    keep = AmritaConfig(mail=MailConfig(on_mail="keep"))
    await town.spawn(BOB, say("never"), config=keep)
    await town.spawn(ANA, call("send_message", to="bob", body="For later."), wait("bob"), say("ana goes on"))
    run = await town.system.start(ANA, "Go.", None)

    await town.clock.advance(30)

    assert await town.text(ANA, run) == "ana goes on"


async def test_a_wait_for_one_that_is_stopped_meanwhile_is_ended(town: Town) -> None:
    await town.spawn(ANA, wait("bob"), say("ana goes on"))
    await town.spawn(BOB, say("never"))
    await town.spawn(CYD, wait("user"), say("never"))
    runs = [await town.system.start(agent, "Wait.", None) for agent in (ANA, CYD)]
    await town.clock.advance(1)
    await town.system.stop((BOB,), "enough")
    await town.clock.advance(10)

    (end,) = await town.ended()
    assert (end.agent, end.text) == (ANA, "waits no longer: bob has stopped (enough)")
    assert await town.text(ANA, runs[0]) == "ana goes on"


async def test_the_row_of_one_that_waits_says_for_whom_since_when_and_until_when(town: Town) -> None:
    await town.spawn(ANA, wait("bob", "cyd", seconds=300), wait(seconds=300))
    await town.system.start(ANA, "Wait.", None)
    await town.clock.advance(5)

    assert (await town.row(ANA)).note == "waits for mail of bob or cyd since 22:13:20, until 22:18:20 UTC"
    await town.clock.advance(10)
    assert (await town.row(ANA)).note == "waits for mail since 22:13:30, until 22:18:30 UTC"


async def test_the_timer_of_a_wait_that_was_ended_runs_no_longer(town: Town) -> None:
    await town.spawn(ANA, wait("ana", seconds=3000), wait("user", seconds=2000))
    await town.system.start(ANA, "Wait for yourself.", None)
    await town.clock.advance(1)

    assert [end.data["cause"] for end in await town.ended()] == ["knot"]
    assert 2000 in town.clock.asleep
    assert 3000 not in town.clock.asleep
