"""The runtime's own mail."""

import asyncio
import logging

import pytest

from amrita_fleet.protocols.ids import AgentId, MessageId
from amrita_fleet.protocols.mail import Receipt
from amrita_fleet.runtime.clock import SystemClock
from amrita_fleet.runtime.notes import NotePoster

pytestmark = pytest.mark.anyio


class BrokenPost:
    """A post office with a bug."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    async def deliver(self, recipient: AgentId, batch: bytes) -> bytes:
        self.asked.set()
        raise ZeroDivisionError(f"{recipient} has no {len(batch)} bytes")

    async def receipt(self, recipient: AgentId, message: MessageId) -> Receipt | None:
        raise NotImplementedError


@pytest.mark.parametrize("text", ["hello", "half a \ud800 pair"])
async def test_a_note_that_is_lost_is_logged_with_its_error(text: str, caplog: pytest.LogCaptureFixture) -> None:
    logged = asyncio.Event()

    class Bell(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.exc_info:
                logged.set()

    bell = Bell()
    logging.getLogger("amrita_fleet.runtime.notes").addHandler(bell)
    poster = NotePoster(BrokenPost(), SystemClock())
    poster(AgentId("ana"), text)
    async with asyncio.timeout(10):
        await logged.wait()
    logging.getLogger("amrita_fleet.runtime.notes").removeHandler(bell)
    await poster.aclose()
    assert [record.getMessage() for record in caplog.records] == ["a note was lost"]
