"""One agent and all that belongs to it: mailbox, driver, control. Both systems hold this same object.

The life of a host:

1. Made with an agent's description and the ports of its system. Nothing runs yet.
2. `open` binds it to the running loop, the work loop, and starts the driver.
3. `deliver`, `status`, `receipt`, `stop`, `pause` and `resume` may come from any thread, also while a tool blocks the
   work loop: they touch only what a lock guards, and reach the loop by `call_soon_threadsafe`.
4. `start` queues a run, `outcome` waits for its end. One run at a time; mail wakes an idle agent.
5. `stop` closes the mailbox at once, then ends the run. `close` ends everything.
"""

import asyncio
import logging
import os
import random
from dataclasses import dataclass

from ..protocols.approval import Approval
from ..protocols.checkin import AgentStatus
from ..protocols.ids import AgentId, Incarnation, MessageId, RunId
from ..protocols.mail import Kind, Receipt, ReceiptState, Refusal
from ..protocols.messages import Json
from ..protocols.notices import Notice, NoticeType
from ..protocols.outcome import Ending, Limit, Outcome
from .agent import Agent
from .approvals import PendingApprovals, held_calls
from .caller import Caller, Model
from .config import AmritaConfig
from .control import Control
from .driver import Driver, Ports
from .errors import ChannelClosed, QueueFull
from .given import check_task
from .hook_chain import HookChain
from .inbox import Inbox
from .ports import Clock, PostOffice, SupervisorLink
from .reporter import Reporter
from .run_queue import RunQueue
from .sender import Sender
from .step.events import Asked, Event, PauseAsked, Resumed, Stopped, Woken
from .step.phases import Acting, Phase
from .step.state import AgentState, Run
from .suspension import Suspension
from .tools.builtin import BUILTIN
from .tools.executor import Executor
from .tools.registry import Toolbox
from .tools.tool import Tool
from .workbench import Workbench

__all__ = ("AgentHost", "Seat")

log = logging.getLogger(__name__)

QUEUE = 64
"""Runs that may wait for their turn."""

KEPT_RECIPIENTS = 4096
"""Sent messages whose receipt can still be asked for."""

SPENT = (Limit.TOKENS, Limit.FLEET_TOKENS)
"""Limits after which an agent can make no more model calls."""


@dataclass(frozen=True)
class Seat:
    """An agent's place in a fleet, as the Supervisor admitted it."""

    name: AgentId
    incarnation: Incarnation
    parent: AgentId | None = None


class AgentChannel:
    """The channel as the agent's tools see it."""

    def __init__(self, host: "AgentHost", seat: Seat, sender: Sender, post: PostOffice, link: SupervisorLink) -> None:
        """Keep the ends."""
        self._host = host
        self._seat = seat
        self._sender = sender
        self._post = post
        self._link = link
        self._recipients: dict[MessageId, AgentId] = {}

    async def send(
        self, recipient: AgentId, body: str, reply_to: str = "", message: MessageId | None = None
    ) -> Receipt:
        """Send one message and wait until it is accepted or refused; watchers see which."""
        receipt = await self._sender.send(recipient, body, reply_to=reply_to, message=message)
        self._recipients[receipt.id] = recipient
        if len(self._recipients) > KEPT_RECIPIENTS:
            del self._recipients[next(iter(self._recipients))]
        accepted = receipt.state is ReceiptState.ACCEPTED
        how = "sent" if accepted else receipt.state.value
        data = {"id": receipt.id, "recipient": recipient, "refusal": receipt.refusal or ""}
        self._host.tell(NoticeType.MAIL, how, f"to {recipient}: {body[:200]}", dict(data))
        return receipt

    async def receipt(self, message: MessageId) -> Receipt | None:
        """What became of a message sent from here."""
        recipient = self._recipients.get(message)
        return None if recipient is None else await self._post.receipt(recipient, message)

    async def peers(self) -> tuple[AgentStatus, ...]:
        """The other agents of the fleet."""
        return await self._link.peers(self._seat.name, self._seat.incarnation)


class AgentHost:
    """Holds one agent. See the module's text for its life.

    Attributes:
        approvals: The calls that wait for a person, from any thread.
        control: Has it stand still at a point, from the work loop.
    """

    def __init__(
        self,
        agent: Agent,
        seat: Seat,
        link: SupervisorLink,
        post: PostOffice,
        clock: Clock,
        tools: tuple[Tool, ...] = (),
    ) -> None:
        """Put the parts together; nothing runs before `open`. `tools` are those of the agent's MCP servers."""
        self._agent = agent
        self._seat = seat
        self._clock = clock
        self._loop: asyncio.AbstractEventLoop | None = None
        self._driving: asyncio.Task[None] | None = None
        self._runs = RunQueue(seat.name, seat.incarnation)
        self._closed = ""
        self._inbox = Inbox(seat.name, agent.config.mail, clock, self._mail_came)
        self._reporter = Reporter(link, clock, self.status)
        self._sender = Sender(seat.name, seat.incarnation, post, clock, agent.config.mail.send_timeout)
        models = tuple(Model.of(preset) for preset in (agent.preset, *agent.fallbacks))
        self._caller = Caller(seat.name, seat.incarnation, models, link, agent.config.wind_down.input_bytes)
        state = AgentState.begin(seat.name, agent.rules)
        self._driver = Driver(state, seat.incarnation, self._ports(link, post, tools))
        self.control = Control(self._suspension)
        self.approvals = PendingApprovals(self._held, self._feed)
        if agent.config.mail.on_mail == "refuse":
            self._inbox.close(Refusal.CLOSED)

    def _ports(self, link: SupervisorLink, post: PostOffice, extra: tuple[Tool, ...]) -> Ports:
        agent, config = self._agent, self._agent.config
        toolbox = Toolbox((*agent.tools, *extra, *BUILTIN), config)
        hooks = HookChain(agent.hooks, self.tell)
        self._suspension = Suspension()
        return Ports(
            caller=self._caller,
            toolbox=toolbox,
            workbench=Workbench(toolbox, Executor(output_bytes=output_bytes(config)), hooks),
            hooks=hooks,
            suspension=self._suspension,
            inbox=self._inbox,
            channel=AgentChannel(self, self._seat, self._sender, post, link),
            clock=self._clock,
            random=random.random,
            notify=self._reporter.add,
            finish=self._finish,
            settled=self._settled,
            output=agent.output,
        )

    async def open(self) -> None:
        """Begin to live in the running loop."""
        self._loop = asyncio.get_running_loop()
        self._driving = self._loop.create_task(self._driver.run())
        self._driving.add_done_callback(self._driver_ended)
        self.tell(NoticeType.AGENT, "ready", f"ready (pid {os.getpid()})")
        await self._reporter.flush()
        self._look_at_mail()  # what came before there was a loop to wake

    def deliver(self, batch: bytes) -> bytes:
        """Take a batch of mail, from any thread; never waits.

        Raises:
            ProtocolError: The bytes are no batch.
        """
        return self._inbox.deliver(batch)

    def receipt(self, message: MessageId) -> Receipt | None:
        """What the mailbox remembers of a message, from any thread."""
        return self._inbox.receipt(message)

    def status(self) -> AgentStatus:
        """The agent's row of the fleet's table, from any thread."""
        state = self._driver.state
        waiting, consumed = self._inbox.counts()
        over = self._driving is not None and self._driving.done()
        return AgentStatus(
            agent=self._seat.name,
            incarnation=self._seat.incarnation,
            phase="stopped" if over or (self._closed and state.phase is Phase.IDLE) else state.phase,
            since=self._driver.since,
            run=state.run.id if state.run and not over else None,
            step=state.step,
            round=state.run.rounds if state.run else 0,
            waiting=waiting,
            sent=self._sender.sent,
            consumed=consumed,
            parent=self._seat.parent,
            pid=os.getpid(),
            note=self._closed or self._suspension.note or awaits_person(state),
        )

    async def start(self, task: str, time_limit: float | None = None, said: tuple[str, ...] = ()) -> RunId:
        """Queue a run. `time_limit` in seconds, None: the agent's own; `said` is what the user added to the task.

        Raises:
            TaskInvalid: The task, or what was added, is no text, or the time limit is none.
            ChannelClosed: The agent has stopped.
            QueueFull: Too many runs wait.
        """
        check_task(task, time_limit, said)
        if self._closed:
            raise ChannelClosed(agent=self._seat.name, reason=self._closed)
        if len(self._runs) >= QUEUE:
            raise QueueFull(agent=self._seat.name, limit=QUEUE)
        limit = self._agent.run_timeout if time_limit is None else time_limit
        asked = Asked(self._runs.new_id(), task, limit, said)
        self._runs.put(asked)
        self._settled()
        return asked.run

    async def outcome(self, run: RunId) -> Outcome:
        """Wait for the end of a run.

        Raises:
            RunUnknown: There was no such run here, or too long ago.
        """
        return await self._runs.outcome(run)

    def stop(self, reason: str) -> None:
        """Stop for good, from any thread: mail is refused from now on, the run ends."""
        self._shut(Refusal.STOPPED, reason)
        self._feed(Stopped(reason))

    def pause(self, reason: str) -> None:
        """Pause at the next boundary, from any thread."""
        self._feed(PauseAsked(reason))

    def resume(self) -> None:
        """Go on, from any thread."""
        self._feed(Resumed())

    async def close(self) -> None:
        """End everything: the driver, the sender, the provider's connections."""
        self._shut(Refusal.CLOSED, "the fleet is closed")
        if self._driving is not None:
            self._driving.cancel()
            await asyncio.gather(self._driving, return_exceptions=True)
        await self._sender.aclose()
        await self._caller.aclose()
        await self._reporter.aclose()

    def tell(self, kind: NoticeType, extra: str, text: str, data: dict[str, str] | None = None) -> None:
        """Send a notice of the host's own."""
        state = self._driver.state
        run = state.run.id if state.run else None
        now = self._clock.now()
        self._reporter.add(Notice(kind, extra, self._seat.name, text, run, state.step, dict(data or {}), at=now))

    def _held(self) -> tuple[Approval, ...]:
        """The calls that wait for a person; none when nobody drives them any more."""
        over = self._driving is None or self._driving.done()
        return () if over else held_calls(self._driver.state, self._driver.since)

    def _feed(self, event: Event) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._driver.feed, event)

    def _mail_came(self) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._look_at_mail)

    def _look_at_mail(self) -> None:
        self._driver.mail_came()
        self._settled()

    def _settled(self) -> None:
        """Begin what waits, when the agent is idle: the next run of the queue, or one that mail wakes."""
        if self._driver.state.phase is not Phase.IDLE or self._driver.busy:
            return
        if (asked := self._runs.next()) is not None:
            self._driver.feed(asked)
        elif not self._closed and self._agent.config.mail.on_mail == "wake" and self._inbox.wakes():
            run = self._runs.new_id()
            self._runs.expect(run)
            self._driver.feed(Woken(run, self._agent.run_timeout))

    def _finish(self, outcome: Outcome) -> None:
        self._runs.finish(outcome)
        if outcome.limit in SPENT:
            self._shut(Refusal.LIMIT, outcome.reason)

    def _shut(self, refusal: Refusal, reason: str) -> None:
        """Refuse mail from now on; what was accepted and never consumed becomes dead letters."""
        if self._closed:
            return
        self._closed = reason
        dead = [envelope for envelope in self._inbox.close(refusal) if envelope.kind is Kind.PEER]
        if self._loop is None or self._loop.is_closed():
            return
        for envelope in dead:
            text = f"{envelope.id} from {envelope.sender} was never consumed: {refusal}"
            data = {"id": envelope.id, "sender": envelope.sender, "refusal": refusal.value}
            self._loop.call_soon_threadsafe(self.tell, NoticeType.MAIL, "dead", text, data)
        self._loop.call_soon_threadsafe(self._drop_queue, reason)
        self._loop.call_soon_threadsafe(self._suspension.close, reason)

    def _drop_queue(self, reason: str) -> None:
        """Runs that never began end as stopped."""
        while (asked := self._runs.next()) is not None:
            self._end(asked.run, Ending.STOPPED, reason)

    def _driver_ended(self, task: "asyncio.Task[None]") -> None:
        """A driver that ended by itself met a bug: its run is over, and nobody waits for ever."""
        error = None if task.cancelled() else task.exception()
        reason = f"{type(error).__name__}: {error}" if error else "the fleet is closed"
        if error is not None:
            log.error("the driver of %s failed", self._seat.name, exc_info=error)
            self._shut(Refusal.CLOSED, reason)
        for run in self._runs.unfinished():
            self._end(run, Ending.FAILED if error else Ending.STOPPED, reason)

    def _end(self, run: RunId, ending: Ending, reason: str) -> None:
        """End a run that the core cannot end, unless it has ended."""
        state = self._driver.state
        going = state.run if state.run is not None and state.run.id == run else Run(run)
        outcome = Outcome(
            run, self._seat.name, ending, "", None, reason, tokens=going.tokens, rounds=going.rounds, steps=going.steps
        )
        if self._runs.finish(outcome):
            counts: dict[str, Json] = {"tokens": going.tokens, "rounds": going.rounds}
            data: dict[str, Json] = {"outcome": str(outcome), "text": "", "reason": reason, **counts}
            text = f"{outcome}: {reason}"
            notice = Notice(NoticeType.RUN, "finished", self._seat.name, text, run, state.step, data)
            self._reporter.add(notice)


def awaits_person(state: AgentState) -> str:
    """Which calls wait for somebody's leave; empty: none."""
    held = [slot.call.name for slot in state.doing.slots if slot.held] if isinstance(state.doing, Acting) else []
    return f"waits for a person to allow {', '.join(held)}" if held else ""


def output_bytes(config: AmritaConfig) -> int:
    """Bytes of one tool output: what is configured, but no more than about a third of the window."""
    least = 1024
    return max(least, min(config.function_config.tool_output_bytes, config.llm.session_tokens_windows))
