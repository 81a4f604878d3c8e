"""What becomes on Ray of the mail of an agent whose process died for good."""

import asyncio
import os
import signal
from pathlib import Path
from uuid import uuid4

import pytest

from amrita_fleet import Agent, AmritaConfig, ChannelClosed, Fleet, MailConfig, Notice, Receipt
from amrita_fleet.protocols.mail import ReceiptState, Refusal
from amrita_fleet.protocols.providers.scripted import call, say
from amrita_fleet.protocols.restarts import RestartPolicy

from .blocker import actors_of
from .steady import event, kill, pid_of, steady, until

pytestmark = [pytest.mark.anyio, pytest.mark.ray, pytest.mark.slow, pytest.mark.usefixtures("ray_cluster")]

KEEPS = AmritaConfig(mail=MailConfig(on_mail="keep"))
READER = Agent(preset=steady(say("read"), say("read again")), config=KEEPS)
NEVER = RestartPolicy(intensity=0)


async def written(fleet: Fleet) -> Receipt:
    """Have bob and the user write to ana; gives the user's receipt. Whoever reads them is asked later."""
    await fleet.spawn(READER, ["ana"])
    model = steady(call("send_message", to="ana", body="from bob"), say("sent"), say("told"))
    (bob,) = await fleet.spawn(Agent(preset=model), ["bob"])
    assert (await bob.run("write")).text == "sent"
    await until(fleet, event("bob", "sent"))
    receipt = await fleet.send("ana", "from the user")
    assert (await fleet.receipt(receipt)).state is ReceiptState.ACCEPTED
    return receipt


async def told(fleet: Fleet) -> list[Notice]:
    """The dead letters up to bob's next run, which reads what he was told of them."""
    await until(fleet, lambda notice: notice.extra_type == "dead")
    async with asyncio.timeout(30):
        while not any(row.waiting for row in await fleet.statuses() if row.agent == "bob"):  # noqa: ASYNC110
            await asyncio.sleep(0.05)  # a note wakes nobody, and no notice tells of one that waits
    assert (await fleet.agent("bob").run("what became of it?")).text == "told"
    notices = await until(fleet, lambda notice: notice.extra_type == "consumed" and notice.agent == "bob")
    assert "your message" in notices[-1].text
    return [notice for notice in notices if notice.extra_type == "dead"]


@pytest.mark.parametrize("service", [False, True], ids=["owned", "service"])
async def test_mail_of_a_quarantined_agent_is_dead_and_stays_so_when_it_is_spawned_anew(
    ray_cluster: str, tmp_path: Path, service: bool
) -> None:
    fleet = Fleet(
        f"letters-{uuid4().hex[:6]}",
        address=ray_cluster,
        journal=tmp_path / "journal.sqlite",
        service=service,
        restarts=NEVER,
    )
    async with fleet:
        try:
            receipt = await written(fleet)
            os.kill(pid_of(fleet, "agent:ana"), signal.SIGKILL)
            await until(fleet, event("ana", "quarantined"))
            dead = await told(fleet)
            assert sorted(str(notice.data["sender"]) for notice in dead) == ["bob", "user"]
            assert [notice.data["refusal"] for notice in dead] == ["died", "died"]
            found = await fleet.receipt(receipt)
            assert (found.state, found.refusal) == (ReceiptState.DEAD, Refusal.DIED)
            with pytest.raises(ChannelClosed):
                await fleet.send("ana", "anybody there?")
            (ana,) = await fleet.spawn(READER, ["ana"])
            run = await ana.start("read")
            assert (await run.outcome()).text == "read"
            assert [notice async for notice in run if notice.extra_type == "consumed"] == []
            assert (await fleet.receipt(receipt)).state is ReceiptState.DEAD
        finally:
            if service:
                await fleet.end()
    assert actors_of(fleet) == []


async def test_without_a_journal_mail_is_lost_with_the_process_and_both_the_sender_and_the_receipt_say_so() -> None:
    async with Fleet() as fleet:
        receipt = await written(fleet)
        kill(fleet, "agent:ana")
        dead = await told(fleet)
        assert [(notice.data["sender"], notice.data["refusal"]) for notice in dead] == [("bob", "lost")]
        found = await fleet.receipt(receipt)
        assert (found.state, found.refusal) == (ReceiptState.DEAD, Refusal.LOST)
