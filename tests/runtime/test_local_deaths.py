"""Agents that die alone in a local fleet, because the watch ends them: the rules of restarts, and their mail."""

import asyncio
from typing import cast

import pytest

from amrita_fleet import ChannelClosed, ToolContext, tool
from amrita_fleet.protocols.codec import encode_batch
from amrita_fleet.protocols.ids import Incarnation, MessageId, RunId
from amrita_fleet.protocols.mail import ReceiptState, Refusal
from amrita_fleet.protocols.providers.script import call, say
from amrita_fleet.protocols.restarts import RestartPolicy
from amrita_fleet.runtime.journal.memory import MemoryJournal
from amrita_fleet.runtime.mail.outbox import Outbox
from amrita_fleet.runtime.supervision.finding import Trouble
from amrita_fleet.runtime.supervision.policy import Course, Rung, Stage, WatchPolicy

from .house import ANA, BOB, LIMITS, House, hang, opened

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

KILLS = WatchPolicy(courses={Trouble.TOOL: Course((Stage(Rung.KILL),))})


@tool(replay="safe")
async def hang_again(context: ToolContext) -> str:
    """Never return, in any life."""
    await asyncio.Event().wait()
    return context.agent


async def dies(house: House) -> RunId:
    """Have ana hang until she is dead for good."""
    run = await house.until(house.system.start(ANA, "go", None))
    with pytest.raises(ChannelClosed):
        await house.until(house.system.outcome(ANA, run))
    return run


async def write(house: House) -> MessageId:
    """Have ana accept a message while she hangs."""
    letter, _ = Outbox(BOB, Incarnation(1)).put(ANA, "hello", now=0.0)
    await house.until(house.system.post.deliver(ANA, encode_batch((letter,))))
    return letter.id


async def test_a_temporary_agent_is_not_restarted_and_its_mail_is_dead() -> None:
    async with opened(KILLS, MemoryJournal()) as house:
        await house.spawn(BOB, say("hi"))
        await house.spawn(ANA, call("hang"), tools=(hang,), restart="temporary")
        run = await house.until(house.system.start(ANA, "go", None))
        message = await write(house)
        with pytest.raises(ChannelClosed):
            await house.until(house.system.outcome(ANA, run))
        await house.clock.advance(5)
        assert await house.notices("agent.quarantined") == []
        (told,) = await house.notices("mail.dead")
        assert (told.data["id"], told.data["refusal"]) == (message, "died")
        receipt = await house.system.post.receipt(ANA, message)
        assert receipt is not None and (receipt.state, receipt.refusal) == (ReceiptState.DEAD, Refusal.DIED)


async def test_an_agent_that_dies_too_often_is_quarantined_and_the_notice_says_of_what() -> None:
    restarts = RestartPolicy(intensity=1, period=10 * LIMITS.tool)
    async with opened(KILLS, MemoryJournal(), restarts) as house:
        await house.spawn(ANA, call("hang_again"), say("never"), tools=(hang_again,))
        await dies(house)
        (told,) = await house.notices("agent.quarantined")
        deaths = cast("list[dict[str, str]]", told.data["deaths"])
        assert [death["reason"].startswith("the watch ended it: ana is in tool hang_again") for death in deaths] == [
            True,
            True,
        ]
        (row,) = await house.system.statuses()
        shown = f"quarantined: it died twice within 6,000 seconds, the last time: {deaths[-1]['reason']}"
        assert (row.phase, row.incarnation, row.note) == ("dead", 2, shown)
