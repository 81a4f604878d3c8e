"""What a model says while it says it: handed on together, once, and forgotten when the next reply begins."""

import asyncio
from contextlib import suppress

import pytest

from amrita_fleet.protocols.ids import Incarnation
from amrita_fleet.protocols.insight import NOTHING
from amrita_fleet.protocols.providers.base import Delta
from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.speech import GATHER, Speech

pytestmark = pytest.mark.anyio


async def test_pieces_that_come_within_moments_are_handed_on_together() -> None:
    assert 0.02 <= GATHER <= 0.05
    clock = VirtualClock()
    speech = Speech(Incarnation(1), clock)
    with speech.reply() as take:
        listening = asyncio.create_task(speech.listen(NOTHING, 20))
        take(Delta("Let me see. ", reasoning=True))
        take(Delta("Three"))
        await clock.advance(GATHER / 2)
        assert not listening.done()
        take(Delta(" apples"))
        await clock.advance(GATHER / 2)
        spoken = await listening
    assert (spoken.begins, spoken.text, spoken.reasoning) == (True, "Three apples", "Let me see. ")
    assert not spoken.heard.over


async def test_who_listens_on_is_given_the_rest_and_the_end() -> None:
    clock = VirtualClock()
    speech = Speech(Incarnation(1), clock)
    with speech.reply() as take:
        take(Delta("One"))
        asking = asyncio.create_task(speech.listen(NOTHING, 20))
        await clock.advance(GATHER)
        first = await asking
        take(Delta(", two"))
    rest = await speech.listen(first.heard, 20)
    assert (rest.begins, rest.text, rest.heard.over) == (False, ", two", True)


async def test_a_silence_ends_after_the_time_one_has_and_gives_nothing() -> None:
    clock = VirtualClock()
    speech = Speech(Incarnation(1), clock)
    listening = asyncio.create_task(speech.listen(NOTHING, 20))
    await clock.advance(20)
    spoken = await listening
    assert (spoken.heard, spoken.text) == (NOTHING, "")


async def test_an_attempt_that_breaks_off_is_over_and_the_next_one_begins_anew() -> None:
    speech = Speech(Incarnation(2), VirtualClock())
    with suppress(ConnectionError), speech.reply() as take:
        take(Delta("Thr"))
        raise ConnectionError
    broken = await speech.listen(NOTHING, 20)
    assert (broken.text, broken.heard.over) == ("Thr", True)
    with speech.reply() as take:
        take(Delta("Three."))
    again = await speech.listen(broken.heard, 20)
    assert (again.begins, again.text) == (True, "Three.")
