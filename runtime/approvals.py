"""Calls that wait for a person: what an agent has of them, and how they are answered."""

import threading
from collections.abc import Callable
from typing import Protocol

from ..protocols.approval import Approval
from .errors import AgentUnknown, AnswerInvalid, ApprovalUnknown
from .step.events import Decided
from .step.phases import Acting, Op
from .step.state import AgentState
from .tools.text import clean

__all__ = ("ApprovalPort", "Approvals", "PendingApprovals", "awaits_person", "held_calls")


class ApprovalPort(Protocol):
    """The way to all agents of a fleet, for those who answer. Each system has its own."""

    async def pending(self) -> tuple[Approval, ...]:
        """All calls that wait, agent by agent.

        Raises:
            PeerUnreachable: Some agents did not say what they hold.
        """
        ...

    async def answer(self, approval: str, *, allowed: bool, reason: str) -> None:
        """Answer one; `reason` is for the model, and may be empty.

        Raises:
            AgentUnknown: There is no agent that it could be about.
            ApprovalUnknown: It does not wait for an answer.
            ChannelClosed: Its agent is dead.
            PeerUnreachable: Its agent does not answer now; it may have got the answer or not.
        """
        ...


class Approvals:
    """A fleet's calls that wait for a person, and the answers to them. It is `fleet.approvals`."""

    def __init__(self, port: Callable[[], ApprovalPort]) -> None:
        """`port` gives the way to the agents, or raises why there is none."""
        self._port = port

    async def pending(self) -> tuple[Approval, ...]:
        """All calls that wait, agent by agent.

        Raises:
            PeerUnreachable: Some agents did not say what they hold, so that it would not be all.
        """
        return await self._port().pending()

    async def allow(self, approval: Approval | str) -> None:
        """Let a call run; given as it is pending, or by its id.

        Raises:
            AnswerInvalid: It is neither.
            ApprovalUnknown: It was answered, its run has ended, or there was none.
            ChannelClosed: Its agent is dead.
            PeerUnreachable: Its agent does not answer now; it may have got the answer or not.
        """
        await self._answer(id_of(approval), allowed=True)

    async def refuse(self, approval: Approval | str, reason: str = "") -> None:
        """Have a call not run, and its output say so, with the reason; raises what `allow` raises.

        Raises:
            AnswerInvalid: The reason is no text.
        """
        check_reason(reason)
        await self._answer(id_of(approval), allowed=False, reason=clean(reason))

    async def _answer(self, approval: str, *, allowed: bool, reason: str = "") -> None:
        try:
            await self._port().answer(approval, allowed=allowed, reason=reason)
        except AgentUnknown:  # what begins an id is its agent's name
            pending = tuple(each.id for each in await self._port().pending())
            raise ApprovalUnknown(approval=approval, pending=pending) from None


class PendingApprovals:
    """One agent's calls that wait for a person. From any thread."""

    def __init__(self, held: Callable[[], tuple[Approval, ...]], feed: Callable[[Decided], None]) -> None:
        """Keep the ends.

        Args:
            held: Gives the calls that the agent holds at this moment.
            feed: Gets each answer once; the agent holds the call until it has taken it.
        """
        self._held = held
        self._feed = feed
        self._answered: set[str] = set()
        self._lock = threading.Lock()

    def pending(self) -> tuple[Approval, ...]:
        """The calls that nobody has answered yet."""
        with self._lock:
            return self._open()

    def answer(self, approval: str, *, allowed: bool, reason: str) -> None:
        """Answer one, once.

        Raises:
            ApprovalUnknown: It does not wait for an answer, or no longer.
        """
        with self._lock:
            pending = tuple(each.id for each in self._open())
            if approval not in pending:
                raise ApprovalUnknown(approval=approval, pending=pending)
            self._answered.add(approval)
        self._feed(Decided(Op(int(approval.rpartition(".")[2])), allowed, reason))

    def _open(self) -> tuple[Approval, ...]:
        held = self._held()
        self._answered.intersection_update(each.id for each in held)
        return tuple(each for each in held if each.id not in self._answered)


def held_calls(state: AgentState, since: float) -> tuple[Approval, ...]:
    """The calls that an agent holds, in the order of the reply; `since` in Unix seconds, when its phase began."""
    if not isinstance(state.doing, Acting):
        return ()
    run = state.current.id
    return tuple(
        Approval(
            id=f"{run}.{slot.op}",
            agent=state.agent,
            run=run,
            step=state.step,
            tool=slot.runs.name,
            arguments=slot.runs.arguments,
            reason=slot.held,
            since=since,
        )
        for slot in state.doing.slots
        if slot.held
    )


def id_of(approval: object) -> str:
    """What an approval is answered under.

    Raises:
        AnswerInvalid: It is neither an approval nor an id.
    """
    if isinstance(approval, Approval):
        return approval.id
    if isinstance(approval, str):
        return approval
    raise AnswerInvalid(reason=f"it is given as it is pending, or by its id; this is of type {type(approval).__name__}")


def check_reason(given: object) -> None:
    """Refuse a reason that cannot be told.

    Raises:
        AnswerInvalid: It is no text.
    """
    if not isinstance(given, str):
        raise AnswerInvalid(reason=f"why a call is refused is a text; this is of type {type(given).__name__}")


def awaits_person(state: AgentState) -> str:
    """Which calls wait for somebody's leave; empty: none."""
    held = [slot.call.name for slot in state.doing.slots if slot.held] if isinstance(state.doing, Acting) else []
    return f"waits for a person to allow {', '.join(held)}" if held else ""
