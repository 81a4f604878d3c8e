"""Who waits for whom, and which waits nobody would ever end.

A wait for several agents ends by the mail of any of them. So it can end as long as one who can act is reached by going
from the waiter to those it waits for, from these to those they wait for, and so on. Where nobody is, all that are
reached are a knot: each waits, and only for others of the knot, or for those that are gone.
"""

from collections.abc import Container, Iterator
from typing import NamedTuple

from ...protocols.checkin import AgentStatus
from ...protocols.ids import AgentId
from ...protocols.waits import WaitRequest

__all__ = ("Knot", "Waits")


class Knot(NamedTuple):
    """Waits of which each is only for those that have the others, and for those that are gone.

    Attributes:
        waits: The one that was asked about first.
        gone: Those of the agents waited for that will never write.
    """

    waits: tuple[WaitRequest, ...]
    gone: tuple[AgentId, ...] = ()


class Waits:
    """The waits that have begun and are not known to be over, one for each agent."""

    def __init__(self) -> None:
        """Nobody waits."""
        self._waits: dict[AgentId, WaitRequest] = {}

    def __iter__(self) -> Iterator[WaitRequest]:
        """The waits as they are at this moment, the oldest first."""
        return iter(tuple(self._waits.values()))

    def of(self, agent: AgentId) -> WaitRequest | None:
        """The wait of an agent."""
        return self._waits.get(agent)

    def begin(self, wait: WaitRequest) -> None:
        """A wait begins, and those that its agent had before are over."""
        self._waits.pop(wait.agent, None)
        self._waits[wait.agent] = wait

    def end(self, wait: WaitRequest) -> None:
        """A wait is over; a later one of its agent is not."""
        if self._waits.get(wait.agent) == wait:
            del self._waits[wait.agent]

    def heard(self, status: AgentStatus) -> None:
        """An agent has said how it is. It may have said so before it began to wait: only a later Step ends a wait."""
        wait = self._waits.get(status.agent)
        if wait is not None and (wait.incarnation, wait.step) < (status.incarnation, status.step):
            del self._waits[status.agent]

    def reached(self, agent: AgentId, gone: Container[AgentId] = ()) -> tuple[AgentId, ...]:
        """The agent and all that it waits for, directly or because those it waits for wait themselves.

        Those who are `gone` no longer wait for anybody.
        """
        found = {agent: None}
        queue = [agent]
        for each in queue:  # grows while it is walked
            wait = None if each in gone else self._waits.get(each)
            fresh = [sender for sender in (() if wait is None else wait.senders) if sender not in found]
            found.update(dict.fromkeys(fresh))
            queue.extend(fresh)
        return tuple(found)

    def knot(self, agent: AgentId, *, gone: Container[AgentId] = (), acting: Container[AgentId] = ()) -> Knot | None:
        """The knot that the wait of an agent is part of; None: somebody can end it, or it does not wait.

        Args:
            agent: Who waits.
            gone: Those who will never write, even if they are said to wait.
            acting: Those who can write, even if they are said to wait. Whoever neither waits nor is gone can too.
        """
        reached = self.reached(agent, gone)
        waiters = [each for each in reached if each not in gone]
        waits = [self._waits[each] for each in waiters if each in self._waits and each not in acting]
        if not waits or len(waits) < len(waiters) or not all(wait.senders for wait in waits):
            return None
        return Knot(tuple(waits), tuple(each for each in reached if each in gone))
