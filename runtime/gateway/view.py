"""The gateway's own copy of a fleet, from which all who watch are fed: rows, accounts, and the last notices. Pure."""

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from ...protocols.checkin import AgentStatus
from ...protocols.ids import AgentId
from ...protocols.notices import Notice
from ..supervision.account import Account

__all__ = ("Gap", "NoticeRing", "Page", "Rows", "View")

KEPT = 10_000
"""Notices that are remembered: as many as the Supervisor remembers."""

CHARACTERS_KEPT = 8 * 2**20
"""Characters of their texts and facts: of more, the oldest are forgotten."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Notices that a reader can no longer be given: those numbered `first` to `last`, both included."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Page:
    """What a reader is given next.

    Attributes:
        gap: What it has missed before the first of these notices; None: nothing.
        notices: In order, with no number left out between them.
        after: What it says when it asks for the next page.
    """

    gap: Gap | None
    notices: tuple[Notice, ...]
    after: int


class NoticeRing:
    """The last notices, with their numbers. Where the source has forgotten some, they are missing here too.

    Attributes:
        last: Number of the newest notice; 0 before the first.
    """

    def __init__(self, kept: int = KEPT, characters: int = CHARACTERS_KEPT) -> None:
        """Begin with none.

        Args:
            kept: Notices that are remembered, at least one.
            characters: What these may have together; the newest is remembered in any case.
        """
        self._most = kept
        self._most_characters = characters
        self._characters = 0
        self._kept = deque[Notice]()
        self.last = 0

    def extend(self, notices: Iterable[Notice]) -> bool:
        """Take in further notices, in order; those that are here already are passed over. Gives whether one was new."""
        before = self.last
        for notice in notices:
            if notice.number > self.last:
                self.last = notice.number
                self._kept.append(notice)
                self._characters += characters_of(notice)
                self._forget()
        return self.last > before

    def _forget(self) -> None:
        while len(self._kept) > self._most or (len(self._kept) > 1 and self._characters > self._most_characters):
            self._characters -= characters_of(self._kept.popleft())

    def read(self, after: int, most: int) -> Page:
        """Up to `most` notices (at least 1) with numbers above `after`; below 0, `after` counts from the end.

        A reader that is ahead of the newest notice has read those of another fleet, and goes on with this one's next.
        """
        after = min(self.last, after if after >= 0 else max(0, self.last + after))
        begin = bisect_right(self._kept, after, key=lambda notice: notice.number)
        found: list[Notice] = []
        for notice in islice(self._kept, begin, begin + most):
            if found and notice.number != found[-1].number + 1:
                break
            found.append(notice)
        if not found:
            return Page(None, (), after)
        first = found[0].number
        return Page(Gap(after + 1, first - 1) if first > after + 1 else None, tuple(found), found[-1].number)


def characters_of(notice: Notice) -> int:
    """About what a notice takes."""
    return len(notice.text) + sum(len(fact) for fact in notice.data.values() if isinstance(fact, str))


class Rows:
    """The latest row of each agent, and in which version it changed.

    Attributes:
        version: Rises with each update that changed something; 0 before the first.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self.version = 0
        self._rows: dict[AgentId, AgentStatus] = {}
        self._changed: dict[AgentId, int] = {}  # in the order of the versions

    def update(self, rows: Iterable[AgentStatus]) -> bool:
        """Take in the rows of all agents; gives whether one is other than before. No agent is ever forgotten."""
        fresh = [row for row in rows if self._rows.get(row.agent) != row]
        if fresh:
            self.version += 1
        for row in fresh:
            self._rows[row.agent] = row
            self._changed.pop(row.agent, None)
            self._changed[row.agent] = self.version
        return bool(fresh)

    def all(self) -> tuple[AgentStatus, ...]:
        """The rows of all agents, in the order they came."""
        return tuple(self._rows.values())

    def find(self, agent: str) -> AgentStatus | None:
        """One agent's row."""
        return self._rows.get(AgentId(agent))

    def since(self, version: int) -> tuple[AgentStatus, ...]:
        """The rows that have changed after that version, each once and as it is now; after 0: all."""
        found: list[AgentStatus] = []
        for agent, changed in reversed(self._changed.items()):
            if changed <= version:
                break
            found.append(self._rows[agent])
        return tuple(reversed(found))


class View:
    """A fleet as the gateway has last seen it.

    Attributes:
        fleet: Its name.
        rows: Its agents.
        accounts: What was spent, against which limits.
        notices: What happened.
        version: Rises whenever rows or accounts are other than before.
    """

    def __init__(self, fleet: str) -> None:
        """Nothing is seen yet."""
        self.fleet = fleet
        self.rows = Rows()
        self.accounts: tuple[Account, ...] = ()
        self.notices = NoticeRing()
        self.version = 0

    def update(self, rows: Iterable[AgentStatus], accounts: tuple[Account, ...]) -> bool:
        """Take in what was read; gives whether it is other than before."""
        spent = self.accounts != accounts
        self.accounts = accounts
        changed = self.rows.update(rows) or spent
        self.version += changed
        return changed
