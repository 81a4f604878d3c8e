"""Additions to a journal over a connection of their own, from processes of its machine."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.protocols.codec import encode
from amrita_fleet.runtime.journal.door import ANSWER, HEAD, KEY, LARGEST, MOST_LINES, Addition, Address, JournalDoor
from amrita_fleet.runtime.journal.line import JournalLine
from amrita_fleet.runtime.journal.memory import MemoryJournal
from amrita_fleet.runtime.ports import Record

pytestmark = pytest.mark.anyio

STREAM = "f/mail/ana"


def addition(first: int, *records: bytes, incarnation: int = 1) -> bytes:
    """What is asked for over a line."""
    return encode(Addition(STREAM, incarnation, first, records, snapshot=False))


@pytest.fixture
async def door() -> AsyncIterator[JournalDoor]:
    """The door of a journal in memory, which ana's first life has opened."""
    journal = MemoryJournal()
    await journal.open(STREAM, 1)
    made = JournalDoor(journal)
    await made.open()
    yield made
    await made.aclose()


async def test_what_a_line_was_told_is_written_is_in_the_journal(door: JournalDoor) -> None:
    line = await JournalLine.open(door.address)
    assert await line.add(addition(1, b"one", b"two"))
    assert await line.add(addition(3, b"x" * 300_000))
    assert await door.journal.read(STREAM) == (
        Record(1, 1, b"one"),
        Record(2, 1, b"two"),
        Record(3, 1, b"x" * 300_000),
    )
    line.close()


async def test_additions_of_many_streams_share_a_line(door: JournalDoor) -> None:
    line = await JournalLine.open(door.address)
    names = [f"f/mail/{number}" for number in range(100)]
    for name in names:
        await door.journal.open(name, 1)
    asked = [line.add(encode(Addition(name, 1, 1, (name.encode(),), snapshot=False))) for name in names]
    assert await asyncio.gather(*asked) == [True] * len(names)
    for name in names:
        assert await door.journal.read(name) == (Record(1, 1, name.encode()),)
    line.close()


@pytest.mark.parametrize(
    "refused", [addition(7, b"early"), addition(1, b"old", incarnation=2), b"", b"\xffnothing of ours"]
)
async def test_what_the_journal_refuses_is_not_written_and_the_line_goes_on(door: JournalDoor, refused: bytes) -> None:
    line = await JournalLine.open(door.address)
    assert not await line.add(refused)
    assert await door.journal.read(STREAM) == ()
    assert await line.add(addition(1, b"one"))
    line.close()


async def test_who_has_another_key_adds_nothing(door: JournalDoor) -> None:
    line = await JournalLine.open(Address(door.address.port, b"?" * KEY))
    assert not await line.add(addition(1, b"one"))
    assert await door.journal.read(STREAM) == ()


async def test_who_says_nothing_that_is_a_length_is_sent_away(door: JournalDoor) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", door.address.port)
    writer.write(door.address.key + HEAD.pack(LARGEST + 1, 1))
    with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
        await reader.readexactly(1)
    writer.close()


async def test_an_addition_that_is_too_large_for_a_line_goes_over_none(door: JournalDoor) -> None:
    line = await JournalLine.open(door.address)
    assert not await line.add(b"x" * (LARGEST + 1))
    assert await line.add(addition(1, b"one"))
    line.close()


async def test_a_line_that_broke_says_so_to_those_who_wait_and_to_all_after(door: JournalDoor) -> None:
    silent = asyncio.Event()
    server = await asyncio.start_server(lambda _reader, writer: hang_up(writer, silent), "127.0.0.1", 0)
    line = await JournalLine.open(Address(server.sockets[0].getsockname()[1], door.address.key))
    asked = asyncio.create_task(line.add(addition(1, b"one")))
    await asyncio.sleep(0)
    silent.set()
    assert not await asked
    assert not await line.add(addition(1, b"one"))
    server.close()


async def hang_up(writer: asyncio.StreamWriter, when: asyncio.Event) -> None:
    """Answer nothing, and hang up in time."""
    await when.wait()
    writer.transport.abort()


async def test_a_caller_that_is_cancelled_takes_nothing_back_and_no_other_ones_answer(door: JournalDoor) -> None:
    line = await JournalLine.open(door.address)
    first = asyncio.create_task(line.add(addition(1, b"one")))
    await asyncio.sleep(0)
    first.cancel()
    assert await line.add(addition(2, b"two"))
    assert [record.data for record in await door.journal.read(STREAM)] == [b"one", b"two"]
    line.close()


async def test_beyond_so_many_lines_the_next_one_is_sent_away_and_the_others_stay(door: JournalDoor) -> None:
    lines = [await JournalLine.open(door.address) for _ in range(MOST_LINES)]
    assert await lines[-1].add(addition(1, b"one"))  # all before it have come in
    late = await JournalLine.open(door.address)
    assert not await late.add(addition(2, b"two"))
    assert await lines[0].add(addition(2, b"two"))
    for line in lines:
        line.close()


async def test_a_door_that_closes_answers_what_was_asked(door: JournalDoor) -> None:
    line = await JournalLine.open(door.address)
    assert await line.add(addition(1, b"one"))
    await door.aclose()
    assert not await line.add(addition(2, b"two"))
    with pytest.raises(ConnectionRefusedError):
        await JournalLine.open(door.address)


@given(st.lists(st.binary(max_size=40), min_size=1, max_size=20), st.sets(st.integers(1, 2000), max_size=12))
async def test_however_the_bytes_are_cut_on_their_way_each_addition_is_answered_once(
    bodies: list[bytes], places: set[int]
) -> None:
    journal = MemoryJournal()
    await journal.open(STREAM, 1)
    door = JournalDoor(journal)
    await door.open()
    asked = [addition(number, body) for number, body in enumerate(bodies, 1)]
    sent = door.address.key + b"".join(HEAD.pack(len(one), number) + one for number, one in enumerate(asked))
    cuts = sorted(place for place in places if place < len(sent))
    reader, writer = await asyncio.open_connection("127.0.0.1", door.address.port)
    for start, end in zip([0, *cuts], [*cuts, len(sent)], strict=True):
        writer.write(sent[start:end])
        await asyncio.sleep(0)
    answers = [ANSWER.unpack(await reader.readexactly(ANSWER.size)) for _ in asked]
    writer.close()
    await writer.wait_closed()
    await door.aclose()
    assert sorted(answers) == [(number, True) for number in range(len(asked))]
    assert [record.data for record in await journal.read(STREAM)] == bodies
