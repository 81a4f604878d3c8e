"""What an agent that may act is told when it asks for a model call: the gate's and the ledger's answers as a directive.

The gate comes first, so one who waits for its turn holds no tokens. Who may go has tokens and a slot, or neither.
"""

from typing import assert_never

from ...protocols.checkin import CheckIn, Directive, EndStep, Grant, Proceed, Wait, WindDown
from ...protocols.outcome import Limit
from . import wording
from .gate import Gate, Ticket
from .ledger import Ended, Ledger, Reserved, Short
from .reservation import Ask

__all__ = ("hold_up", "permit")

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


def permit(ledger: Ledger, gate: Gate, asked: CheckIn, now: float) -> Directive:
    """Reserve what one attempt may cost and let it go, or say what to do without it.

    Args:
        ledger: Where its tokens are reserved.
        gate: Where it has a slot if they are, and no place in line if they never can be.
        asked: What the agent asks.
        now: Unix seconds.

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
        provider=asked.provider,
    )
    match ledger.reserve(ask):
        case Reserved(output):
            return Proceed(Grant(ask.reservation, output, gate.take(ticket(asked), now)))
        case Ended():
            gate.leave(asked.agent)
            return EndStep(f"Attempt {asked.attempt} has ended already: another attempt needs a number of its own.")
        case Short(in_flight=True) as short:
            crowd = gate.step_aside(asked.agent) / CROWD
            return Wait(min(LATEST, ASK_AGAIN * max(1.0, crowd)), wording.shortage(short))
        case Short() as short:
            gate.leave(asked.agent)
            limit = Limit.FLEET_TOKENS if short.account.path == ledger.root else Limit.TOKENS
            return without(short, limit=limit, ask=ask)
        case _ as unknown:
            assert_never(unknown)


def ticket(asked: CheckIn) -> Ticket:
    """What the gate knows an attempt by."""
    return Ticket(asked.agent, asked.reservation, asked.provider)


def without(short: Short, *, limit: Limit, ask: Ask) -> Directive:
    """What to do without the tokens asked for, which nobody will give back."""
    reason = wording.shortage(short)
    # There is nothing further to wind down to: the last answer is made without a model.
    return EndStep(reason) if ask.last_answer else WindDown(limit, reason)
