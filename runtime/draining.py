"""Draining: agents go on to their next boundary and begin nothing new, so that what they are at can be left there."""

import asyncio
import logging
from collections.abc import Coroutine, Iterable, Mapping
from typing import Any, Protocol, TypeAlias, assert_never

from ..protocols.checkin import AgentStatus
from ..protocols.ids import USER, AgentId, Incarnation
from ..protocols.notices import Notice, NoticeType
from .step.phases import (
    Acting,
    Compacting,
    Decomposing,
    Doing,
    Done,
    Entering,
    Idle,
    Leaving,
    Paused,
    Summarising,
    Thinking,
    Waiting,
    WindingDown,
)

__all__ = ("Drain", "drain_nobody", "under_way", "undrained", "undrained_report")

log = logging.getLogger(__name__)

Ends: TypeAlias = Coroutine[Any, Any, None]
"""Something that is waited for only for its end."""


class Drain(Protocol):
    """Has all agents of a system drain, whatever each of them is at."""

    async def __call__(self, grace: float, /) -> None:
        """Have every agent go on to its next boundary, and begin nothing new from now on: `close` follows.

        It leaves no trace: where there is a journal, the next process goes on from there. Agents that are idle, wait
        for mail or a person, are paused or suspended are not waited for. Who reaches no boundary in time is named in
        the log and in an `agent.undrained` notice.

        Args:
            grace: Seconds to wait for them.
        """
        ...


async def drain_nobody(_grace: float, /) -> None:
    """The drain of a system that owns no agents."""


def under_way(doing: Doing) -> int:
    """How many things an agent waits for that end by themselves, and soon: not mail, and not a person."""
    match doing:
        case Idle() | Waiting() | Paused():
            return 0
        case Acting(slots=slots):
            return sum(slot.output is None and not slot.held for slot in slots)
        case (
            Entering() | Decomposing() | Thinking() | Summarising() | Leaving() | Compacting() | WindingDown() | Done()
        ):
            return 1
        case _ as unknown:
            assert_never(unknown)


async def undrained(drains: Mapping[AgentId, Ends], over: Ends) -> tuple[AgentId, ...]:
    """Wait until all agents have drained, or until the time is over.

    Args:
        drains: What ends for each of them when it has drained.
        over: What ends when the time is over.

    Returns:
        Those that have not drained, or did not answer; the log names them, also when nobody waits any more.
    """
    draining = {agent: asyncio.create_task(drain) for agent, drain in drains.items()}
    timer = asyncio.create_task(over)
    waits: set[asyncio.Task[None]] = set(draining.values())
    try:
        while waits and not timer.done():
            await asyncio.wait({timer, *waits}, return_when=asyncio.FIRST_COMPLETED)
            waits = {drain for drain in waits if not drain.done()}
    finally:
        left = tuple(agent for agent, drain in draining.items() if not has_ended(drain))
        for agent in left:
            log.warning("%s %s", agent, fate(draining[agent], in_time=not timer.done()))
        for each in (timer, *draining.values()):
            each.cancel()
    return left


def fate(drain: "asyncio.Task[None]", *, in_time: bool) -> str:
    """What is known of an agent that has not said that it drained; `in_time`: its time was not over."""
    error = drain.exception() if drain.done() and not drain.cancelled() else None
    if isinstance(error, Exception):  # else, if any, a second Ctrl-C came just while this was looked at
        return f"may be cut off in mid-Step, for it does not answer: {error or repr(error)}"
    why = "nobody waits for it any longer" if in_time else "it did not reach a boundary in time"
    return f"is cut off in mid-Step: {why}"


def has_ended(drain: "asyncio.Task[None]") -> bool:
    """Whether an agent has said that it drained."""
    return drain.done() and not drain.cancelled() and drain.exception() is None


def undrained_report(rows: Iterable[AgentStatus], grace: float, now: float) -> tuple[AgentStatus, tuple[Notice, ...]]:
    """What the Supervisor is told of those that have not drained, in the name of whoever closes the fleet.

    Args:
        rows: How they are.
        grace: Seconds they had.
        now: Unix seconds.
    """
    notices = tuple(
        Notice(
            NoticeType.AGENT,
            "undrained",
            row.agent,
            f"reached no boundary within {grace:g} s, {row.phase} as it is, and is cut off in mid-Step",
            row.run,
            row.step,
            {"phase": row.phase, "seconds": grace},
            at=now,
        )
        for row in rows
    )
    return AgentStatus(agent=USER, incarnation=Incarnation(0), phase="", since=now), notices
