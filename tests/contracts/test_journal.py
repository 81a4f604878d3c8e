"""What a journal gives, on both systems: another process goes on where one ended."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from amrita_fleet import Agent, ChannelClosed, Fleet, NameTaken, Notice, TokenLimit
from amrita_fleet.protocols.mail import ReceiptState, Refusal
from amrita_fleet.protocols.providers.scripted import call, say, scripted

from .gate import Gate

MakeFleet = Callable[[], Fleet]

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


async def test_a_fleet_that_was_closed_goes_on_under_its_name(reopen: MakeFleet) -> None:
    async with Gate() as gate:
        kind = Agent(preset=scripted(call("gate", name="one"), say("done")), tools=(gate.tool,))
        async with reopen() as fleet:
            (ana,) = await fleet.spawn(kind, ["ana"])
            run = await ana.start("go")
            await gate.begun("one")
            assert (await ana.send("hello")).state is ReceiptState.ACCEPTED
            spent = (await fleet.accounts())[0].spent.tokens
            await fleet.close(grace=0)
        async with reopen() as again:
            assert [(row.agent, row.phase) for row in await again.statuses()] == [("ana", "dead")]
            assert (await again.accounts())[0].spent.tokens >= spent > 0
            gate.let("one")
            (ana,) = await again.spawn(kind, ["ana"])
            seen: list[Notice] = []
            async for notice in again.notices():
                seen.append(notice)
                if (notice.run, notice.extra_type) == (run.id, "finished"):
                    break
            assert seen[-1].data["outcome"] == "answered"
            assert [notice.text for notice in seen if notice.extra_type == "consumed"] == ["from user: hello"]
            assert [row.incarnation for row in await again.statuses()] == [2]


async def test_the_accounts_of_an_agent_are_those_of_its_earlier_lives(reopen: MakeFleet) -> None:
    kind = Agent(preset=scripted(say("hi")))
    async with reopen() as fleet:
        (ana,) = await fleet.spawn(kind, ["ana"], limit=TokenLimit(tokens=50_000))
        await ana.run("?")
        whole, anas = await fleet.accounts()
    async with reopen() as again:
        assert await again.accounts() == (whole, replace(anas, rests=True)), "until she is spawned again"
        with pytest.raises(NameTaken, match="dead and can live again"):
            await again.spawn(kind, ["ana"], limit=TokenLimit(tokens=60_000))


async def test_a_stopped_agent_stays_stopped_in_the_next_process(reopen: MakeFleet) -> None:
    async with reopen() as fleet:
        (ana,) = await fleet.spawn(Agent(preset=scripted(say("hi"))), ["ana"])
        await ana.stop("enough")
    async with reopen() as again:
        (ana,) = await again.spawn(Agent(preset=scripted(say("never"))), ["ana"])
        receipt = await ana.send("hello")
        assert (receipt.state, receipt.refusal) == (ReceiptState.REFUSED, Refusal.STOPPED)
        with pytest.raises(ChannelClosed, match="enough"):
            await ana.start("go")
        assert [row.phase for row in await again.statuses()] == ["stopped"]
