"""The tree of accounts: what a call can cost is set aside before it and settled after it, and no limit is ever passed.

A reservation adds one `Share` to its account and to every account above, so an account is the sum of the shares under
it, and whatever happens to a reservation is booked as the difference of two shares. For every account, at every moment,
in tokens, money, model calls and tool calls alike,

    settled + reserved + carved <= limit

because a reservation is taken only where it fits, in all its accounts or in none, and a settlement moves at most what
is set aside at that moment. What a provider counts beyond that is `overshoot`: shown apart, and spent as far as the
next one who asks is concerned. Only a limit that is lowered later may be below what was spent and granted before.

What a carved limit holds is set aside in the account above when it is opened: who spends from it there needs no room
above it any more, and nobody else can have it.

A reservation never expires by time, for its call may still be running. It ends by a settlement or by fencing.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ...protocols.amounts import ZERO, Amount
from ...protocols.ids import Incarnation
from ...protocols.limits import UNITS, Limits, Unit
from .account import BOUNDLESS, NOTHING, Account, Path, Share
from .reservation import Ask, Certainty, Reservation

__all__ = ("Ended", "Ledger", "LedgerState", "Reserved", "Short")

CLOSED_KEPT = 10_000
"""Closed reservations that are remembered; the oldest is forgotten first.

So late a settlement may come a second time and still be known: after so many others of the fleet have closed.
"""


@dataclass(frozen=True, slots=True)
class Reserved:
    """The call may be made, with at most `output` tokens of output; its reply may make so many `tools` calls.

    None: nothing limits these.
    """

    output: int
    tools: int | None = None


@dataclass(frozen=True, slots=True)
class Short:
    """Nothing was set aside.

    Attributes:
        account: The account that is short, as it was then.
        unit: Of what.
        least: What the call needs at least.
        in_flight: It may fit once calls in flight have settled.
        unpriced: Nobody said what the call can cost, and the account's money is limited.
    """

    account: Account
    unit: Unit
    least: Amount
    in_flight: bool = False
    unpriced: bool = False


@dataclass(frozen=True, slots=True)
class Ended:
    """The reservation is closed and nothing is set aside for it any more, so no call may be made under it."""


@dataclass(frozen=True, slots=True)
class LedgerState:
    """A ledger at one moment.

    Attributes:
        accounts: In the order they were opened, that above all others first.
        open: Reservations in the order they were made.
        closed: Those that are remembered, the oldest first. Of one that was counted it is the id alone: nothing can
            change it any more.
    """

    accounts: tuple[Account, ...] = ()
    open: tuple[Reservation, ...] = ()
    closed: tuple[Reservation | str, ...] = ()


EMPTY = LedgerState()


class Ledger:
    """The accounts and reservations of one fleet."""

    def __init__(self, root: str, limit: Limits | None, state: LedgerState = EMPTY) -> None:
        """Open the account above all others, or go on with another ledger of that name.

        Args:
            root: Its name.
            limit: The most that all together may spend; None: no limit. That other one's counts, if there is one.
            state: What that other one was.
        """
        self.root: Path = (root,)
        accounts = (Account(self.root, limit), *state.accounts)
        self._accounts: dict[Path, Account] = {account.path: account for account in accounts}
        self._open: dict[str, Reservation] = {held.ask.reservation: held for held in state.open}
        # Forgetting is safe. A repeated settlement finds nothing to settle, which watchers are told, and what is lost
        # is a late correction downward. None: it was counted, and nothing can change it any more.
        self._closed: dict[str, Reservation | None] = dict(
            (ended, None) if isinstance(ended, str) else (ended.ask.reservation, ended) for ended in state.closed
        )

    def open(self, path: Path, limit: Limits | None) -> Short | None:
        """Open an account under one that is open, or have one that rests be used again, with the limit that it has.

        Returns:
            Why it cannot have this limit, which is to be carved from what is above it; then it is not opened.

        Raises:
            LookupError: There is no account above it.
        """
        if path[:-1] not in self._accounts:
            raise LookupError(f"There is no account above {'/'.join(path)}.")
        return self._put(replace(self._accounts.get(path, Account(path, limit)), rests=False))

    def limit(self, path: Path, limit: Limits | None) -> Short | None:
        """Limit an account anew. What is spent or set aside stays so, also where it is more.

        Returns:
            Why it cannot have this limit, which is to be carved from what is above it; then the old one stays.

        Raises:
            LookupError: The account is not open.
        """
        return self._put(replace(self._accounts[path], limit=limit))

    def rest(self, path: Path) -> None:
        """Set nothing aside for an account, if there is one: nobody spends from it until it is opened again."""
        if (account := self._accounts.get(path)) is not None:
            self._put(replace(account, rests=True))

    def close(self, path: Path) -> None:
        """Forget an account, if it is open: what was spent in it stays in those above, what was carved for it is free.

        Calls in flight under it are settled in those above.
        """
        if (account := self._accounts.pop(path, None)) is not None:
            self._climb(path, NOTHING, ZERO - account.claim)

    def account(self, path: Path) -> Account:
        """The account as it is now.

        Raises:
            LookupError: It is not open.
        """
        return self._accounts[path]

    def lineage(self, path: Path) -> tuple[Account, ...]:
        """The account and all above, from the root; those that are not open are left out."""
        above = (self._accounts.get(path[:depth]) for depth in range(1, len(path) + 1))
        return tuple([account for account in above if account is not None])

    def accounts(self) -> tuple[Account, ...]:
        """All accounts as they are now, in the order they were opened."""
        return tuple(self._accounts.values())

    def reserve(self, ask: Ask, now: float) -> Reserved | Short | Ended:
        """Set aside what one attempt may cost, in its account and in all above, or in none.

        The same reservation asked for again while it is open gets the same answer and sets nothing more aside.

        Args:
            ask: What is asked for. Where less than `output` is left, the answer has less, down to `floor`.
            now: Unix seconds.

        Raises:
            LookupError: The account is not open.
        """
        if (known := self._open.get(ask.reservation)) is not None:
            # Asked for again with more than before, nothing was set aside for the difference.
            return Reserved(known.output, known.tools) if ask.bound <= known.ask.bound else Ended()
        if ask.reservation in self._closed:
            return Ended()
        self._begin(ask.account, now)
        lineage = self.lineage(ask.account)
        late = next((account for account in reversed(lineage) if account.is_over(now)), None)
        if late is not None and not ask.last_answer:
            return Short(late, Unit.SECONDS, ask.least)
        if (short := shortage(lineage, ask, self._coming_back)) is not None:
            return short
        room = BOUNDLESS
        for _, each in rooms(lineage, last_answer=ask.last_answer):
            room = room.within(each)
        limited = any(account.limit and account.limit.tool_calls is not None for account in lineage)
        tools = max(0, min(ask.tools, room.tool_calls)) if limited else None
        output = ask.output_in(room)
        share = Share(reserved=ask.need(output, tools or 0))
        self._open[ask.reservation] = Reservation(ask, output, share, tools=tools)
        self._climb(ask.account, share, ZERO)
        return Reserved(output, tools)

    def settle(
        self, reservation: str, spent: Amount | None, *, estimated: bool = False, tools: int | None = None
    ) -> Amount | None:
        """Book what an attempt came to. A report that knows no more than an earlier one changes nothing.

        Args:
            reservation: The id it was reserved under.
            spent: What it came to; None: unknown, so all that was reserved counts until a later report says better.
            estimated: `spent` is an estimate, which a count may correct.
            tools: Calls of tools that were let through, where these are known and nothing else is.

        Returns:
            What was newly found beyond the reservation, or None if it is neither open nor remembered.

        Raises:
            ValueError: A part of `spent` is negative.
        """
        if spent is not None and min(spent.parts) < 0:
            raise ValueError(f"Reservation {reservation} cannot have cost {spent}.")
        was = self._open.get(reservation) or self._closed.get(reservation)
        if was is None:
            return ZERO if reservation in self._closed else None
        certainty = Certainty.UNKNOWN if spent is None else Certainty.ESTIMATED if estimated else Certainty.COUNTED
        if certainty <= was.certainty:
            return ZERO
        stopped = any(account.stopped for account in self.lineage(was.ask.account))
        now = was.settled(spent, certainty, late=stopped if was.is_open else was.late, tools=tools)
        self._close(now)
        change = now.share - was.share
        self._climb(was.ask.account, change, ZERO)
        return change.overshoot.positive

    def fence(self, path: Path, incarnation: Incarnation) -> tuple[str, ...]:
        """Close what `incarnation` and older ones have open at or under `path`, as spent in full and unknown.

        Returns:
            The reservations that were closed.
        """
        fenced = tuple(
            reservation
            for reservation, held in self._open.items()
            if held.ask.account[: len(path)] == path and held.ask.incarnation <= incarnation
        )
        for reservation in fenced:
            self.settle(reservation, None)
        return fenced

    def stop(self, path: Path) -> None:
        """Count what ends from now on in this account as spent after a stop.

        Raises:
            LookupError: The account is not open.
        """
        self._put(replace(self._accounts[path], stopped=True, rests=True))

    def state(self) -> LedgerState:
        """The whole ledger as it is now."""
        closed = tuple([ended or reservation for reservation, ended in self._closed.items()])
        return LedgerState(self.accounts(), tuple(self._open.values()), closed)

    # ------------------------------------------------------------------------------------------------------------------

    def _begin(self, path: Path, now: float) -> None:
        """Have the time of an account begin, and of all above, where it has not.

        Raises:
            LookupError: The account is not open.
        """
        if self._accounts[path].began is None:
            for account in self.lineage(path):
                if account.began is None:
                    self._accounts[account.path] = replace(account, began=now)

    def _coming_back(self, above: Account) -> Amount:
        """What calls in flight may give back to an account: what they hold of a carved limit below goes back there.

        Where limits are carved in each other, the outermost of them takes it.
        """
        depth, coming = len(above.path), above.reserved
        for account in self._accounts.values():
            if account.is_carved and len(account.path) > depth and account.path[:depth] == above.path:
                between = self.lineage(account.path)[depth:-1]
                outer = [each.limit.limited for each in between if each.limit is not None and each.is_carved]
                taken = enumerate(account.kept_back.parts)
                coming -= Amount(*(0 if any(limited[unit] for limited in outer) else part for unit, part in taken))
        return coming

    def _put(self, account: Account) -> Short | None:
        """Put an account in the place of what it was, if what is to be set aside for it above fits there."""
        was = self._accounts.get(account.path)
        more = account.claim - (ZERO if was is None else was.claim)
        above = account.path[:-1]
        short = carving_shortage(self.lineage(above), more, self._coming_back)
        if short is None:
            self._accounts[account.path] = account
            self._climb(above, NOTHING, more)
        return short

    def _climb(self, path: Path, change: Share, carved: Amount) -> None:
        """Book a change of shares in an account and in all above; `carved`: what is set aside more below the first."""
        for account in reversed(self.lineage(path)):
            self._accounts[account.path] = changed = account.changed(change, carved)
            carved = changed.claim - account.claim

    def _close(self, reservation: Reservation) -> None:
        key = reservation.ask.reservation
        self._open.pop(key, None)
        self._closed[key] = None if reservation.certainty is Certainty.COUNTED else reservation
        if len(self._closed) > CLOSED_KEPT:
            del self._closed[next(iter(self._closed))]


def rooms(lineage: tuple[Account, ...], *, last_answer: bool) -> Iterator[tuple[Account, Amount]]:
    """The room in each account that has a limit, for what is spent in the innermost, which comes first.

    Above an account with a carved limit there is always room for what this has left: it is set aside there.
    """
    aside = ZERO
    for account in reversed(lineage):
        if account.limit is None:
            continue
        yield account, account.room(last_answer=last_answer) + aside
        if account.is_carved:
            parts = zip(account.limit.limited, aside.parts, BOUNDLESS.parts, strict=True)
            aside = Amount(*(boundless if limited else part for limited, part, boundless in parts))


def shortage(lineage: tuple[Account, ...], ask: Ask, coming_back: Callable[[Account], Amount]) -> Short | None:
    """Which account is short, and whether calls in flight may still give back enough; the innermost goes first."""
    found, least = list(rooms(lineage, last_answer=ask.last_answer)), ask.least
    if ask.rates is None:
        for account in reversed(lineage):
            if account.limit is not None and account.limit.dollars is not None:
                return Short(account, Unit.DOLLARS, least, unpriced=True)
    lacked = [(account, room) for account, room in found if lacking(room, least) is not None]
    for account, room in lacked:
        if (unit := lacking(room + coming_back(account), least)) is not None:
            return Short(account, unit, least)
    for account, room in lacked:
        if (unit := lacking(room, least)) is not None:
            return Short(account, unit, least, in_flight=True)
    return None


def carving_shortage(
    lineage: tuple[Account, ...], wanted: Amount, coming_back: Callable[[Account], Amount]
) -> Short | None:
    """Which account has no room for what is to be set aside below it."""
    for account, room in rooms(lineage, last_answer=False):
        if (unit := lacking(room, wanted)) is not None:
            return Short(account, unit, wanted, in_flight=lacking(room + coming_back(account), wanted) is None)
    return None


def lacking(room: Amount, least: Amount) -> Unit | None:
    """Of what there is too little; None: of nothing. What is not needed may be overspent."""
    parts = zip(UNITS, room.parts, least.parts, strict=True)
    return next((unit for unit, left, needed in parts if left < needed and needed > 0), None)
