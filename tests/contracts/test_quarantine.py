"""Who was stopped for good answers alike, whether a person stopped it or the watch, which ends its process too."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from amrita_fleet import (
    Agent,
    ChannelClosed,
    Course,
    Deadlines,
    Fleet,
    NameTaken,
    Rung,
    Stage,
    Trouble,
    WatchPolicy,
    tool,
)
from amrita_fleet.protocols.mail import Receipt, ReceiptState, Refusal
from amrita_fleet.protocols.providers.scripted import call, say, scripted

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

MakeFleet = Callable[..., Fleet]

QUARANTINES = WatchPolicy(
    deadlines=Deadlines(tool=0.5),
    courses={each: Course(()) for each in Trouble} | {Trouble.TOOL: Course((Stage(Rung.QUARANTINE),))},
    period=0.1,
)


def hanging() -> Agent:
    """An agent whose tool never returns."""

    @tool
    async def hang() -> str:
        """Never return."""
        await asyncio.Event().wait()
        return "never"

    return Agent(preset=scripted(call("hang")), tools=(hang,))


async def quarantined(fleet: Fleet) -> Receipt:
    """Have ana quarantined by the watch; gives the receipt of a message that she did not read."""
    (ana,) = await fleet.spawn(hanging(), ["ana"])
    await ana.start("go")
    async for notice in fleet.notices():
        if notice.extra_type == "started" and notice.type == "tool":
            break
    receipt = await ana.send("hello")
    async for notice in fleet.notices():
        if (notice.agent, notice.extra_type) == ("ana", "died"):
            break
    return receipt


async def test_one_that_the_watch_stopped_answers_as_one_that_a_person_stopped(make_fleet: MakeFleet) -> None:
    async with make_fleet(watch=QUARANTINES) as fleet:
        await quarantined(fleet)
        (bob,) = await fleet.spawn(Agent(preset=scripted(say("hi"))), ["bob"])
        await bob.stop("enough")
        for name, reason in (("ana", "the watch ended it: ana is in tool hang"), ("bob", "enough")):
            receipt = await fleet.send(name, "are you there?")
            assert (receipt.state, receipt.refusal) == (ReceiptState.REFUSED, Refusal.STOPPED)
            with pytest.raises(ChannelClosed, match=rf"The channel of '{name}' is closed: {reason}"):
                await fleet.start(name, "go on")
            with pytest.raises(NameTaken, match="it was stopped") as caught:
                await fleet.spawn(hanging(), [name, "cem"])
            assert (caught.value.stopped or "").startswith(reason)
        assert [(row.agent, row.phase, bool(row.stopped)) for row in await fleet.statuses()] == [
            ("ana", "dead", True),
            ("bob", "stopped", True),
        ]


async def test_its_unread_mail_is_dead_as_stopped_and_opened_again_it_comes_back_as_stopped(
    make_fleet: MakeFleet, tmp_path: Path
) -> None:
    path = tmp_path / "journal.sqlite"
    async with make_fleet(name="halted", journal=path, watch=QUARANTINES) as fleet:
        receipt = await fleet.receipt(await quarantined(fleet))
        assert (receipt.state, receipt.refusal) == (ReceiptState.DEAD, Refusal.STOPPED)
        late = await fleet.send("ana", "are you there?")
        assert (late.state, late.refusal) == (ReceiptState.REFUSED, Refusal.STOPPED)
    async with make_fleet(name="halted", journal=path, watch=QUARANTINES) as again:
        unspawned = await again.send("ana", "and now?")
        assert (unspawned.state, unspawned.refusal) == (ReceiptState.REFUSED, Refusal.STOPPED)
        (ana,) = await again.spawn(hanging(), ["ana"])
        assert [row.phase for row in await again.statuses()] == ["stopped"]
        with pytest.raises(ChannelClosed, match="the watch ended it"):
            await ana.start("go on")
