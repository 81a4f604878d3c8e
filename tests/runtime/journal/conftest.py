"""The journals that are held to the same contract."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.journal.memory import MemoryJournal
from amrita_fleet.runtime.journal.rules import Retention
from amrita_fleet.runtime.ports import Journal

from .server import Server


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


Make = Callable[[], Journal]
"""Opens the journal: again and again the same one, as several processes would."""

KEPT = Retention(age=100.0, size=30)


@pytest.fixture(
    params=["memory", pytest.param("sqlite", marks=pytest.mark.slow), pytest.param("postgres", marks=pytest.mark.slow)]
)
async def make(request: pytest.FixtureRequest, tmp_path: Path, clock: VirtualClock) -> AsyncIterator[Make]:
    """Each kind of journal. They keep what is older than a snapshot for 100 seconds, and 30 bytes of it."""
    opened: list[Journal] = []
    if request.param == "memory":
        opened.append(MemoryJournal(retention=KEPT, clock=clock))
        yield lambda: opened[0]
        return
    if request.param == "sqlite":
        url = str(tmp_path / "journal.sqlite")
    else:
        server: Server = request.getfixturevalue("server")
        url = server.url(request.getfixturevalue("schema"))

    from amrita_fleet.runtime.journal.sql import SqlJournal  # the fast tests do without

    def opener() -> Journal:
        opened.append(SqlJournal(url, retention=KEPT, clock=clock))
        return opened[-1]

    yield opener
    for journal in opened:
        await journal.aclose()


@pytest.fixture
def journal(make: Make) -> Journal:
    return make()
