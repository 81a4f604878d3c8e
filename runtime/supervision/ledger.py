"""The tree of accounts: tokens are set aside before a call and settled after it, and no limit is ever passed.

A reservation adds one `Share` to its account and to every account above, so an account is the sum of the shares under
it, and whatever happens to a reservation is booked as the difference of two shares. For every account, at every moment,

    settled + reserved <= limit

because a reservation is taken only where it fits, in all its accounts or in none, and a settlement moves at most what
is set aside at that moment. What a provider counts beyond that is `overshoot`: shown apart, and spent as far as the
next one who asks is concerned.

A reservation never expires by time, for its call may still be running. It ends by a settlement or by fencing.
"""

from dataclasses import dataclass, replace

from ...protocols.ids import Incarnation
from .account import NOTHING, Account, Path, Share
from .reservation import Ask, Certainty, Reservation

__all__ = ("Ended", "Ledger", "LedgerState", "Reserved", "Short")

CLOSED_KEPT = 10_000
"""Closed reservations that are remembered; the oldest is forgotten first.

So late a settlement may come a second time and still be known: after so many others of the fleet have closed.
"""


@dataclass(frozen=True, slots=True)
class Reserved:
    """The call may be made, with at most `output` tokens of output."""

    output: int


@dataclass(frozen=True, slots=True)
class Short:
    """Nothing was set aside.

    Attributes:
        account: The account that is short, as it was then.
        least: Tokens the call needs at least.
        in_flight: It may fit once calls in flight have settled.
    """

    account: Account
    least: int
    in_flight: bool


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

    def __init__(self, root: str, limit: int | None, state: LedgerState = EMPTY) -> None:
        """Open the account above all others, or go on with another ledger of that name.

        Args:
            root: Its name.
            limit: The most tokens all together may spend; None: no limit. That other one's counts, if there is one.
            state: What that other one was.

        Raises:
            ValueError: The limit is negative.
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

    def limit(self, limit: int | None) -> None:
        """Limit the account above all others anew. What is spent or set aside stays so, also where it is more.

        Raises:
            ValueError: The limit is negative.
        """
        self._accounts[self.root] = replace(self._accounts[self.root], limit=limit)

    def open(self, path: Path, limit: int | None) -> None:
        """Open an account under one that is open. Nothing happens if it is open with this limit.

        Raises:
            LookupError: There is no account above it.
            ValueError: The limit is negative, or the account is open with another one.
        """
        if path[:-1] not in self._accounts:
            raise LookupError(f"There is no account above {'/'.join(path)}.")
        account = self._accounts.setdefault(path, Account(path, limit))
        if account.limit != limit:
            raise ValueError(f"Account {'/'.join(path)} has a limit of {account.limit} tokens, not {limit}.")

    def account(self, path: Path) -> Account:
        """The account as it is now.

        Raises:
            LookupError: It is not open.
        """
        return self._accounts[path]

    def accounts(self) -> tuple[Account, ...]:
        """All accounts as they are now, in the order they were opened."""
        return tuple(self._accounts.values())

    def reserve(self, ask: Ask) -> Reserved | Short | Ended:
        """Set aside what one attempt may cost, in its account and in all above, or in none.

        The same reservation asked for again while it is open gets the same answer and sets nothing more aside.

        Args:
            ask: What is asked for. Where less than `output` is left, the answer has less, down to `floor`.

        Raises:
            LookupError: The account is not open.
        """
        if (known := self._open.get(ask.reservation)) is not None:
            # Asked for again with more than before, nothing was set aside for the difference.
            return Reserved(known.output) if ask.bound <= known.ask.bound else Ended()
        if ask.reservation in self._closed:
            return Ended()
        lineage = self._lineage(ask.account)
        room = min(account.room(last_answer=ask.last_answer) for account in lineage)
        if room < ask.least:
            return shortage(lineage, ask)
        output = min(ask.output, room - ask.bound)
        share = Share(reserved=ask.bound + output)
        self._open[ask.reservation] = Reservation(ask, output, share)
        self._book(ask.account, NOTHING, share)
        return Reserved(output)

    def settle(self, reservation: str, tokens: int | None, *, estimated: bool = False) -> int | None:
        """Book what an attempt came to. A report that knows no more than an earlier one changes nothing.

        Args:
            reservation: The id it was reserved under.
            tokens: Prompt and completion together; None: unknown, so all that was reserved counts until a later
                report says better.
            estimated: `tokens` is an estimate, which a count may correct.

        Returns:
            Tokens newly found beyond the reservation, or None if it is neither open nor remembered.

        Raises:
            ValueError: `tokens` is negative.
        """
        if tokens is not None and tokens < 0:
            raise ValueError(f"Reservation {reservation} cannot have cost {tokens} tokens.")
        was = self._open.get(reservation) or self._closed.get(reservation)
        if was is None:
            return 0 if reservation in self._closed else None
        certainty = Certainty.UNKNOWN if tokens is None else Certainty.ESTIMATED if estimated else Certainty.COUNTED
        if certainty <= was.certainty:
            return 0
        late = self._accounts[was.ask.account].stopped if was.is_open else was.late
        now = was.settled(tokens, certainty, late=late)
        self._close(now)
        self._book(was.ask.account, was.share, now.share)
        return max(0, now.share.overshoot - was.share.overshoot)

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
        self._accounts[path] = replace(self._accounts[path], stopped=True)

    def state(self) -> LedgerState:
        """The whole ledger as it is now."""
        closed = tuple([ended or reservation for reservation, ended in self._closed.items()])
        return LedgerState(self.accounts(), tuple(self._open.values()), closed)

    def _lineage(self, path: Path) -> tuple[Account, ...]:
        return tuple(self._accounts[path[:depth]] for depth in range(1, len(path) + 1))

    def _book(self, path: Path, was: Share, now: Share) -> None:
        for account in self._lineage(path):
            self._accounts[account.path] = account.changed(was, now)

    def _close(self, reservation: Reservation) -> None:
        key = reservation.ask.reservation
        self._open.pop(key, None)
        self._closed[key] = None if reservation.certainty is Certainty.COUNTED else reservation
        if len(self._closed) > CLOSED_KEPT:
            del self._closed[next(iter(self._closed))]


def shortage(lineage: tuple[Account, ...], ask: Ask) -> Short:
    """Say which account is short, and whether calls in flight may still give back enough; the innermost goes first."""
    rooms = [(account, account.room(last_answer=ask.last_answer)) for account in reversed(lineage)]
    spent = [account for account, room in rooms if room + account.reserved < ask.least]
    if spent:
        return Short(spent[0], ask.least, in_flight=False)
    return Short(next(account for account, room in rooms if room < ask.least), ask.least, in_flight=True)
