"""A question that a run has read is answered once, by the run itself or by its end, however often its process dies.

Ana asks bob and waits; bob, woken by the question, looks at something before he answers.
"""

import asyncio
import json
from collections.abc import Mapping

import pytest

from amrita_fleet import Agent, tool
from amrita_fleet.protocols.ids import AgentId
from amrita_fleet.protocols.messages import Json, ToolCall
from amrita_fleet.runtime.journal_errors import JournalUnavailable
from amrita_fleet.runtime.ports import Record
from amrita_fleet.runtime.records import AgentRecord, Happened, Queued, decode_record
from amrita_fleet.runtime.step.events import MailTaken
from amrita_fleet.runtime.step.phases import Mail
from amrita_fleet.runtime.system import SpawnOrder

from .doomed import FLEET, Act, Asked, DoomedSystem, Strike, World, preset, process
from .lossless import around, unheard

pytestmark = pytest.mark.slow

ANA, BOB = AgentId("ana"), AgentId("bob")


def call(name: str, **arguments: Json) -> ToolCall:
    return ToolCall("call_0", name, json.dumps(arguments))


ASK = Act("#ask", (call("ask_peer", to="bob", question="How many?", seconds=200.0),))
LOOK = Act("#look", (call("look"),))
TELL = Act("#tell", (call("send_message", to="ana", body="There are three."),))

LINES: Mapping[str, Mapping[AgentId, tuple[Act, ...]]] = {
    "by its end": {ANA: (ASK, Act("#end")), BOB: (LOOK, Act("#three"))},
    "itself": {ANA: (ASK, Act("#end")), BOB: (LOOK, TELL, Act("#told"))},
}


def record(kept: Record) -> AgentRecord:
    return decode_record(kept.data)


class Talk:
    """The talk, in as many processes as it takes; `how` the question is answered.

    Attributes:
        apart: Seconds between the spawn of bob and that of ana; None: both are spawned together.
        read_by: What each agent's model was shown last.
    """

    def __init__(self, how: str, apart: float | None = None) -> None:
        self.world = World(self.said)
        self.lines = LINES[how]
        self.apart = apart
        self.read_by: dict[AgentId, str] = {}

    def said(self, asked: Asked) -> Act:
        self.read_by[asked.agent] = asked.text
        lines = self.lines[asked.agent]
        return next((act for act in lines if act.label.removeprefix("#") not in asked.labels), Act("I read it."))

    def live(self, *strikes: Strike) -> tuple[str, ...]:
        """A process for each strike, if it comes to that, and one that ends the talk; gives that one's appends."""
        for strike in (*strikes, None):
            if (appends := process(self.world, self.go_on, strike)) is not None:
                return appends
        raise AssertionError

    async def go_on(self, system: DoomedSystem) -> None:
        await self.spawn(system)
        records = await self.world.journal.read(f"{FLEET}/agent/ana")
        accepted = [each.asked.run for each in map(record, records) if isinstance(each, Queued)]
        await system.outcome(ANA, accepted[0] if accepted else await system.start(ANA, "Ask bob.", None))
        while any(row.run or row.phase == "dead" or row.waiting for row in await system.statuses()):
            await self.world.clock.sleep(0.05)

    async def spawn(self, system: DoomedSystem) -> None:
        if self.apart is None:
            await self.spawn_together(system, ANA, BOB)
        else:
            await self.spawn_together(system, BOB)
            await self.world.clock.sleep(self.apart)
            await self.spawn_together(system, ANA)

    async def spawn_together(self, system: DoomedSystem, *agents: AgentId) -> None:
        while True:
            try:
                return await system.spawn(tuple(SpawnOrder(each, self.agent(each)) for each in agents), unheard)
            except JournalUnavailable:
                await self.world.clock.sleep(1.0)

    def agent(self, name: AgentId) -> Agent:
        @tool(replay="safe")
        async def look() -> str:
            """Look at something."""
            return "saw it"

        return Agent(preset=preset(name), tools=(look,))

    def read_by_ana(self) -> list[Mail]:
        """The messages that she has read."""
        records = [*map(record, asyncio.run(self.world.journal.read(f"{FLEET}/agent/ana")))]
        happened = [each for each in records if isinstance(each, Happened)]
        taken = [event for each in happened for event in each.events if isinstance(event, MailTaken)]
        return [mail for event in taken for mail in event.mails]


@pytest.mark.parametrize(("how", "text"), [("by its end", "#three"), ("itself", "There are three.")])
def test_a_question_is_answered_once_wherever_the_fleet_dies(how: str, text: str) -> None:
    for strike in around(Talk(how).live()):
        print(strike)
        talk = Talk(how)
        talk.live(strike)
        assert [(mail.sender, mail.body) for mail in talk.read_by_ana()] == [(BOB, text)]


@pytest.mark.parametrize(("how", "text"), [("by its end", "#three"), ("itself", "There are three.")])
def test_an_answer_reaches_one_who_is_spawned_again_a_second_later_than_its_sender(how: str, text: str) -> None:
    for strike in around(Talk(how, apart=1.0).live()):
        print(strike)
        talk = Talk(how, apart=1.0)
        talk.live(strike)
        assert [(mail.sender, mail.body) for mail in talk.read_by_ana()] == [(BOB, text)]
        assert "ERROR" not in talk.read_by[BOB]
        assert ("Accepted by ana" in talk.read_by[BOB]) == (how == "itself")
