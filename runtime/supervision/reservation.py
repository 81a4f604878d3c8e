"""What is set aside for one attempt of a call, and what became of it.

OPEN ──a count───────────────────> COUNTED
 │ ────an estimate───────────────> ESTIMATED ──> COUNTED
 └ ────nobody knows, or fenced───> UNKNOWN ────> ESTIMATED, COUNTED
"""

from dataclasses import dataclass, replace
from enum import IntEnum

from ...protocols.amounts import ZERO, Amount
from ...protocols.ids import Incarnation
from ...protocols.prices import Rates
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
    """What is asked for.

    Attributes:
        reservation: The id, unique in the ledger.
        account: The account that pays, and with it all above.
        incarnation: The life of the agent that asks; fencing goes by it.
        bound: The most tokens the request can be counted as.
        output: The most output tokens wanted.
        floor: The fewest output tokens that are still worth a call.
        last_answer: The held-back pools may be used.
        provider: The provider key that the call goes to; empty: unknown.
        rates: The most that its tokens can cost; None: nobody said.
        tools: The most calls of tools that its reply may make; 0: it makes none.
        beside: The most tokens that are billed as output and that `output` does not bound.
    """

    reservation: str
    account: Path
    incarnation: Incarnation
    bound: int
    output: int
    floor: int
    last_answer: bool = False
    provider: str = ""
    rates: Rates | None = None
    tools: int = 0
    beside: int = 0

    def __post_init__(self) -> None:
        """Refuse amounts that would make room instead of taking it.

        Raises:
            ValueError: An amount is negative.
        """
        if min(self.bound, self.output, self.floor, self.tools, self.beside) < 0:
            raise ValueError(f"Reservation {self.reservation} asks for a negative number of tokens.")

    def need(self, output: int, tools: int) -> Amount:
        """What the call can cost with so many output tokens and calls of tools."""
        output += self.beside
        cost = 0 if self.rates is None else self.rates.cost(self.bound, output)
        return Amount(self.bound + output, cost, 1, tools)

    @property
    def least(self) -> Amount:
        """Without this the call is not worth making."""
        return self.need(min(self.floor, self.output), min(1, self.tools))

    def output_in(self, room: Amount) -> int:
        """The output tokens that there is room for, as many as are wanted at most."""
        most = [self.output, room.tokens - self.bound - self.beside]
        if self.rates is not None:
            paid = self.rates.affordable(self.bound, room.nanodollars)
            most += [] if paid is None else [paid - self.beside]
        return max(0, min(most))


@dataclass(frozen=True, slots=True)
class Reservation:
    """One attempt, while it runs and after it ended.

    Attributes:
        ask: What was asked for.
        output: The output tokens granted.
        share: What it adds to its accounts.
        certainty: How well that is known.
        late: It ended after its agent was stopped.
        tools: The calls of tools granted; None: any number, as nothing limited them.
    """

    ask: Ask
    output: int
    share: Share
    certainty: Certainty = Certainty.OPEN
    late: bool = False
    tools: int | None = None

    @property
    def is_open(self) -> bool:
        """Nothing is known of how it ended: its call may be running."""
        return self.certainty is Certainty.OPEN

    def settled(
        self, spent: Amount | None, certainty: Certainty, *, late: bool, tools: int | None = None
    ) -> "Reservation":
        """The reservation after a report.

        Args:
            spent: None: unknown, which counts as all that is set aside.
            certainty: How well it is known.
            late: It ended after its agent was stopped.
            tools: Calls of tools that were let through, where these are known and nothing else is.
        """
        # Never more than is set aside now: what an earlier, lower report gave back may belong to another call.
        held = self.share.reserved + self.share.settled
        if spent is None:
            calls = held.tool_calls if tools is None else tools if self.tools is None else min(tools, held.tool_calls)
            full = replace(held, tool_calls=calls)
            assumed = full if tools is None else replace(held, tool_calls=0)
            share = Share(settled=full, unknown=assumed, after_stop=full if late else ZERO)
        else:
            within = self._unmetered(held, spent).within(spent)
            share = Share(settled=within, overshoot=spent - within, after_stop=spent if late else ZERO)
        return Reservation(self.ask, self.output, share, certainty, late, self.tools)

    def _unmetered(self, held: Amount, spent: Amount) -> Amount:
        """What is set aside, with calls that nothing was set aside for because nothing limited them then.

        A call of a model has been counted once its attempt has ended. Those of tools may be heard of later: who was
        found dead, and lives, tells what its last reply called.
        """
        models = held.model_calls or (spent.model_calls if self.is_open else 0)
        tools = spent.tool_calls if self.tools is None else held.tool_calls
        return Amount(held.tokens, held.nanodollars, models, tools)
