"""A local fleet and its journal: what another process goes on with, what happens while the journal is away."""

import asyncio

import pytest

from amrita_fleet import Agent, ChannelClosed, PeerUnreachable, Tool, tool
from amrita_fleet.protocols.ids import USER, AgentId
from amrita_fleet.protocols.mail import ReceiptState
from amrita_fleet.protocols.notices import Notice
from amrita_fleet.protocols.providers.script import Move, call, say
from amrita_fleet.protocols.providers.scripted import scripted
from amrita_fleet.runtime.clock import SystemClock, VirtualClock
from amrita_fleet.runtime.config import AmritaConfig, MailConfig
from amrita_fleet.runtime.journal.memory import MemoryJournal
from amrita_fleet.runtime.journal_errors import JournalUnavailable
from amrita_fleet.runtime.local import LocalSystem
from amrita_fleet.runtime.sender import Sender
from amrita_fleet.runtime.system import SpawnOrder

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

ANA = AgentId("ana")
KEEPS = AmritaConfig(mail=MailConfig(on_mail="keep"))


class Gate:
    """A tool that waits until the test lets it go on."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.go = asyncio.Event()

    @property
    def tool(self) -> Tool:
        @tool(replay="safe")
        async def hold() -> str:
            """Wait for the test."""
            self.begun.set()
            await self.go.wait()
            return "held"

        return hold


async def opened(journal: MemoryJournal) -> LocalSystem:
    """One process of the fleet."""
    system = LocalSystem("f", None, SystemClock(), journal)
    await system.open()
    return system


async def spawn(system: LocalSystem, *moves: Move, gate: Gate | None = None, config: AmritaConfig = KEEPS) -> None:
    tools = () if gate is None else (gate.tool,)
    agent = Agent(preset=scripted(*moves), tools=tools, config=config)
    await system.spawn((SpawnOrder(ANA, agent),), lambda _ready, _ordered: None)


async def letter(system: LocalSystem, body: str) -> str:
    """Send a message as a person does; gives its id."""
    sender = Sender(USER, await system.admit_user(), system.post, SystemClock())
    receipt = await sender.send(ANA, body)
    assert receipt.state is ReceiptState.ACCEPTED
    await sender.aclose()
    return receipt.id


async def finished(system: LocalSystem) -> list[Notice]:
    """The notices of runs that have ended."""
    return [each for each in await system.notices(0, 0) if (each.type, each.extra_type) == ("run", "finished")]


async def dead(system: LocalSystem) -> list[object]:
    """The dead letters that were told of."""
    return [each.data["id"] for each in await system.notices(0, 0) if (each.type, each.extra_type) == ("mail", "dead")]


# --- closed and opened again ------------------------------------------------------------------------------------------


async def test_what_a_closed_fleet_left_unfinished_goes_on_when_it_is_opened_again() -> None:
    journal, gate = MemoryJournal(), Gate()
    first = await opened(journal)
    await spawn(first, call("hold"), say("never"), gate=gate)
    run = await first.start(ANA, "One.", None)
    queued = await first.start(ANA, "Two.", None)
    await gate.begun.wait()
    message = await letter(first, "Hello.")
    waits = asyncio.ensure_future(first.outcome(ANA, run))
    await asyncio.sleep(0)
    await first.close()
    with pytest.raises(ChannelClosed, match="goes on when it is opened again"):
        await waits

    second = await opened(journal)
    gate.go.set()
    await spawn(second, say("one"), say("two"), gate=gate)

    assert (await second.outcome(ANA, run)).text == "one"
    assert (await second.outcome(ANA, queued)).text == "two"
    receipt = await second.post.receipt(ANA, message)  # type: ignore[arg-type]
    assert receipt is not None and receipt.state is ReceiptState.CONSUMED
    await second.close()
    assert [each.run for each in await finished(second)] == [run, queued]
    assert await dead(second) == []


async def test_what_a_stop_has_ended_stays_ended() -> None:
    journal, gate = MemoryJournal(), Gate()
    first = await opened(journal)
    await spawn(first, call("hold"), say("never"), gate=gate)
    run = await first.start(ANA, "One.", None)
    queued = await first.start(ANA, "Two.", None)
    await gate.begun.wait()
    message = await letter(first, "Hello.")
    await first.stop((ANA,), "enough")
    assert str(await first.outcome(ANA, queued)) == "stopped"
    await first.close()

    second = await opened(journal)
    assert await dead(second) == [message]
    await spawn(second, say("one"), say("two"), gate=gate, config=AmritaConfig())
    assert str(await second.outcome(ANA, run)) == "stopped"
    assert str(await second.outcome(ANA, queued)) == "stopped"
    receipt = await second.post.receipt(ANA, message)  # type: ignore[arg-type]
    assert receipt is not None and receipt.state is ReceiptState.DEAD
    await second.close()
    assert sorted(str(each.run) for each in await finished(second)) == sorted([run, queued])


async def test_a_process_that_another_one_has_followed_ends_nothing() -> None:
    journal, gate = MemoryJournal(), Gate()
    first = await opened(journal)
    await spawn(first, call("hold"), say("old"), gate=gate)
    run = await first.start(ANA, "Go.", None)
    await gate.begun.wait()
    old = asyncio.ensure_future(first.outcome(ANA, run))

    second = await opened(journal)
    await spawn(second, say("new"), gate=gate)
    gate.go.set()

    with pytest.raises(PeerUnreachable):
        await old
    assert (await second.outcome(ANA, run)).text == "new"
    await first.close()
    await second.close()


async def test_a_process_whose_accounts_another_one_has_taken_over_makes_no_model_call() -> None:
    journal = MemoryJournal()
    first = await opened(journal)
    await spawn(first, say("old"))
    second = await opened(journal)

    run = await first.start(ANA, "Go.", None)
    with pytest.raises(PeerUnreachable):
        await first.outcome(ANA, run)

    await spawn(second, say("new"))
    assert (await second.outcome(ANA, run)).text == "new"
    await first.close()
    await second.close()


async def test_each_process_sends_for_people_under_a_life_of_its_own() -> None:
    journal = MemoryJournal()
    first = await opened(journal)
    await first.admit_user()

    second = await opened(journal)  # the first is killed
    assert await second.admit_user() == 2
    await second.close()
    await first.close()


# --- while the journal is away ----------------------------------------------------------------------------------------


async def test_a_run_waits_for_the_journal_and_the_table_says_so() -> None:
    journal, clock = MemoryJournal(), VirtualClock(1_000.0)
    system = LocalSystem("f", None, clock, journal)
    await system.open()
    spawning = asyncio.ensure_future(spawn(system, call("list_peers"), say("done")))
    await clock.advance(1.0)
    await spawning
    starting = asyncio.ensure_future(system.start(ANA, "Go.", None))
    await asyncio.sleep(0)
    journal.broken = "the disk is full"
    await clock.advance(60.0)

    [row] = await system.statuses()
    assert "the disk is full" in row.note
    journal.broken = ""
    await clock.advance(5.0)
    run = await starting
    assert (await system.outcome(ANA, run)).text == "done"
    [row] = await system.statuses()
    assert row.note == ""
    closing = asyncio.ensure_future(system.close())
    await clock.advance(5.0)
    await closing


async def test_stop_and_close_do_not_wait_for_a_journal_that_stays_away(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("local.STOP_PATIENCE", "supervision.command_log.LAST_WORDS", "endings.LAST_WORDS"):
        monkeypatch.setattr(f"amrita_fleet.runtime.{module}", 0.01)
    journal, gate = MemoryJournal(), Gate()
    first = await opened(journal)
    await spawn(first, call("hold"), say("never"), gate=gate)
    run = await first.start(ANA, "One.", None)
    await gate.begun.wait()
    message = await letter(first, "Hello.")
    await first.admit_user()  # what was asked for so far is written
    journal.broken = "away"

    with pytest.raises(JournalUnavailable):
        await first.stop((ANA,), "enough")
    await first.close()

    journal.broken = ""
    gate.go.set()
    second = await opened(journal)
    await spawn(second, say("on"), gate=gate)
    assert (await second.outcome(ANA, run)).text == "on", "nobody has written that it was stopped"
    receipt = await second.post.receipt(ANA, message)  # type: ignore[arg-type]
    assert receipt is not None and receipt.state is ReceiptState.CONSUMED
    assert await dead(second) == []
    await second.close()
