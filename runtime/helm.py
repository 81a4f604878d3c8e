"""What is done with a fleet that runs, by the process that began it or by another one."""

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Literal

from ..protocols.checkin import AgentStatus
from ..protocols.ids import USER, AgentId, MessageId, RunId
from ..protocols.limits import Limits, run_limit
from ..protocols.mail import Receipt
from ..protocols.notices import Notice
from ..protocols.outcome import Outcome
from .approvals import Approvals
from .clock import SystemClock
from .errors import ChannelClosed, FleetClosed, NameInvalid, NumberInvalid
from .given import check_kind, check_task, check_text, text_flaw
from .run import Run, untold, watch
from .sender import Sender
from .stream import SuspendObjectStream, expect_stream
from .streaming import StreamBridge, StreamBridges
from .supervision.account import Account
from .suspension import Stand
from .system import Stopped, System

__all__ = ("AgentRef", "Helm", "name_of")

BY_USER = "stopped by the user"


class AgentRef:
    """A spawned agent, by name."""

    def __init__(self, fleet: "Helm", name: AgentId) -> None:
        """Name one agent of a fleet."""
        self.name = name
        self._fleet = fleet

    async def start(
        self,
        task: str,
        time_limit: float | None = None,
        *,
        limit: Limits | int | None = None,
        stream: SuspendObjectStream | None = None,
    ) -> Run:
        """Queue a task and give its run at once, as `Fleet.start` does; `time_limit` in seconds."""
        return await self._fleet.start(self.name, task, time_limit, limit=limit, stream=stream)

    async def run(self, task: str, time_limit: float | None = None, *, limit: Limits | int | None = None) -> Outcome:
        """Queue a task and wait for its outcome; raises what `start` and `Run.outcome` raise."""
        return await (await self.start(task, time_limit, limit=limit)).outcome()

    async def send(self, body: str) -> Receipt:
        """Send the agent a message from the person at the keyboard, as `Fleet.send` does."""
        return await self._fleet.send(self.name, body)

    async def stop(self, reason: str = BY_USER) -> Stopped:
        """Stop the agent and those below it, for good."""
        return await self._fleet.stop(self.name, reason=reason)

    async def pause(self, reason: str = "paused by the user") -> None:
        """Pause the agent and those below it, as `Fleet.pause` does."""
        await self._fleet.pause(self.name, reason)

    async def resume(self) -> None:
        """Let the agent and those below it go on."""
        await self._fleet.resume(self.name)

    def __repr__(self) -> str:
        """By name."""
        return f"AgentRef({self.name!r})"


class Helm:
    """What any process can do with a fleet that runs, whether it began it or joined it.

    An agent is named by its name or its `AgentRef`.

    Attributes:
        name: The fleet's; of one that is joined without being named, once it is open.
        approvals: The calls that wait for a person, and how they are answered.
    """

    _stage: Literal["new", "open", "closed"] = "new"
    _over: bool = False
    _sender: Sender | None = None

    def __init__(self, name: str, made: System) -> None:
        """Steer a fleet by its system, once that is open."""
        self.name = name
        self.approvals = Approvals(lambda: self._system.approvals)
        self._made = made
        self._bridges = StreamBridges()
        self._admitting = asyncio.Lock()

    @property
    def _system(self) -> System:
        """The system, while the fleet is open.

        Raises:
            FleetClosed: It is not open yet, or no longer.
        """
        if self._stage != "open":
            raise FleetClosed(fleet=self.name, stage=self._stage)
        return self._made

    def agent(self, name: str) -> AgentRef:
        """An agent of the fleet by name; that it exists is seen when it is used.

        Raises:
            NameInvalid: This is no text.
        """
        return AgentRef(self, name_of(name))

    async def start(
        self,
        agent: AgentRef | str,
        task: str,
        time_limit: float | None = None,
        *,
        limit: Limits | int | None = None,
        stream: SuspendObjectStream | None = None,
    ) -> Run:
        """Queue a task for an agent.

        Args:
            agent: Whose task it is.
            task: What it shall do.
            time_limit: Seconds it has; None: the agent's own limit.
            limit: The most that this run may spend; None: only the agent's limit counts and those above it.
            stream: Gets the run's notices and, as the last object, its `Outcome`. The texts that it holds already begin
                the run together with the task; later ones are mail of the user's, which the agent reads at its next
                boundary. It can suspend the agent. A stream serves one run: whether that is over or could not begin,
                it is closed; one that serves another run, or has another reader, is left as it is.

        Raises:
            AgentUnknown: There is no such agent.
            NameInvalid: Its name is no text.
            ChannelClosed: It has stopped or died.
            QueueFull: Too many runs wait.
            TaskInvalid: The task, or a text of the stream, is none, or the time limit is none.
            PresetInvalid: The limit is none, or one in seconds: a run has a `time_limit`.
            PriceMissing: Its dollars are limited, and a preset does not say what its model costs.
            StreamExpected: The stream is something else, a mock for example.
            StreamMisused: It serves a run already, its texts have another reader, or it belongs to another event loop.
            StreamClosed: It is done.
        """
        start = partial(self._start, limit=run_limit(limit))
        if stream is None:
            return await start(name_of(agent), task, time_limit)
        bridge = StreamBridge(expect_stream(stream), partial(self.send, agent))
        try:
            name = name_of(agent)
            said, stand = bridge.begin(self._system.control(name))
            run = await start(name, task, time_limit, said, stand, bridge.over)
        except BaseException:
            await bridge.close()
            raise
        self._bridges.start(bridge, run)
        return run

    def find_run(self, agent: AgentRef | str, run: str) -> Run:
        """A run that another process began, by its id, as `AgentStatus.run` and notices have it.

        That it exists is seen when its outcome is asked for. Its notices begin with the first of the fleet's.

        Raises:
            NameInvalid: The agent's name is no text.
            ArgumentInvalid: The id is none.
        """
        check_text("run", run)
        return Run(self._system, name_of(agent), RunId(run), 0)

    async def _start(  # noqa: PLR0913  what a run is, once the stream is looked after
        self,
        agent: AgentId,
        task: str,
        time_limit: float | None,
        said: tuple[str, ...] = (),
        stand: Stand | None = None,
        over: Callable[[], None] = untold,
        *,
        limit: Limits | None,
    ) -> Run:
        check_task(task, time_limit, said)
        newest = await self._system.notices(-1, 0)
        after = newest[-1].number if newest else 0
        run = await self._system.start(agent, task, time_limit, said, stand, limit)
        return Run(self._system, agent, run, after, over)

    async def send(self, agent: AgentRef | str, body: str) -> Receipt:
        """Send a message as the person at the keyboard, and learn whether it was accepted. It may be blank: a nudge.

        Returns:
            `ACCEPTED`; `REFUSED` with the reason, by an agent that has stopped or reached its limit too; or `PENDING`
            when nobody knows yet whether it arrived.

        Raises:
            AgentUnknown: There is no such agent, with near names.
            ArgumentInvalid: The message is no text, or one that nothing can carry.
            ChannelClosed: It is dead.
        """
        name, _ = name_of(agent), self._system
        check_text("body", body)
        return await (await self._sending()).send(name, body)

    async def _sending(self) -> Sender:
        """The one sender of this process: mail of two lives at once would look like copies to the mailboxes."""
        async with self._admitting:
            if self._sender is None:
                life = await self._system.admit_user()
                self._sender = Sender(USER, life, self._system.post, SystemClock())  # unless it was closed meanwhile
            return self._sender

    async def receipt(self, receipt: Receipt) -> Receipt:
        """What became of a message since `receipt` was given; the same where the recipient no longer remembers it.

        Of a recipient that is dead, its records in the journal say it: `ACCEPTED` means that the message waits for the
        agent to be spawned again, `DEAD` that nobody will read it. Without a journal a message was lost with the
        process, unless it is known to have been read.

        Raises:
            AgentUnknown: There is no such agent.
            ArgumentInvalid: This is no receipt.
            PeerUnreachable: It does not answer now.
            JournalUnavailable: It is dead, and its records cannot be read now.
        """
        check_kind("receipt", receipt, Receipt)
        if receipt.final:
            return receipt
        found = await self._system.post.receipt(receipt.recipient, MessageId(receipt.id))
        return receipt if found is None else found

    async def stop(self, agent: AgentRef | str, *more: AgentRef | str, reason: str = BY_USER) -> Stopped:
        """Stop agents and those below them, for good.

        Returns:
            Who acknowledged it, and who did not in time.

        Raises:
            AgentUnknown: There is no such agent; nobody is stopped.
            ArgumentInvalid: The reason is no text, or one that nothing can carry.
        """
        check_text("reason", reason)
        return await self._system.stop(tuple(name_of(each) for each in (agent, *more)), reason)

    async def stop_all(self, reason: str = BY_USER) -> Stopped:
        """Stop the whole fleet, those to come included, for good.

        Raises:
            ArgumentInvalid: The reason is no text, or one that nothing can carry.
        """
        check_text("reason", reason)
        return await self._system.stop((), reason)

    async def pause(self, agent: AgentRef | str, reason: str = "paused by the user") -> None:
        """Pause an agent and those below it at their next boundary or model call.

        Raises:
            AgentUnknown: There is no such agent.
            ArgumentInvalid: The reason is no text, or one that nothing can carry.
            ChannelClosed: It was stopped for good.
            PeerUnreachable: Some could not be told; the others were. It can be asked for again.
        """
        check_text("reason", reason)
        await self._system.pause(name_of(agent), reason)

    async def resume(self, agent: AgentRef | str) -> None:
        """Let a paused agent and those below it go on; raises what `pause` raises."""
        await self._system.pause(name_of(agent), None)

    async def statuses(self) -> tuple[AgentStatus, ...]:
        """One row for each agent."""
        return await self._system.statuses()

    async def accounts(self) -> tuple[Account, ...]:
        """What the fleet, its teams, each agent and runs with limits of their own have spent, against these."""
        return await self._system.accounts()

    def notices(self, after: int = 0) -> AsyncIterator[Notice]:
        """All notices numbered above `after`, until this process has closed the fleet; below 0, it counts from the end.

        With a journal those of the fleet's earlier lives come first: a loop that ends at an event must look at its run.

        Raises:
            NumberInvalid: `after` is no whole number.
        """
        if type(after) is not int:  # a bool is none
            raise NumberInvalid(name="after", given=repr(after), reason="notices are numbered 1, 2, 3 and so on")
        return self._told(self._system, after)

    async def _told(self, system: System, after: int) -> AsyncIterator[Notice]:
        try:
            async for notice in watch(system, after, lambda: self._over):
                yield notice
        except ChannelClosed:
            if self._stage != "closed":
                raise


def name_of(agent: AgentRef | str) -> AgentId:
    """The name of an agent that is given by it or by reference.

    Raises:
        NameInvalid: It is no text, or one that nothing can carry.
    """
    if isinstance(agent, AgentRef):
        return agent.name
    if flaw := text_flaw(agent):
        raise NameInvalid(name=str(agent), reason=f"a name {flaw}")
    return AgentId(agent)
