"""A source with one agent, whose words a test says."""

import asyncio

from amrita_fleet.protocols.ids import AgentId, Incarnation
from amrita_fleet.protocols.insight import Heard, Insight, Said, Spoken
from amrita_fleet.protocols.notices import Notice, NoticeType
from amrita_fleet.runtime.clock import SystemClock
from amrita_fleet.runtime.gateway.recorded import RecordedSource
from amrita_fleet.runtime.gateway.recording import Recording
from amrita_fleet.runtime.speech import Speech

ANA = AgentId("ana")


class Speaker(RecordedSource):
    """Ana speaks by `speech`; what she has said is in `said`.

    Attributes:
        asked: How many questions for what she says are under way.
        failure: What such a question raises; None: it is answered.
    """

    failure: Exception | None = None

    def __init__(self) -> None:
        self.speech = Speech(Incarnation(1), SystemClock())
        self.said: tuple[Said, ...] = ()
        self.asked = 0
        admitted = Notice(NoticeType.AGENT, "admitted", ANA, "", data={"incarnation": 1}, number=1, at=1.0)
        super().__init__(Recording("house", (admitted,)), SystemClock())

    async def look(self, agent: str) -> Insight:
        return Insight(AgentId(agent), 1, transcript=self.said)

    async def listen(self, agent: str, heard: Heard, wait: float) -> Spoken:
        if agent != ANA:  # nobody else ever says anything
            await asyncio.Event().wait()
        if self.failure is not None:
            raise self.failure
        self.asked += 1
        try:
            return await self.speech.listen(heard, wait)
        finally:
            self.asked -= 1
