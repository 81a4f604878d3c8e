"""What `attach` shows of a fleet, and when it ends."""

import asyncio
import io
from dataclasses import replace

import pytest
from rich.console import Console

from amrita_fleet import Agent, Fleet
from amrita_fleet.protocols.checkin import RESTARTING, AgentStatus
from amrita_fleet.protocols.providers.scripted import say, scripted
from amrita_fleet.runtime.cli.attach import show
from amrita_fleet.runtime.local import LocalSystem

pytestmark = pytest.mark.anyio


def console() -> Console:
    return Console(file=io.StringIO(), width=120)


def printed(on: Console) -> str:
    assert isinstance(on.file, io.StringIO)
    return on.file.getvalue()


@pytest.fixture
def again(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Bob is being restarted, as agents are on Ray, until this is set."""
    restarted, statuses = asyncio.Event(), LocalSystem.statuses

    async def seen(system: LocalSystem) -> tuple[AgentStatus, ...]:
        away = "" if restarted.is_set() else "bob"
        return tuple(replace(row, phase=RESTARTING) if row.agent == away else row for row in await statuses(system))

    monkeypatch.setattr(LocalSystem, "statuses", seen)
    return restarted


async def test_it_ends_also_when_the_last_agent_comes_to_rest_without_any_news(
    monkeypatch: pytest.MonkeyPatch, again: asyncio.Event
) -> None:
    monkeypatch.setattr("amrita_fleet.runtime.cli.attach.LOOK_PAUSE", 0.01)
    screen = console()
    async with Fleet("t", system="local") as fleet, asyncio.timeout(10):
        ana, _ = await fleet.spawn(Agent(preset=scripted(say("hi"))), ["ana", "bob"])
        async for _notice in await ana.start("?"):
            pass
        showing = asyncio.create_task(show(fleet, screen, until_idle=True))
        await asyncio.wait({showing}, timeout=0.1)
        assert not showing.done()
        again.set()
        await showing
    assert printed(screen).rstrip().splitlines()[-1].split()[:2] == ["ana", "run.finished"]


async def test_it_ends_at_once_where_nobody_is_at_work_and_tells_the_last_news() -> None:
    screen = console()
    async with Fleet("t", system="local") as fleet, asyncio.timeout(10):
        (ana,) = await fleet.spawn(Agent(preset=scripted(say("hi"))), ["ana"])
        async for _notice in await ana.start("?"):
            pass
        await show(fleet, screen, until_idle=True)
    assert printed(screen).rstrip().splitlines()[-1].split()[:2] == ["ana", "run.finished"]


async def test_a_fleet_without_agents_is_shown_and_over() -> None:
    async with Fleet("t", system="local") as fleet, asyncio.timeout(10):
        await show(fleet, console(), until_idle=True)


async def test_without_an_end_it_goes_on_for_ever() -> None:
    async with Fleet("t", system="local") as fleet:
        await fleet.spawn(Agent(preset=scripted(say("hi"))), ["ana"])
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await show(fleet, console(), until_idle=False)
