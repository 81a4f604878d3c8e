"""One account of tokens, and what a single reservation adds to it."""

from dataclasses import dataclass
from typing import TypeAlias

__all__ = ("NOTHING", "Account", "Path", "Share")

Path: TypeAlias = tuple[str, ...]
"""An account's place in the tree, from the root: `("fleet",)`, `("fleet", "ana")`."""

POOL_PART = 20
"""One part in so many of a limit, 5 %, is kept for last answers."""

UNLIMITED = 2**63
"""More tokens than any call asks for."""


@dataclass(frozen=True, slots=True)
class Share:
    """What one reservation adds to its account and to every account above, in tokens."""

    reserved: int = 0
    settled: int = 0
    overshoot: int = 0
    unknown: int = 0
    after_stop: int = 0


NOTHING = Share()


@dataclass(frozen=True, slots=True)
class Account:
    """What is spent and set aside under one name, in tokens.

    Attributes:
        path: The names from the root.
        limit: The most that may be spent; None: no limit of its own.
        settled: Spent within reservations.
        reserved: Set aside for calls in flight.
        overshoot: Counted by providers beyond what was reserved.
        unknown: The part of `settled` that is assumed, because nobody reported a usage.
        after_stop: The part of `spent` by calls that ended after their agent was stopped.
        stopped: What ends from now on is spent after a stop.
    """

    path: Path
    limit: int | None = None
    settled: int = 0
    reserved: int = 0
    overshoot: int = 0
    unknown: int = 0
    after_stop: int = 0
    stopped: bool = False

    def __post_init__(self) -> None:
        """Refuse a limit that is none.

        Raises:
            ValueError: The limit is negative.
        """
        if self.limit is not None and self.limit < 0:
            raise ValueError(
                f"The token limit of {self.name!r} is {self.limit:,}: give 0 or more, or None for no limit."
            )

    @property
    def name(self) -> str:
        """The last name of the path."""
        return self.path[-1]

    @property
    def spent(self) -> int:
        """All that is known or assumed to be spent."""
        return self.settled + self.overshoot

    @property
    def pool(self) -> int:
        """The top of the limit, which only last answers may use."""
        return 0 if self.limit is None else self.limit // POOL_PART

    def room(self, *, last_answer: bool) -> int:
        """Tokens that can be reserved now; negative where a last answer or an overshoot went into the pool."""
        if self.limit is None:
            return UNLIMITED
        kept = 0 if last_answer else self.pool
        return self.limit - kept - self.spent - self.reserved

    def changed(self, was: Share, now: Share) -> "Account":
        """The account after the share of one reservation changed."""
        return Account(
            self.path,
            self.limit,
            settled=self.settled + now.settled - was.settled,
            reserved=self.reserved + now.reserved - was.reserved,
            overshoot=self.overshoot + now.overshoot - was.overshoot,
            unknown=self.unknown + now.unknown - was.unknown,
            after_stop=self.after_stop + now.after_stop - was.after_stop,
            stopped=self.stopped,
        )
