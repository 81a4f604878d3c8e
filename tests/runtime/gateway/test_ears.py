"""Who listens to agents for all who follow them: one question at a time, and none when nobody does."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from amrita_fleet.protocols.providers.base import Delta
from amrita_fleet.runtime.clock import SystemClock
from amrita_fleet.runtime.gateway.ears import Ears
from amrita_fleet.runtime.gateway.events import Told, deltas

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
