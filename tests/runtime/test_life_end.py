"""How one life of an agent ends, without a journal: stopped, closed, overtaken, or by a bug."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from threading import Barrier, BrokenBarrierError
from typing import TypeVarTuple

import pytest

from amrita_fleet.protocols.ids import AgentId, Incarnation, RunId
from amrita_fleet.protocols.mail import Refusal
from amrita_fleet.protocols.notices import Notice
from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.config import MailConfig
from amrita_fleet.runtime.endings import Endings
from amrita_fleet.runtime.inbox import Inbox
from amrita_fleet.runtime.life_end import CLOSED, LifeEnd
from amrita_fleet.runtime.run_queue import RunQueue
from amrita_fleet.runtime.run_suspensions import RunSuspensions
from amrita_fleet.runtime.step.events import Asked
from amrita_fleet.runtime.step.rules import Rules
from amrita_fleet.runtime.step.state import AgentState
from amrita_fleet.runtime.work_loop import WorkLoop

pytestmark = pytest.mark.anyio

ANA, LIFE, RUN = AgentId("ana"), Incarnation(1), RunId("ana.1.1")

Ts = TypeVarTuple("Ts")


class Told(WorkLoop):
    """Keeps what it was asked to do soon."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[object, ...]] = []

    def soon(self, callback: Callable[[*Ts], object], *arguments: *Ts) -> None:
        self.asked.append(arguments)
        super().soon(callback, *arguments)


class Life:
    """One life with a run that waits for its turn."""

    def __init__(self) -> None:
        self.loop = Told()
        self.loop.bind()
        self.runs = RunQueue(ANA, LIFE)
        self.runs.put(Asked(RUN, "go", 60.0, ()))
        self.inbox = Inbox(ANA, MailConfig(), VirtualClock(), lambda: None)
        self.notices: list[Notice] = []
        self.superseded: list[str] = []
        state = AgentState.begin(ANA, Rules())
        self.end = LifeEnd(
            ANA,
            self.loop,
            self.inbox,
            self.runs,
            RunSuspensions(self.runs.lives),
            Endings(self.runs, None, lambda: state, self.notices.append),
            None,
            self.superseded.append,
        )

    async def reason(self) -> str:
        """Why its run has ended."""
        async with asyncio.timeout(10):
            return (await self.runs.outcome(RUN)).reason


async def test_the_first_reason_of_an_end_holds_and_its_run_has_it() -> None:
    life = Life()
    life.end.shut(Refusal.STOPPED, "enough")
    life.end.shut(Refusal.LIMIT, "spent")
    await life.end.close()
    assert (life.end.reason, await life.reason()) == ("enough", "enough")


async def test_a_life_that_is_closed_says_so() -> None:
    life = Life()
    await life.end.close()
    assert (life.end.reason, await life.reason()) == (CLOSED, CLOSED)


class Doubt(str):
    """No reason yet; who looks is held up until somebody else looks too, or nobody comes."""

    __slots__ = ()
    met = Barrier(2)

    def __bool__(self) -> bool:
        with suppress(BrokenBarrierError):
            self.met.wait(0.2)
        return False


async def test_of_two_threads_that_end_a_life_at_once_one_does_it() -> None:
    life = Life()
    life.end.reason = Doubt()
    await asyncio.gather(
        asyncio.to_thread(life.end.shut, Refusal.STOPPED, "enough"),
        asyncio.to_thread(life.end.shut, Refusal.LIMIT, "spent"),
    )
    assert {asked[-1] for asked in life.loop.asked} == {life.end.reason}
    assert await life.reason() == life.end.reason


async def test_a_life_that_is_overtaken_tells_its_process_and_ends_no_run() -> None:
    life = Life()
    life.end.overtaken(LIFE)
    assert life.superseded == ["the life 1 of ana is over, says the Supervisor"]
    assert life.runs.open == (RUN,)


async def test_a_driver_that_a_bug_ends_fails_its_run_and_says_so_loudly(caplog: pytest.LogCaptureFixture) -> None:
    async def drive() -> None:
        raise ValueError("no number")

    life = Life()
    driving = asyncio.ensure_future(drive())
    await asyncio.wait({driving})
    life.end.driver_ended(driving)
    assert await life.reason() == "ValueError: no number"
    assert "the driver of ana failed" in caplog.text
