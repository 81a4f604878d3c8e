"""Keeps a fleet's metrics up to date from what its Supervisor knows; nobody else has to do anything for them."""

import logging
from collections import Counter
from collections.abc import Mapping
from itertools import count
from math import inf
from typing import Protocol

from ...protocols.checkin import AgentStatus
from ...protocols.limits import UNITS, Unit, count_of
from ...protocols.notices import Notice
from ..ports import Clock
from ..supervision.account import Account, Level
from ..supervision.feed import NoticeFeed
from . import catalogue
from .catalogue import Metric
from .meter import Meter
from .tally import NO_LABELS, NoticeTally

__all__ = ("Books", "MetricsRecorder")

log = logging.getLogger(__name__)

PAUSE = 0.25
"""Seconds between two reads of the notices: a feed remembers more than come in that time."""

LOOKS = 8
"""Reads until rows and accounts are looked at again. Ray hands values on every few seconds itself."""

MOST = 1000
"""Notices that are read at once."""


class Books(Protocol):
    """What a Supervisor knows, as it is now."""

    @property
    def feed(self) -> NoticeFeed:
        """The fleet's notices."""
        ...

    def statuses(self) -> tuple[AgentStatus, ...]:
        """The rows of all agents."""
        ...

    def accounts(self) -> tuple[Account, ...]:
        """All accounts, the fleet's first."""
        ...


class MetricsRecorder:
    """Counts notices as they come, and looks at the rest every few seconds.

    What happened before it was made counts for nothing: another process has counted it.
    """

    def __init__(self, books: Books, meter: Meter, clock: Clock) -> None:
        """Begin behind the newest notice."""
        self._books = books
        self._meter = meter
        self._clock = clock
        self._tally = NoticeTally()
        self._shown: dict[Metric, set[str]] = {}
        self._limited: set[Unit] = set()
        past = books.feed.state()
        self._after = past.last
        for notice in past.kept:  # for the age of the mail that waits
            for _ in self._tally.read(notice):
                pass

    async def record(self) -> None:
        """Record until cancelled."""
        for read in count():
            self.read()
            if read % LOOKS == 0:
                self.look()
            await self._clock.sleep(PAUSE)

    def read(self) -> None:
        """Count the notices that are new."""
        while notices := self._books.feed.read(self._after, MOST):
            if missed := notices[0].number - self._after - 1:
                log.warning("%d notices were forgotten before they were counted", missed)
            self._count(notices)

    def _count(self, notices: tuple[Notice, ...]) -> None:
        for notice in notices:
            for metric, labels, value in self._tally.read(notice):
                if metric.kind is catalogue.Kind.COUNTER:
                    self._meter.add(metric, labels, value)
                else:
                    self._meter.observe(metric, labels, value)
            self._after = notice.number

    def look(self) -> None:
        """Set what is as it is now."""
        rows = self._books.statuses()
        self._gauge(catalogue.AGENTS, "state", Counter(row.phase for row in rows))
        self._meter.set(catalogue.MAIL_WAITING, NO_LABELS, sum(row.waiting for row in rows))
        sent = self._tally.oldest()
        age = 0.0 if sent is None else max(0.0, self._clock.now() - sent)
        self._meter.set(catalogue.MAIL_OLDEST_SECONDS, NO_LABELS, age)
        for account in self._books.accounts():
            if account.level is Level.FLEET:
                self._account(account)

    def _account(self, fleet: Account) -> None:
        spent, reserved = fleet.spent, fleet.reserved
        for metric, amount in ((catalogue.SPENT, spent), (catalogue.RESERVED, reserved)):
            for unit in UNITS:
                self._meter.set(metric, {"unit": unit.value}, count_of(amount, unit))
        for unit in Unit:
            most = None if fleet.limit is None else getattr(fleet.limit, unit.value)
            if most is not None:
                self._limited.add(unit)
            if unit in self._limited:  # of one that was lifted, Ray would keep the last value
                self._meter.set(catalogue.LIMIT, {"unit": unit.value}, inf if most is None else most)

    def _gauge(self, metric: Metric, label: str, values: Mapping[str, float]) -> None:
        """Set a gauge for each value of its label; one that is gone is 0."""
        known = self._shown.setdefault(metric, set())
        known.update(values)
        for each in known:
            self._meter.set(metric, {label: each}, values.get(each, 0))
