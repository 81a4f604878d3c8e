"""Who listens to agents for all who follow them: one question at a time, and none when nobody does."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from amrita_fleet.protocols.providers.base import Delta
from amrita_fleet.runtime.clock import SystemClock
from amrita_fleet.runtime.errors import AgentUnknown, FleetClosed
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


@pytest.mark.parametrize(
    "failure",
    [
        AgentUnknown(name="ana", near=()),
        FleetClosed(fleet="house", stage="closed"),
        FleetTaken(fleet="house"),
        NotRecorded(fleet="house", what="what its agents say"),
        ZeroDivisionError(),
    ],
    ids=lambda failure: type(failure).__name__,
)
async def test_where_nothing_will_ever_be_heard_it_is_given_up_and_followers_are_told_once(failure: Exception) -> None:
    async with listening() as (source, ears):
        source.failure = failure
        told: dict[str, Told] = {}
        with ears.following(["ana"]) as heard:
            while not heard["ana"].lost:
                await ears.news.wait()
            said = deltas(heard, told)
            assert said.startswith('event: unheard\ndata: {"agent":"ana","reason":"')
            assert ("bug" in said) == isinstance(failure, ZeroDivisionError)
            assert deltas(heard, told) == ""


async def test_who_comes_after_it_was_given_up_has_it_asked_anew_and_keeps_that_when_the_others_leave() -> None:
    async with listening() as (source, ears):
        source.failure = AgentUnknown(name="ana", near=())
        earlier = ears.following(["ana"])
        with earlier as given_up:
            while not given_up["ana"].lost:
                await ears.news.wait()
            source.failure = None
            later = ears.following(["ana"])
            heard = later.__enter__()
        with source.speech.reply() as take:
            take(Delta("Three."))
            while heard["ana"].text != "Three.":
                await ears.news.wait()
        with ears.following(["ana"]) as same:
            assert same["ana"] is heard["ana"]
        later.__exit__(None, None, None)


async def test_nobody_is_listened_to_once_it_is_closed() -> None:
    async with listening() as (source, ears):
        await ears.aclose()
        with ears.following(["ana"]) as heard:
            await asyncio.sleep(0)
            assert heard["ana"].lost == "the gateway is closed"
            assert source.asked == 0
