"""One account, and what a single reservation adds to it.

Accounts stand in a tree: the fleet's, in it those of teams, in these or in the fleet's those of agents, and in an
agent's that of the run under way, if the run has a limit of its own. Whatever is spent counts in all of them.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

from ...protocols.amounts import ZERO, Amount
from ...protocols.limits import UNLIMITED, Limits

__all__ = ("BOUNDLESS", "NOTHING", "Account", "Level", "Path", "Share", "run_name", "team_name")

Path: TypeAlias = tuple[str, ...]
"""An account's place in the tree, from the root: `("fleet",)`, `("fleet", "ana")`, `("fleet", "team:a", "ana")`."""

TEAM, RUN = "team:", "run:"
"""What the names of teams and runs begin with in a path, so that no agent's name is like them."""

BOUNDLESS = Amount(UNLIMITED, UNLIMITED, UNLIMITED, UNLIMITED)
"""More of everything than any call asks for."""


class Level(StrEnum):
    """Whose account it is."""

    FLEET = "fleet"
    TEAM = "team"
    AGENT = "agent"
    RUN = "run"


def team_name(team: str) -> str:
    """A team's name in a path."""
    return f"{TEAM}{team}"


def run_name(run: str) -> str:
    """A run's name in a path."""
    return f"{RUN}{run}"


@dataclass(frozen=True, slots=True)
class Share:
    """What one reservation adds to its account and to every account above."""

    reserved: Amount = ZERO
    settled: Amount = ZERO
    overshoot: Amount = ZERO
    unknown: Amount = ZERO
    after_stop: Amount = ZERO

    def __sub__(self, other: "Share") -> "Share":
        """What becomes more, or less, when this share takes the place of the other."""
        return Share(
            self.reserved - other.reserved,
            self.settled - other.settled,
            self.overshoot - other.overshoot,
            self.unknown - other.unknown,
            self.after_stop - other.after_stop,
        )


NOTHING = Share()


@dataclass(frozen=True, slots=True)
class Account:
    """What is spent and set aside under one name.

    Attributes:
        path: The names from the root.
        limit: The most that may be spent; None: no limit of its own.
        settled: Spent within reservations.
        reserved: Set aside for calls in flight.
        overshoot: Counted by providers beyond what was reserved.
        unknown: The part of `settled` that is assumed, because nobody reported a usage.
        after_stop: The part of `spent` by calls that ended after their agent was stopped.
        stopped: What ends from now on is spent after a stop.
        carved: Set aside for accounts below that have a carved limit, as far as they have not used it.
        began: Unix seconds when its first model call was asked for; None: none was yet.
        rests: Nobody spends from it now, so nothing is set aside for it above, carved or not.
    """

    path: Path
    limit: Limits | None = None
    settled: Amount = ZERO
    reserved: Amount = ZERO
    overshoot: Amount = ZERO
    unknown: Amount = ZERO
    after_stop: Amount = ZERO
    stopped: bool = False
    carved: Amount = ZERO
    began: float | None = None
    rests: bool = False

    @property
    def name(self) -> str:
        """The name of whose account it is: the last one of the path."""
        return self.path[-1].removeprefix(TEAM).removeprefix(RUN)

    @property
    def level(self) -> Level:
        """Whose account it is."""
        if len(self.path) == 1:
            return Level.FLEET
        if self.path[-1].startswith(TEAM):
            return Level.TEAM
        return Level.RUN if self.path[-1].startswith(RUN) else Level.AGENT

    @property
    def spent(self) -> Amount:
        """All that is known or assumed to be spent."""
        return self.settled + self.overshoot

    @property
    def pool(self) -> Amount:
        """The top of the limit, which only last answers may use."""
        return ZERO if self.limit is None else self.limit.pool

    @property
    def is_carved(self) -> bool:
        """Whether what is left of its limit is set aside above."""
        return self.limit is not None and self.limit.carved and not self.rests

    @property
    def claim(self) -> Amount:
        """What is set aside for it in the account above, beside what it has used.

        Where its limit is carved that is the rest of it, and never less than what it has set aside itself; else it is
        only this, for the accounts below it.
        """
        if self.limit is None or not self.is_carved:
            return self.carved
        rest = self.limit.most - self.spent - self.reserved
        parts = zip(self.limit.limited, self.carved.parts, rest.parts, strict=True)
        return Amount(*(max(carved, left) if limited else carved for limited, carved, left in parts))

    @property
    def kept_back(self) -> Amount:
        """What calls in flight may give back to it that stays set aside for it above, since its limit is carved."""
        return replace(self, reserved=ZERO).claim - self.claim

    def room(self, *, last_answer: bool) -> Amount:
        """What can be reserved now; negative where a last answer or an overshoot went into the pool."""
        if self.limit is None:
            return BOUNDLESS
        free = self.limit.most - self.spent - self.reserved - self.carved
        return free if last_answer else free - self.limit.pool

    def is_over(self, now: float) -> bool:
        """Whether its time is over at `now` (Unix seconds)."""
        seconds = None if self.limit is None else self.limit.seconds
        return seconds is not None and self.began is not None and now >= self.began + seconds

    def changed(self, change: Share, carved: Amount = ZERO) -> "Account":
        """The account after the share of one reservation has changed by so much, and what is carved below it too."""
        # Each field by name: `replace` takes half as long again, and nothing is done more often.
        return Account(
            self.path,
            self.limit,
            settled=self.settled + change.settled,
            reserved=self.reserved + change.reserved,
            overshoot=self.overshoot + change.overshoot,
            unknown=self.unknown + change.unknown,
            after_stop=self.after_stop + change.after_stop,
            stopped=self.stopped,
            carved=self.carved + carved,
            began=self.began,
            rests=self.rests,
        )
