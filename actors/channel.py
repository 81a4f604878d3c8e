"""The agents' channel over Ray: the end that receives, and the post office that finds it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar, cast

import ray
from ray.exceptions import ActorDiedError

from ..protocols.checkin import DEAD, NOT_YET, AgentStatus
from ..protocols.codec import decode, encode
from ..protocols.ids import AgentId, MessageId
from ..protocols.mail import Receipt
from ..runtime.errors import ChannelClosed, PeerUnreachable
from ..runtime.host import AgentHost
from ..runtime.turning_away import turned_away
from .errors import translated

__all__ = ("CONTROL", "MAIL", "NAMESPACE", "Find", "Left", "RayPost", "Receiver", "actor_name", "namespace")

NAMESPACE = "amrita-"
"""What Ray's namespace of a fleet begins with; the fleet's name follows."""

MAIL = "mail"
CONTROL = "control"
"""Concurrency groups of an agent's actor beside the default one, which is the work loop. Ray gives each its own thread
and event loop, so mail is taken and status answered while a tool blocks the work loop."""

INLINE = 96 * 1024
"""Bytes of a piece of a batch. Ray puts an argument above 100 KiB into its object store, which costs 0.9 ms more."""

T = TypeVar("T")

Find = Callable[[AgentId], Awaitable[AgentStatus]]
"""Gives an agent's row, or raises `AgentUnknown` with names like it."""

Left = Callable[[AgentId, MessageId], Awaitable[Receipt | None]]
"""Gives what became of a message to an agent that has no process."""


def namespace(fleet: str) -> str:
    """Ray's namespace of a fleet."""
    return f"{NAMESPACE}{fleet}"


def actor_name(agent: AgentId) -> str:
    """An agent's name among its fleet's actors."""
    return f"agent:{agent}"


class Receiver:
    """The end of the channel that is in every agent's actor. `AgentActor` fills in the host."""

    def __init__(self, name: AgentId) -> None:
        """Begin without a host."""
        self._name = name
        self._host: AgentHost | None = None

    @property
    def _living(self) -> AgentHost:
        """The host, once the agent lives.

        Raises:
            PeerUnreachable: It is still being started; the caller may try again.
        """
        if self._host is None:
            raise PeerUnreachable(agent=self._name, reason="it is being started")
        return self._host

    @ray.method(concurrency_group=MAIL)
    async def deliver(self, *pieces: bytes) -> bytes:
        """Take a batch of mail, which may come in pieces, and give the verdicts."""
        return await self._living.deliver(b"".join(pieces))

    @ray.method(concurrency_group=MAIL)
    async def receipt(self, message: MessageId) -> bytes:
        """What the mailbox remembers of a message: a `Receipt`, or no bytes at all."""
        found = self._living.receipt(message)
        return b"" if found is None else encode(found)


class RayPost:
    """Hands batches to the actors of one fleet. It belongs to one event loop.

    Agents are found by name when they are first written to, never on the event loop: the look-up blocks for a round
    trip to the head, and up to a minute while that is down.
    """

    def __init__(self, namespace: str, find: Find, left: Left) -> None:
        """Know nobody yet; `find` and `left` are asked about those whom Ray does not know."""
        self._namespace = namespace
        self._find = find
        self._left = left
        self._handles: dict[AgentId, type[Receiver]] = {}
        self._closed = False

    def close(self) -> None:
        """Make no more calls."""
        self._closed = True

    async def deliver(self, recipient: AgentId, batch: bytes) -> bytes:
        """Hand over a batch.

        Raises:
            AgentUnknown: There is no such agent.
            ChannelClosed: It has died. One that was stopped refuses, dead or not.
            PeerUnreachable: Nobody knows whether the batch arrived, or the agent is not spawned again yet.
        """
        try:
            return await self.ask(recipient, lambda handle: handle.deliver.remote(*pieces(batch)), patient=True)
        except ChannelClosed:
            if self._closed or not (await self._find(recipient)).stopped:
                raise
        return await turned_away(recipient, batch, self._left)

    async def receipt(self, recipient: AgentId, message: MessageId) -> Receipt | None:
        """Ask the recipient's mailbox, or, where it is dead, what is left of it.

        Raises:
            AgentUnknown: There is no such agent.
            ChannelClosed: This post office is closed.
            PeerUnreachable: It does not answer now.
            JournalUnavailable: What is left cannot be read now.
        """
        try:
            found = await self.ask(recipient, lambda handle: handle.receipt.remote(message))
        except ChannelClosed:
            if self._closed:
                raise
            return await self._left(recipient, message)
        return decode(found, Receipt) if found else None

    async def ask(self, agent: AgentId, call: Callable[[type[Receiver]], Awaitable[T]], *, patient: bool = False) -> T:
        """Make one call; an agent that died may live again under its name, so it is then looked for once more.

        Args:
            agent: Whom to ask.
            call: What to ask.
            patient: One that is not spawned again yet is unreachable, not dead.

        Raises:
            AgentUnknown: There is no such agent.
            ChannelClosed: It has died.
            PeerUnreachable: It does not answer now.
        """
        with translated(agent):
            try:
                return await call(await self.handle(agent, patient=patient))
            except ActorDiedError:
                self.forget(agent)
            try:
                return await call(await self.handle(agent, patient=patient))
            except ActorDiedError:  # Ray knows the dead one still
                self.forget(agent)
                raise PeerUnreachable(agent=agent, reason="it has just died") from None

    def keep(self, agent: AgentId, handle: type[Receiver]) -> None:
        """Know an agent's handle from now on."""
        self._handles[agent] = handle

    def forget(self, agent: AgentId) -> None:
        """Look for the agent again when it is next needed."""
        self._handles.pop(agent, None)

    async def handle(self, agent: AgentId, *, patient: bool = False) -> type[Receiver]:
        """The agent's handle; to the `patient`, one that is not spawned again yet is unreachable, not dead.

        Raises:
            AgentUnknown: There is no such agent.
            ChannelClosed: It has died, or this post office is closed.
            PeerUnreachable: It has no process now: it is being spawned or restarted, or it has just died.
        """
        if self._closed:
            raise ChannelClosed(agent=agent, reason="the fleet is closed")
        if agent not in self._handles:
            try:
                look_up = cast("Callable[[str, str], type[Receiver]]", ray.get_actor)
                found = await asyncio.to_thread(look_up, actor_name(agent), self._namespace)
            except ValueError:  # Ray knows no actor of that name
                row = await self._find(agent)
                if row.phase != DEAD:
                    raise PeerUnreachable(agent=agent, reason="it has no process now") from None
                if patient and row.awaits_spawn and not row.stopped:
                    raise PeerUnreachable(agent=agent, reason=NOT_YET) from None
                raise ChannelClosed(agent=agent, reason=row.absence) from None
            self.keep(agent, found)
        return self._handles[agent]


def pieces(batch: bytes) -> list[bytes]:
    """A batch as arguments that travel within a call."""
    return [batch[start : start + INLINE] for start in range(0, len(batch), INLINE)] or [batch]
