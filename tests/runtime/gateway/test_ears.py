"""Who listens to agents for all who follow them: one question at a time, and none when nobody does."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from amrita_fleet.protocols.errors import FleetError
from amrita_fleet.protocols.insight import Heard, Spoken
from amrita_fleet.protocols.providers.base import Delta
from amrita_fleet.runtime.clock import SystemClock, VirtualClock
from amrita_fleet.runtime.errors import AgentUnknown, ChannelClosed, FleetClosed, PeerUnreachable
from amrita_fleet.runtime.gateway.ears import Ears
from amrita_fleet.runtime.gateway.errors import NotRecorded
from amrita_fleet.runtime.gateway.events import Told, deltas
from amrita_fleet.runtime.journal_errors import FleetTaken

from .speaker import Speaker

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def listening() -> AsyncGenerator[tuple[Speaker, Ears]]:
    source = Speaker()
    ears = Ears(source, SystemClock())
    async with asyncio.timeout(30):
        yield source, ears
    await ears.aclose()


async def test_many_who_follow_an_agent_cost_it_one_question_and_none_when_they_are_gone() -> None:
    async with listening() as (source, ears):
        with ears.following(["ana"]) as one, ears.following(["ana", "ana"]) as other:
            assert one["ana"] is other["ana"]
            with source.speech.reply() as take:
                take(Delta("Three."))
                while one["ana"].text != "Three.":
                    await ears.news.wait()
                await asyncio.sleep(0)
                assert source.asked == 1
        await ears.aclose()
        assert source.asked == 0


async def test_a_watcher_is_told_each_piece_once_without_a_number_and_a_new_reply_from_its_beginning() -> None:
    async with listening() as (source, ears):
        told: dict[str, Told] = {}
        with ears.following(["ana"]) as heard:
            ear = heard["ana"]
            with source.speech.reply() as take:
                take(Delta("Let me see.", reasoning=True))
                while not ear.reasoning:
                    await ears.news.wait()
                first = deltas(heard, told)
                assert '"begins":true' in first
                assert deltas(heard, told) == ""
                take(Delta("Three."))
                while not ear.text:
                    await ears.news.wait()
            while not ear.heard.over:
                await ears.news.wait()
            rest = deltas(heard, told)
            assert '"text":"Three.","reasoning":"","over":true' in rest
            assert "id:" not in first + rest
            with source.speech.reply():
                while ear.heard.over:
                    await ears.news.wait()
                assert '"begins":true,"text":"","reasoning":"","over":false' in deltas(heard, told)


class Gone(Speaker):
    """A source whose agent is not there, for one reason or another."""

    def __init__(self, reason: FleetError) -> None:
        super().__init__()
        self.reason = reason
        self.questions = 0

    async def listen(self, agent: str, heard: Heard, wait: float) -> Spoken:  # noqa: ARG002
        self.questions += 1
        raise self.reason


@pytest.mark.parametrize(
    ("reason", "questions"),
    [
        (AgentUnknown(name="ana"), 1),
        (FleetClosed(fleet="house", stage="closed"), 1),
        (FleetTaken(fleet="house"), 1),
        (NotRecorded(fleet="house", what="what models say"), 1),
        (ChannelClosed(agent="ana", reason="it died"), 4),
        (PeerUnreachable(agent="ana", reason="it is away"), 4),
    ],
)
async def test_who_may_come_back_is_asked_again_and_who_will_not_is_not(reason: FleetError, questions: int) -> None:
    source, clock = Gone(reason), VirtualClock()
    ears = Ears(source, clock)
    with ears.following(["ana"]):
        await clock.advance(10)
        assert source.questions == questions
    await ears.aclose()


async def test_after_the_end_nobody_is_listened_to_and_who_leaves_late_takes_nobody_elses_ear() -> None:
    source, clock = Gone(PeerUnreachable(agent="ana", reason="it is away")), VirtualClock()
    ears = Ears(source, clock)
    late = ears.following(["ana"])
    late.__enter__()
    await clock.advance(0)
    await ears.aclose()
    asked = source.questions
    with ears.following(["ana"]) as one:
        late.__exit__(None, None, None)
        with ears.following(["ana"]) as other:
            assert one["ana"] is other["ana"]
        await clock.advance(60)
    assert source.questions == asked
