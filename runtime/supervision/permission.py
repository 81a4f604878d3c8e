"""What an agent that may act is told when it asks for a model call: the ledger's answer as a directive."""

from typing import assert_never

from ...protocols.checkin import CheckIn, Directive, EndStep, Grant, Proceed, Wait, WindDown
from ...protocols.outcome import Limit
from . import wording
from .ledger import Ended, Ledger, Reserved, Short
from .reservation import Ask

__all__ = ("permit",)

ASK_AGAIN = 0.1
"""Seconds until an agent asks again for tokens that calls in flight hold."""


def permit(ledger: Ledger, asked: CheckIn) -> Directive:
    """Reserve what one attempt may cost, or say what to do without it.

    Raises:
        LookupError: The agent has no account.
        ValueError: It asks for a negative number of tokens.
    """
    ask = Ask(
        reservation=asked.reservation,
        account=(*ledger.root, asked.agent),
        incarnation=asked.incarnation,
        bound=asked.bound,
        output=asked.output,
        floor=asked.floor,
        last_answer=asked.last_answer,
    )
    match ledger.reserve(ask):
        case Reserved(output):
            return Proceed(Grant(ask.reservation, output))
        case Ended():
            return EndStep(f"Attempt {asked.attempt} has ended already: another attempt needs a number of its own.")
        case Short() as short:
            limit = Limit.FLEET_TOKENS if short.account.path == ledger.root else Limit.TOKENS
            return without(short, limit=limit, ask=ask)
        case _ as unknown:
            assert_never(unknown)


def without(short: Short, *, limit: Limit, ask: Ask) -> Directive:
    """What to do without the tokens asked for."""
    reason = wording.shortage(short)
    if short.in_flight:
        return Wait(ASK_AGAIN, reason)
    # There is nothing further to wind down to: the last answer is made without a model.
    return EndStep(reason) if ask.last_answer else WindDown(limit, reason)
