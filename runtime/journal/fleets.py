"""The fleets that a journal holds: which there are, which of them are finished business, and how one is dropped.

A fleet's streams begin with its name and a slash; no fleet's name has one. Whoever closes a fleet whose runs have all
ended may mark it so, by opening a stream that nothing is ever written to. The mark holds as long as no other stream of
the fleet was opened or written to since.
"""

from itertools import groupby
from typing import NamedTuple

from ...protocols.ids import AgentId
from ..ports import Journal, Stored

__all__ = ("KeptFleet", "drop_fleet", "fleet_of", "fleets_of", "mark_ended")

AGENT = "/agent/"
MARK = "/ended"


class KeptFleet(NamedTuple):
    """What a journal holds of one fleet.

    Attributes:
        name: The fleet's name.
        agents: Those that have lived, by name.
        streams: How many streams it has.
        size: Bytes of their records.
        written: Unix seconds when one of them was last opened or written to.
        ended: It was closed in good order when all its runs had ended, and was not opened since.
    """

    name: str
    agents: tuple[AgentId, ...]
    streams: int
    size: int
    written: float
    ended: bool


async def fleets_of(journal: Journal) -> tuple[KeptFleet, ...]:
    """All fleets, by name.

    Raises:
        JournalUnavailable: It cannot be asked now.
        JournalInvalid: This is no journal, or not one for us.
    """
    stored = sorted(await journal.stored(), key=name_of)
    return tuple([kept(name, tuple(streams)) for name, streams in groupby(stored, name_of)])


async def fleet_of(journal: Journal, name: str) -> KeptFleet | None:
    """One fleet; None where nothing is known of it. Raises what `fleets_of` raises."""
    streams = await journal.stored(f"{name}/")
    return kept(name, streams) if streams else None


async def mark_ended(journal: Journal, name: str) -> None:
    """Note that all runs of a fleet, which is closed, have ended. Raises what `Journal.open` raises."""
    await journal.open(f"{name}{MARK}", 1)


async def drop_fleet(journal: Journal, name: str, *, before: float | None = None) -> bool:
    """Forget a fleet, all of it or nothing; a process that goes on with it may write there no more.

    Args:
        journal: Where it is.
        name: Its name.
        before: Unix seconds: only if nothing of it was opened or written to since then. None: whenever that was.

    Returns:
        Whether it was there and is forgotten.

    Raises:
        JournalUnavailable: It cannot be asked now; whether it was dropped is unknown.
        JournalInvalid: This is no journal, or not one for us.
    """
    return await journal.drop_all(f"{name}/", before=before) > 0


def name_of(stored: Stored) -> str:
    """The fleet whose stream it is."""
    return stored.stream.partition("/")[0]


def kept(name: str, streams: tuple[Stored, ...]) -> KeptFleet:
    """What the streams of a fleet come to."""
    written = max(each.written for each in streams)
    marks = [each.written for each in streams if each.stream == f"{name}{MARK}"]
    begin = f"{name}{AGENT}"
    agents = tuple([AgentId(each.stream.removeprefix(begin)) for each in streams if each.stream.startswith(begin)])
    own = len(streams) - len(marks)
    return KeptFleet(name, agents, own, sum(each.size for each in streams), written, marks == [written])
