"""What an agent that may act is told when it asks for a model call: the gate's and the ledger's answers as a directive.

The gate comes first, so one who waits for its turn holds no tokens. Who may go has tokens and a slot, or neither.
"""

from typing import assert_never

from ...protocols.checkin import CheckIn, Directive, EndStep, Grant, Proceed, Wait
from . import wording
from .account import Path
from .gate import Gate, Ticket
from .ledger import Ended, Ledger, Reserved, Short
from .reservation import Ask

__all__ = ("hold_up", "permit", "without")

ASK_AGAIN = 0.1
"""Seconds until an agent asks again for tokens that calls in flight hold."""

CROWD = 5
"""Agents of which each asks again so soon. Where more lack tokens, all of them together ask no more often."""

LATEST = 1.5
"""Seconds by which an agent asks again, however many do: it must not lose its place meanwhile."""


def hold_up(gate: Gate, asked: CheckIn, now: float) -> Wait | None:
    """Have an attempt wait for its turn at the provider; None: it is its turn, and `permit` is to follow.

    Args:
        gate: Where it stands in line.
        asked: What the agent asks.
        now: Unix seconds.
    """
    queued = gate.ask(ticket(asked), now)
    return None if queued is None else Wait(queued.after, wording.turn(queued), queued=True)


def permit(ledger: Ledger, gate: Gate, asked: CheckIn, account: Path, now: float) -> Directive | Short:
    """Reserve what one attempt may cost and let it go, or say what to do without it.

    Args:
        ledger: Where what it may cost is reserved.
        gate: Where it has a slot if that is, and no place in line if it never can be.
        asked: What the agent asks.
        account: Who pays.
        now: Unix seconds.

    Returns:
        What it is told; of what there is too little, if nobody will give that back.

    Raises:
        LookupError: The account is not open.
        ValueError: It asks for a negative number of tokens.
    """
    ask = Ask(
        reservation=asked.reservation,
        account=account,
        incarnation=asked.incarnation,
        bound=asked.bound,
        output=asked.output,
        floor=asked.floor,
        last_answer=asked.last_answer,
        provider=asked.provider,
        rates=asked.rates,
        tools=asked.tools,
        beside=asked.beside,
    )
    match ledger.reserve(ask, now):
        case Reserved(output, tools):
            return Proceed(Grant(ask.reservation, output, gate.take(ticket(asked), now), tools))
        case Ended():
            gate.leave(asked.agent)
            return EndStep(f"Attempt {asked.attempt} has ended already: another attempt needs a number of its own.")
        case Short() as short:
            return without(gate, short, asked)
        case _ as unknown:
            assert_never(unknown)


def ticket(asked: CheckIn) -> Ticket:
    """What the gate knows an attempt by."""
    return Ticket(asked.agent, asked.reservation, asked.provider)


def without(gate: Gate, short: Short, asked: CheckIn) -> Wait | Short:
    """Have who lacks something wait while calls in flight may give it back; else it waits for no provider any more."""
    if short.in_flight:
        crowd = gate.step_aside(asked.agent) / CROWD
        return Wait(min(LATEST, ASK_AGAIN * max(1.0, crowd)), wording.shortage(short))
    gate.leave(asked.agent)
    return short
