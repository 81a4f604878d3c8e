"""What is particular to the journal in memory."""

import pytest

from amrita_fleet.runtime.journal.memory import MemoryJournal
from amrita_fleet.runtime.journal_errors import JournalUnavailable
from amrita_fleet.runtime.ports import Record


@pytest.mark.anyio
async def test_while_it_is_broken_every_call_says_so_and_changes_nothing() -> None:
    journal = MemoryJournal()
    await journal.open("s", 1)
    await journal.append("s", 1, 1, (b"a",))

    journal.broken = "the disk is full"
    for call in (
        journal.open("s", 2),
        journal.append("s", 1, 2, (b"b",)),
        journal.read("s"),
        journal.streams(),
        journal.drop("s"),
    ):
        with pytest.raises(JournalUnavailable, match=r"in memory cannot be used now: the disk is full\. ") as caught:
            await call
        assert caught.value.retryable

    journal.broken = ""
    await journal.append("s", 1, 2, (b"b",))
    await journal.aclose()
    assert await journal.open("s", 2) == (Record(1, 1, b"a"), Record(2, 1, b"b"))
