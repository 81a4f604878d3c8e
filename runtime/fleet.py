"""A fleet of agents: spawn, run, message, watch, stop."""

import secrets
from collections.abc import AsyncIterator, Sequence
from importlib import import_module
from types import TracebackType
from typing import Literal, Self, cast

from ..protocols.checkin import AgentStatus
from ..protocols.ids import USER, AgentId, MessageId, RunId
from ..protocols.mail import Receipt
from ..protocols.notices import Notice, NoticeType
from ..protocols.outcome import Outcome
from .agent import Agent, TokenLimit
from .clock import SystemClock
from .errors import SystemUnavailable
from .sender import Sender
from .supervision.account import Account
from .supervision.roster import check_name
from .system import Progress, SpawnOrder, System

__all__ = ("AgentRef", "Fleet", "Run", "load_system")

SYSTEMS = {"ray": "amrita_fleet.actors.system", "local": "amrita_fleet.runtime.local"}

WATCH_WAIT = 1.0
"""Seconds one look for notices waits for news."""


def load_system(kind: str, fleet: str, limit: int | None, address: str | None, *, attach: bool = False) -> System:
    """Make a system by its name, loading its module only now, as anyio loads its back ends.

    With `attach` it is that of a fleet which runs already; an empty name means the only one that does.

    Raises:
        SystemUnavailable: There is no such system, or no other process can join it.
    """
    if kind not in SYSTEMS:
        raise SystemUnavailable(system=kind, reason=f"there are only {', '.join(sorted(SYSTEMS))}.")
    if attach and kind == "local":
        raise SystemUnavailable(system=kind, reason="its fleet lives in one process, and no other can join it.")
    module = import_module(SYSTEMS[kind])
    system = module.attach_system(fleet or None, address) if attach else module.open_system(fleet, limit, address)
    return cast("System", system)


def unheard(_ready: int, _ordered: int) -> None:
    """Progress that nobody asked for."""


class Run:
    """One task on its way. Iterating gives its notices until it ends; `outcome()` waits for the end."""

    def __init__(self, system: System, agent: AgentId, run: RunId) -> None:
        """Name one run of an agent."""
        self.agent = agent
        self.id = run
        self._system = system

    async def outcome(self) -> Outcome:
        """Wait for the end.

        Raises:
            ChannelClosed: The agent died before it ended.
        """
        return await self._system.outcome(self.agent, self.id)

    async def __aiter__(self) -> AsyncIterator[Notice]:
        """The run's notices, in order, up to the one that says it finished."""
        async for notice in watch(self._system, 0):
            died = notice.agent == self.agent and notice.type is NoticeType.AGENT and notice.extra_type == "died"
            if notice.run == self.id or died:
                yield notice
            if died or (notice.run == self.id and notice.type is NoticeType.RUN and notice.extra_type == "finished"):
                return


class AgentRef:
    """A spawned agent, by name."""

    def __init__(self, fleet: "Fleet", name: AgentId) -> None:
        """Name one agent of a fleet."""
        self.name = name
        self._fleet = fleet

    async def start(self, task: str, time_limit: float | None = None) -> Run:
        """Queue a task and give its run at once; `time_limit` in seconds, None: the agent's own.

        Raises:
            ChannelClosed: The agent has stopped.
            QueueFull: Too many runs wait.
        """
        return await self._fleet.start(self.name, task, time_limit)

    async def run(self, task: str, time_limit: float | None = None) -> Outcome:
        """Queue a task and wait for its outcome."""
        return await (await self.start(task, time_limit)).outcome()

    async def send(self, body: str) -> Receipt:
        """Send the agent a message from the person at the keyboard."""
        return await self._fleet.send(self.name, body)

    async def stop(self, reason: str = "stopped by the user") -> None:
        """Stop the agent and those below it, for good."""
        await self._fleet.stop(self.name, reason=reason)

    def __repr__(self) -> str:
        """By name."""
        return f"AgentRef({self.name!r})"


class Fleet:
    """Agents that share a Supervisor, a token limit and a name space.

    Use it as `async with Fleet(...) as fleet:`; leaving ends every agent. On Ray (the default) it starts a local
    cluster, or joins the one that `RAY_ADDRESS` or `address` names.
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        limit: TokenLimit | int | None = None,
        system: Literal["ray", "local"] = "ray",
        address: str | None = None,
        attach: bool = False,
    ) -> None:
        """Nothing runs before the fleet is entered.

        Args:
            name: The fleet's name; None: a new one, or with `attach` that of the only running one.
            limit: What all agents together may spend, in tokens, prompt and completion, retries included.
            system: Where agents live.
            address: Ray's address; None: `RAY_ADDRESS`, or a new local cluster. `auto`: the cluster of this machine.
            attach: Join a fleet that another process started, to watch and steer it; leaving it then ends nothing.
        """
        self.name = name or ("" if attach else f"fleet-{secrets.token_hex(3)}")
        tokens = limit.tokens if isinstance(limit, TokenLimit) else limit
        self._system = load_system(system, self.name, tokens, address, attach=attach)
        self._sender: Sender | None = None

    async def __aenter__(self) -> Self:
        """Start what agents need.

        Raises:
            SystemUnavailable: The system cannot be started or reached, or has no such fleet.
        """
        await self._system.open()
        self.name = self.name or self._system.fleet
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End everything."""
        await self.close()

    async def close(self) -> None:
        """End every agent and what was started for them. Safe to call twice."""
        if self._sender is not None:
            await self._sender.aclose()
        await self._system.close()

    async def spawn(
        self,
        agent: Agent,
        names: Sequence[str] = ("agent",),
        *,
        parent: AgentRef | str | None = None,
        limit: TokenLimit | int | None = None,
        progress: Progress = unheard,
    ) -> tuple[AgentRef, ...]:
        """Bring one agent's description to life under each of the names; all of them or none.

        Args:
            agent: The description.
            names: One for each agent, unique in the fleet.
            parent: The agent that is told by mail when one of them ends badly, and whose stop stops them.
            limit: Token limit of each; None: the description's own.
            progress: Called as agents become ready.

        Raises:
            NameTaken: The fleet has such an agent.
            NameInvalid: No agent can be named so.
            Unpicklable: The description holds something that cannot go to another process.
        """
        for name in names:
            check_name(name)
        own = agent.limit if limit is None else limit
        tokens = own.tokens if isinstance(own, TokenLimit) else own
        above = parent.name if isinstance(parent, AgentRef) else parent
        orders = tuple(
            SpawnOrder(AgentId(name), agent, None if above is None else AgentId(above), tokens) for name in names
        )
        await self._system.spawn(orders, progress)
        return tuple(AgentRef(self, order.name) for order in orders)

    def agent(self, name: str) -> AgentRef:
        """An agent of the fleet by name; that it exists is seen when it is used."""
        return AgentRef(self, AgentId(name))

    async def start(self, agent: str, task: str, time_limit: float | None = None) -> Run:
        """Queue a task for an agent.

        Raises:
            AgentUnknown: There is no such agent.
            ChannelClosed: It has stopped.
            QueueFull: Too many runs wait.
        """
        run = await self._system.start(AgentId(agent), task, time_limit)
        return Run(self._system, AgentId(agent), run)

    async def send(self, agent: str, body: str) -> Receipt:
        """Send a message as the person at the keyboard, and learn whether it was accepted.

        Raises:
            AgentUnknown: There is no such agent, with near names.
            ChannelClosed: It has stopped.
        """
        if self._sender is None:
            incarnation = await self._system.admit_user()
            self._sender = Sender(USER, incarnation, self._system.post, SystemClock())
        return await self._sender.send(AgentId(agent), body)

    async def receipt(self, receipt: Receipt) -> Receipt:
        """What became of a message since `receipt` was given."""
        found = await self._system.post.receipt(receipt.recipient, MessageId(receipt.id))
        return receipt if found is None else found

    async def stop(self, *agents: str, reason: str = "stopped by the user") -> tuple[AgentId, ...]:
        """Stop agents and those below them, or, with no name, the whole fleet. Gives those that have stopped."""
        return await self._system.stop(tuple(AgentId(name) for name in agents), reason)

    async def pause(self, agent: str, reason: str = "paused by the user") -> None:
        """Pause an agent at its next boundary or model call."""
        await self._system.pause(AgentId(agent), reason)

    async def resume(self, agent: str) -> None:
        """Let a paused agent go on."""
        await self._system.pause(AgentId(agent), None)

    async def statuses(self) -> tuple[AgentStatus, ...]:
        """One row for each agent."""
        return await self._system.statuses()

    async def accounts(self) -> tuple[Account, ...]:
        """What the fleet and each agent have spent, in tokens, against their limits."""
        return await self._system.accounts()

    def notices(self, after: int = 0) -> AsyncIterator[Notice]:
        """All notices numbered above `after`, for ever."""
        return watch(self._system, after)


async def watch(system: System, after: int) -> AsyncIterator[Notice]:
    """Notices numbered above `after`, as they come."""
    while True:
        for notice in await system.notices(after, WATCH_WAIT):
            after = notice.number
            yield notice
