"""Tokens set aside for one attempt of a call, and what became of them.

OPEN ──a count───────────────────> COUNTED
 │ ────an estimate───────────────> ESTIMATED ──> COUNTED
 └ ────nobody knows, or fenced───> UNKNOWN ────> ESTIMATED, COUNTED
"""

from dataclasses import dataclass
from enum import IntEnum

from ...protocols.ids import Incarnation
from .account import Path, Share

__all__ = ("Ask", "Certainty", "Reservation")


class Certainty(IntEnum):
    """How well it is known what an attempt came to. A report is taken only if it knows more than the one before."""

    OPEN = 0
    UNKNOWN = 1
    ESTIMATED = 2
    COUNTED = 3


@dataclass(frozen=True, slots=True)
class Ask:
    """What tokens are asked for.

    Attributes:
        reservation: The id, unique in the ledger.
        account: The account that pays, and with it all above.
        incarnation: The life of the agent that asks; fencing goes by it.
        bound: The most tokens the request can be counted as.
        output: The most output tokens wanted.
        floor: The fewest output tokens that are still worth a call.
        last_answer: The held-back pools may be used.
        provider: The provider key that the call goes to; empty: unknown.
    """

    reservation: str
    account: Path
    incarnation: Incarnation
    bound: int
    output: int
    floor: int
    last_answer: bool = False
    provider: str = ""

    def __post_init__(self) -> None:
        """Refuse amounts that would make room instead of taking it.

        Raises:
            ValueError: An amount is negative.
        """
        if min(self.bound, self.output, self.floor) < 0:
            raise ValueError(f"Reservation {self.reservation} asks for a negative number of tokens.")

    @property
    def least(self) -> int:
        """Tokens without which the call is not worth making."""
        return self.bound + min(self.floor, self.output)


@dataclass(frozen=True, slots=True)
class Reservation:
    """One attempt, while it runs and after it ended.

    Attributes:
        ask: What was asked for.
        output: The output tokens granted.
        share: What it adds to its accounts.
        certainty: How well that is known.
        late: It ended after its agent was stopped.
    """

    ask: Ask
    output: int
    share: Share
    certainty: Certainty = Certainty.OPEN
    late: bool = False

    @property
    def is_open(self) -> bool:
        """Nothing is known of how it ended: its call may be running."""
        return self.certainty is Certainty.OPEN

    def settled(self, tokens: int | None, certainty: Certainty, *, late: bool) -> "Reservation":
        """The reservation after a report; `tokens` None counts as all that is set aside."""
        # Never more than is set aside now: what an earlier, lower report gave back may belong to another call.
        held = self.share.reserved + self.share.settled
        spent = held if tokens is None else tokens
        within = min(spent, held)
        share = Share(
            settled=within,
            overshoot=spent - within,
            unknown=within if tokens is None else 0,
            after_stop=spent if late else 0,
        )
        return Reservation(self.ask, self.output, share, certainty, late)
