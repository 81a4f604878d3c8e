"""A journal in SQLite does whatever the one in memory does, whatever it is asked in whatever order."""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from amrita_fleet.protocols.errors import FleetError
from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.journal.memory import MemoryJournal
from amrita_fleet.runtime.journal.rules import Retention
from amrita_fleet.runtime.ports import Journal

Ask = Callable[[Journal], Awaitable[object]]

MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""Where files cost no disk: what survives a loss of power is not looked at here."""

KEPT = Retention(age=10.0, size=4)

streams = st.sampled_from(["a", "a/b", "c"])
lives = st.integers(1, 3)
datas = st.sampled_from([b"", b"x", b"yy", b"\0zz"])


async def answer(ask: Ask, journal: Journal) -> object:
    """What a call returns, or its error's type and facts."""
    try:
        return await ask(journal)
    except FleetError as error:
        return type(error), vars(error)


def claiming(stream: str) -> Ask:
    return lambda journal: journal.claim(stream)


def opening(stream: str, life: int) -> Ask:
    return lambda journal: journal.open(stream, life)


def appending(stream: str, life: int, first: int, records: tuple[bytes, ...]) -> Ask:
    return lambda journal: journal.append(stream, life, first, records)


def summing_up(stream: str, life: int, number: int, record: bytes) -> Ask:
    return lambda journal: journal.append(stream, life, number, (record,), snapshot=True)


def reading(stream: str, after: int) -> Ask:
    return lambda journal: journal.read(stream, after)


def listing(prefix: str) -> Ask:
    return lambda journal: journal.streams(prefix)


def weighing(prefix: str) -> Ask:
    return lambda journal: journal.stored(prefix)


def dropping(stream: str) -> Ask:
    return lambda journal: journal.drop(stream)


def dropping_all(prefix: str, before: float | None) -> Ask:
    return lambda journal: journal.drop_all(prefix, before=before)


prefixes = st.sampled_from(["", "a", "a/", "c"])


firsts = st.integers(1, 8)
asks: st.SearchStrategy[Ask] = st.one_of(
    st.builds(claiming, streams),
    st.builds(opening, streams, lives),
    st.builds(appending, streams, lives, firsts, st.lists(datas, max_size=3).map(tuple)),
    st.builds(summing_up, streams, lives, firsts, datas),
    st.builds(reading, streams, st.integers(0, 8)),
    st.builds(listing, prefixes),
    st.builds(weighing, prefixes),
)


class TwoJournals(RuleBasedStateMachine):
    """Asks both the same."""

    def __init__(self) -> None:
        super().__init__()
        from amrita_fleet.runtime.journal.sql import SqlJournal

        self.make = SqlJournal
        self.loop = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory(dir=MEMORY)
        self.clock = VirtualClock()
        self.model = MemoryJournal(retention=KEPT, clock=self.clock)
        self.reopen()

    def reopen(self) -> None:
        file = Path(self.folder.name, "journal.sqlite")
        self.journals = [self.make(file, retention=KEPT, clock=self.clock) for _ in range(2)]

    def close(self) -> None:
        for journal in self.journals:
            self.loop.run(journal.aclose())

    async def both(self, asked: list[Ask]) -> None:
        """Ask one of ours everything at once, and the model one thing after the other."""
        found = await asyncio.gather(*(answer(ask, self.journals[0]) for ask in asked))
        assert found == [await answer(ask, self.model) for ask in asked]

    @rule(asked=st.lists(asks, min_size=1, max_size=5))
    def ask(self, asked: list[Ask]) -> None:
        self.loop.run(self.both(asked))

    @rule(
        stream=streams, life=lives, records=st.lists(datas, min_size=1, max_size=3).map(tuple), snapshot=st.booleans()
    )
    def go_on(self, stream: str, life: int, records: tuple[bytes, ...], *, snapshot: bool) -> None:
        """What a life does that knows where its stream ends."""
        self.loop.run(self.both([opening(stream, life)]))
        last = max((record.number for record in self.loop.run(self.model.read(stream))), default=0)
        if snapshot:
            self.loop.run(self.both([summing_up(stream, life, last + 1, records[0])]))
        else:
            self.loop.run(self.both([appending(stream, life, last + 1, records)]))

    @rule(stream=streams)
    def drop(self, stream: str) -> None:
        self.loop.run(self.both([dropping(stream)]))

    @rule(prefix=prefixes, age=st.none() | st.sampled_from([0.0, 1.0, 11.0]))
    def drop_all(self, prefix: str, age: float | None) -> None:
        before = None if age is None else self.clock.now() - age
        self.loop.run(self.both([dropping_all(prefix, before)]))

    @rule(seconds=st.sampled_from([1.0, 11.0]))
    def wait(self, seconds: float) -> None:
        self.loop.run(self.clock.advance(seconds))

    @rule()
    def turn_to_the_other(self) -> None:
        self.journals.reverse()

    @rule()
    def begin_anew(self) -> None:
        self.close()
        self.reopen()

    @invariant()
    def all_is_the_same(self) -> None:
        names = self.loop.run(self.model.streams())
        self.loop.run(self.both([listing(""), weighing(""), *(reading(name, 0) for name in names)]))

    def teardown(self) -> None:
        self.close()
        self.loop.close()
        self.folder.cleanup()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_sqlite_and_memory_give_the_same_answers() -> None:
    examples = 2 * settings().max_examples
    run_state_machine_as_test(TwoJournals, settings=settings(max_examples=examples, stateful_step_count=25))
