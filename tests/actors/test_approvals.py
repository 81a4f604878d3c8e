"""Calls that wait for a person, where an agent's process does not answer."""

import asyncio
import os
import signal

import pytest

from amrita_fleet import Agent, Fleet, Notice, PeerUnreachable, Run, Tool, tool
from amrita_fleet.protocols.providers.script import call, say
from amrita_fleet.protocols.providers.scripted import scripted

pytestmark = [pytest.mark.anyio, pytest.mark.ray, pytest.mark.usefixtures("ray_cluster")]


def tools() -> tuple[Tool, Tool]:
    @tool
    async def process() -> int:
        """Its own number."""
        return os.getpid()

    @tool(approval=True)
    async def delete(path: str) -> str:
        """Delete a file."""
        return f"deleted {path}"

    return process, delete


async def first(run: Run, kind: str) -> Notice:
    async with asyncio.timeout(30):
        async for notice in run:
            if notice.extra_type == kind:
                return notice
    raise AssertionError


async def test_nobody_is_told_of_some_calls_as_if_they_were_all_and_those_known_can_be_answered() -> None:
    silent = Agent(preset=scripted(call("process"), say("done")), tools=tools())
    asking = Agent(preset=scripted(call("delete", path="x"), say("done")), tools=tools())
    async with Fleet() as fleet:
        (ana,) = await fleet.spawn(silent, ["ana"])
        (bob,) = await fleet.spawn(asking, ["bob"])
        run = await ana.start("go")
        pid = int((await first(run, "ended")).text.removeprefix("process: "))
        deleting = await bob.start("go")
        held = await first(deleting, "approval")
        os.kill(pid, signal.SIGSTOP)
        try:
            with pytest.raises(PeerUnreachable, match="which calls wait there") as error:
                await fleet.approvals.pending()
            assert error.value.agent == "ana"
            await fleet.approvals.allow(str(held.data["id"]))
            assert (await deleting.outcome()).text == "done"
        finally:
            os.kill(pid, signal.SIGCONT)
        async with asyncio.timeout(30):
            assert await fleet.approvals.pending() == ()
