"""What every journal holds to: in memory, in SQLite, in PostgreSQL."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.journal.rules import NAME_LIMIT, NUMBER_LIMIT
from amrita_fleet.runtime.journal_errors import Fenced, JournalConflict
from amrita_fleet.runtime.ports import Journal, Record, Stored

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

Make = Callable[[], Journal]


def numbers(records: tuple[Record, ...]) -> list[int]:
    return [record.number for record in records]


async def test_records_come_back_as_they_were_written_and_in_order(make: Make) -> None:
    written = (bytes(range(256)), b"", "ä\n\0'".encode(), b"x" * 100_000)
    journal = make()

    assert await journal.open("f/agent/ana", 3) == ()
    await journal.append("f/agent/ana", 3, 1, written)
    await journal.append("f/agent/ana", 3, 5, (b"last",))

    expected = tuple(Record(number, 3, data) for number, data in enumerate((*written, b"last"), 1))
    for reader in (journal, make()):
        assert await reader.read("f/agent/ana") == expected
        assert await reader.read("f/agent/ana", 3) == expected[3:]
        assert await reader.read("f/agent/ana", 5) == ()
    assert await make().open("f/agent/ana", 4) == expected


async def test_what_is_there_already_is_not_added_again(journal: Journal) -> None:
    await journal.open("s", 1)
    await journal.append("s", 1, 1, (b"a", b"b"))

    await journal.append("s", 1, 1, (b"a", b"b"))
    await journal.append("s", 1, 2, (b"b", b"c"))
    await journal.append("s", 1, 1, (b"a",))
    await journal.append("s", 1, 4, ())

    assert [record.data for record in await journal.read("s")] == [b"a", b"b", b"c"]


async def test_a_later_life_may_say_again_what_an_earlier_one_said(journal: Journal) -> None:
    await journal.open("s", 1)
    await journal.append("s", 1, 1, (b"a",))
    await journal.open("s", 2)

    await journal.append("s", 2, 1, (b"a", b"b"))

    assert await journal.read("s") == (Record(1, 1, b"a"), Record(2, 2, b"b"))


@pytest.mark.parametrize(
    ("first", "records", "snapshot", "number"),
    [(2, (b"other",), False, 2), (1, (b"a", b"b", b"other", b"d"), False, 3), (2, (b"b",), True, 2)],
    ids=["other bytes", "after some that are the same", "a snapshot where none was"],
)
async def test_something_else_under_a_number_that_is_taken_is_a_conflict(
    journal: Journal, first: int, records: tuple[bytes, ...], snapshot: bool, number: int
) -> None:
    await journal.open("s", 1)
    await journal.append("s", 1, 1, (b"a", b"b", b"c"))

    with pytest.raises(JournalConflict) as caught:
        await journal.append("s", 1, first, records, snapshot=snapshot)

    assert (caught.value.stream, caught.value.number, caught.value.last) == ("s", number, 3)
    assert [record.data for record in await journal.read("s")] == [b"a", b"b", b"c"]


async def test_a_gap_is_refused(journal: Journal) -> None:
    await journal.open("s", 1)
    await journal.append("s", 1, 1, (b"a",))

    with pytest.raises(JournalConflict, match="ends at 1, so 3 is early"):
        await journal.append("s", 1, 3, (b"c",))

    assert numbers(await journal.read("s")) == [1]


async def test_from_the_moment_a_newer_life_has_a_stream_older_ones_are_refused(make: Make) -> None:
    old, new = make(), make()
    await old.open("s", 1)
    await old.append("s", 1, 1, (b"a",))
    await new.open("s", 3)

    for refused in (old.append("s", 1, 2, (b"b",)), old.append("s", 1, 1, (b"a",)), old.open("s", 2), new.open("s", 2)):
        with pytest.raises(Fenced) as caught:
            await refused
        assert (caught.value.stream, caught.value.newest) == ("s", 3)

    assert numbers(await new.open("s", 3)) == [1]
    await new.append("s", 3, 2, (b"c",))
    assert await old.read("s") == (Record(1, 1, b"a"), Record(2, 3, b"c"))


async def test_a_life_that_never_opened_a_stream_cannot_write_to_it(journal: Journal) -> None:
    await journal.open("s", 1)

    for stream in ("s", "never"):
        with pytest.raises(Fenced, match="open it first"):
            await journal.append(stream, 2, 1, (b"a",))

    assert await journal.streams() == ("s",)


async def test_what_an_older_life_is_writing_is_read_by_the_newer_or_refused(make: Make) -> None:
    old, new = make(), make()
    acknowledged: list[int] = []
    begun = asyncio.Event()

    async def write() -> None:
        for number in range(1, 10_000):
            await old.append("s", 1, number, (b"%d" % number,))
            acknowledged.append(number)
            begun.set()
            await asyncio.sleep(0)

    await old.open("s", 1)
    writing = asyncio.create_task(write())
    await begun.wait()
    found = await new.open("s", 2)
    with pytest.raises(Fenced):
        await writing

    assert numbers(found)[: len(acknowledged)] == acknowledged
    await new.append("s", 2, len(found) + 1, (b"new",))
    assert await new.read("s") == (*found, Record(len(found) + 1, 2, b"new"))


async def test_of_two_lives_that_open_a_new_stream_at_once_the_newer_has_it(make: Make) -> None:
    old, new = make(), make()
    streams = [f"s{number}" for number in range(50)]

    async def claim(journal: Journal, life: int) -> None:
        for stream in streams:
            await asyncio.gather(journal.open(stream, life), return_exceptions=True)

    await asyncio.gather(claim(old, 1), claim(new, 2))

    for stream in streams:
        await new.append(stream, 2, 1, (b"new",))
        with pytest.raises(Fenced):
            await old.append(stream, 1, 1, (b"old",))


async def test_a_claim_gives_a_life_newer_than_all_before(make: Make) -> None:
    old, new = make(), make()
    assert await old.claim("s") == 1
    assert await old.open("s", 1) == ()
    await old.append("s", 1, 1, (b"a",))

    assert await new.claim("s") == 2, "though its owner has written under 1 only"
    for refused in (old.append("s", 1, 2, (b"b",)), old.open("s", 1), new.append("s", 3, 2, (b"b",))):
        with pytest.raises(Fenced) as caught:
            await refused
        assert caught.value.newest == 2
    assert await new.open("s", 2) == (Record(1, 1, b"a"),)
    await new.append("s", 2, 2, (b"b",))


async def test_a_claim_knows_lives_that_have_written_nothing(make: Make) -> None:
    await make().open("s", 7)

    assert await make().claim("s") == 8
    assert await make().claim("s") == 9


async def test_a_stream_that_is_only_claimed_is_there_until_it_is_dropped(journal: Journal) -> None:
    await journal.claim("s")
    assert (await journal.streams(), await journal.read("s")) == (("s",), ())

    await journal.drop("s")
    assert await journal.claim("s") == 1


async def test_who_claim_at_once_get_different_lives_and_the_highest_may_write(make: Make) -> None:
    claims = await asyncio.gather(*(journal.claim("s") for journal in (make(), make()) for _ in range(25)))

    assert sorted(claims) == list(range(1, 51))
    journal = make()
    for life in claims:
        if life < 50:
            with pytest.raises(Fenced):
                await journal.append("s", life, 1, (b"a",))
    await journal.append("s", 50, 1, (b"a",))


async def test_a_claim_after_the_last_life_there_can_be_concerns_nobody_else(journal: Journal) -> None:
    await journal.open("s", NUMBER_LIMIT - 1)

    refused, claimed = await asyncio.gather(journal.claim("s"), journal.claim("other"), return_exceptions=True)

    assert isinstance(refused, ValueError)
    assert claimed == 1
    await journal.append("s", NUMBER_LIMIT - 1, 1, (b"a",))


async def test_a_stream_is_read_from_its_newest_snapshot_on(journal: Journal) -> None:
    await journal.open("s", 1)
    await journal.append("s", 1, 1, (b"a", b"b"))
    await journal.append("s", 1, 3, (b"a and b",), snapshot=True)
    await journal.append("s", 1, 3, (b"a and b",), snapshot=True)
    await journal.append("s", 1, 4, (b"c",))
    await journal.append("s", 1, 5, (b"all",), snapshot=True)
    await journal.append("s", 1, 6, (b"d",))

    assert await journal.open("s", 2) == (Record(5, 1, b"all", snapshot=True), Record(6, 1, b"d"))
    assert numbers(await journal.read("s")) == [1, 2, 3, 4, 5, 6]


async def test_before_a_snapshot_only_so_many_bytes_are_kept(journal: Journal) -> None:
    await journal.open("s", 1)
    await journal.append("s", 1, 1, tuple(b"%010d" % number for number in range(1, 6)))
    await journal.append("s", 1, 6, (b"snapshot",), snapshot=True)

    assert numbers(await journal.read("s")) == [3, 4, 5, 6]
    await journal.append("s", 1, 2, (b"nobody can tell", b"%010d" % 3))
    with pytest.raises(JournalConflict):
        await journal.append("s", 1, 2, (b"nobody can tell", b"other"))
    assert numbers(await journal.read("s")) == [3, 4, 5, 6]


async def test_before_a_snapshot_records_are_kept_for_so_long(journal: Journal, clock: VirtualClock) -> None:
    for stream in ("s", "other"):
        await journal.open(stream, 1)
        await journal.append(stream, 1, 1, (b"a", b"b"))
    await clock.advance(60)
    await journal.append("s", 1, 3, (b"c",))
    await clock.advance(60)
    await journal.append("s", 1, 4, (b"snapshot",), snapshot=True)
    await journal.append("s", 1, 5, (b"d",))

    assert numbers(await journal.read("s")) == [3, 4, 5]
    assert numbers(await journal.read("other")) == [1, 2]


async def test_streams_are_found_by_how_their_names_begin(journal: Journal) -> None:
    names = ["f/mail/b", "f/agent/ana", "F/agent/ana", "f_agent/x", "f/mail/ä", "f/mail/B"]
    for name in names:
        await journal.open(name, 1)

    assert await journal.streams() == tuple(sorted(names))
    assert await journal.streams("f/mail/") == ("f/mail/B", "f/mail/b", "f/mail/ä")
    assert await journal.streams("f_") == ("f_agent/x",)
    assert await journal.streams("%") == await journal.streams("f\0") == ()


async def test_a_stream_that_was_dropped_is_gone_and_nobodys(journal: Journal) -> None:
    for stream in ("s", "other"):
        await journal.open(stream, 5)
        await journal.append(stream, 5, 1, (b"a",))

    await journal.drop("s")
    await journal.drop("s")

    assert await journal.streams() == ("other",)
    assert await journal.read("s") == ()
    with pytest.raises(Fenced):
        await journal.append("s", 5, 2, (b"b",))
    assert await journal.open("s", 1) == ()
    await journal.append("s", 1, 1, (b"new",))
    assert await journal.read("other") == (Record(1, 5, b"a"),)


async def test_a_stream_is_weighed_and_knows_when_it_was_last_opened_or_written_to(
    make: Make, clock: VirtualClock
) -> None:
    journal = make()
    for stream in ("f/b", "f/a", "g/a"):
        await journal.open(stream, 1)
    await clock.advance(10)
    await journal.append("f/a", 1, 1, (b"xyz", b""))
    await clock.advance(10)
    await journal.append("f/a", 1, 1, (b"xyz", b""))
    await journal.read("f/b")
    await journal.open("g/a", 1)

    for reader in (journal, make()):
        assert await reader.stored() == (Stored("f/a", 2, 3, 10.0), Stored("f/b", 0, 0, 0.0), Stored("g/a", 0, 0, 20.0))
        assert await reader.stored("f/") == (Stored("f/a", 2, 3, 10.0), Stored("f/b", 0, 0, 0.0))
        assert await reader.stored("f\0") == await reader.stored("h") == ()


async def test_streams_are_dropped_together_or_not_at_all(make: Make, clock: VirtualClock) -> None:
    journal, other = make(), make()
    for stream in ("f/a", "f/b", "f_c", "g/a"):
        await journal.open(stream, 3)
        await journal.append(stream, 3, 1, (b"x",))
    await clock.advance(10)
    await other.append("f/b", 3, 2, (b"y",))

    assert await journal.drop_all("f/", before=10.0) == 0
    assert await journal.streams() == ("f/a", "f/b", "f_c", "g/a")
    assert await journal.drop_all("f/", before=10.1) == 2
    assert await journal.drop_all("f/", before=10.1) == await journal.drop_all("f/") == 0
    assert await other.streams() == ("f_c", "g/a")
    with pytest.raises(Fenced):
        await other.append("f/b", 3, 3, (b"z",))
    assert await other.open("f/b", 1) == ()
    assert await journal.drop_all("") == 3
    assert await journal.streams() == ()


async def test_streams_that_are_opened_while_they_are_dropped_are_whole_or_new(make: Make) -> None:
    journal, other = make(), make()
    streams = [f"f/{number}" for number in range(20)]
    for stream in streams:
        await journal.open(stream, 1)
        await journal.append(stream, 1, 1, (b"old",))

    dropped, *found = await asyncio.gather(journal.drop_all("f/"), *(other.open(stream, 2) for stream in streams))

    assert dropped == 20
    for stream, records in zip(streams, found, strict=True):
        assert records in ((), (Record(1, 1, b"old"),))
        if stream in await other.streams(stream):
            assert records == await other.read(stream) == ()
            await other.append(stream, 2, 1, (b"new",))


async def test_many_write_at_once_each_to_its_own_stream(make: Make) -> None:
    journals = [make(), make()]

    async def live(name: str, journal: Journal) -> None:
        await journal.open(name, 1)
        for number in range(1, 11):
            await journal.append(name, 1, number, (name.encode(),))

    names = [f"s{number}" for number in range(40)]
    await asyncio.gather(*(live(name, journals[at % 2]) for at, name in enumerate(names)))

    for name in names:
        assert await journals[0].read(name) == tuple(Record(number, 1, name.encode()) for number in range(1, 11))


async def test_what_is_asked_at_once_in_one_order_is_done_in_that_order(journal: Journal) -> None:
    await journal.open("s", 1)

    *_, first, _, second = await asyncio.gather(
        *(journal.append("s", 1, number, (b"%d" % number,)) for number in range(1, 51)),
        journal.read("s"),
        journal.append("s", 1, 51, (b"51",)),
        journal.read("s"),
    )

    assert first is not None and numbers(first) == list(range(1, 51))
    assert second is not None and numbers(second) == list(range(1, 52))


async def test_a_refusal_concerns_nobody_else(journal: Journal) -> None:
    for stream in ("a", "b", "c"):
        await journal.open(stream, 2)

    answers = await asyncio.gather(
        journal.append("a", 2, 1, (b"a",)),
        journal.append("b", 1, 1, (b"fenced",)),
        journal.append("c", 2, 7, (b"early",)),
        journal.append("a", 2, 1, (b"other",)),
        journal.append("b", 2, 1, (b"b",)),
        return_exceptions=True,
    )

    assert [type(answer).__name__ for answer in answers] == [
        "NoneType",
        "Fenced",
        "JournalConflict",
        "JournalConflict",
        "NoneType",
    ]
    assert [len(await journal.read(stream)) for stream in ("a", "b", "c")] == [1, 1, 0]


IMPOSSIBLE: dict[str, Callable[[Journal], Awaitable[object]]] = {
    "no name": lambda journal: journal.open("", 1),
    "a name with a line end": lambda journal: journal.read("a\nb"),
    "half a character": lambda journal: journal.drop("\ud800"),
    "a name that is too long": lambda journal: journal.append("x" * (NAME_LIMIT + 1), 1, 1, (b"a",)),
    "a claim of no name": lambda journal: journal.claim(""),
    "life 0": lambda journal: journal.open("s", 0),
    "record 0": lambda journal: journal.append("s", 1, 0, (b"a",)),
    "a number that is too high": lambda journal: journal.append("s", 1, NUMBER_LIMIT - 1, (b"a",)),
    "a life that is too high": lambda journal: journal.append("s", NUMBER_LIMIT, 1, (b"a",)),
    "after less than nothing": lambda journal: journal.read("s", -1),
    "two snapshots at once": lambda journal: journal.append("s", 1, 1, (b"a", b"b"), snapshot=True),
}


@pytest.mark.parametrize("ask", IMPOSSIBLE.values(), ids=IMPOSSIBLE)
async def test_what_can_never_be_is_a_mistake_of_the_callers(
    journal: Journal, ask: Callable[[Journal], Awaitable[object]]
) -> None:
    await journal.open("s", 1)

    with pytest.raises(ValueError, match=r"stream|number|snapshot"):
        await ask(journal)

    assert await journal.streams() == ("s",)
    assert await journal.read("s") == ()


async def test_a_name_may_be_as_long_as_it_may(journal: Journal) -> None:
    name = "𝄞" * NAME_LIMIT
    await journal.open(name, NUMBER_LIMIT - 1)
    await journal.append(name, NUMBER_LIMIT - 1, 1, (b"a",))

    assert await journal.streams("𝄞") == (name,)
    assert await journal.read(name) == (Record(1, NUMBER_LIMIT - 1, b"a"),)
