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
from collections.abc import Callable
from dataclasses import dataclass

from ..protocols.approval import Approval
from ..protocols.checkin import AgentStatus
from ..protocols.errors import FleetError
from ..protocols.ids import MessageId, RunId
from ..protocols.mail import Receipt, Refusal
from ..protocols.notices import Notice, NoticeType
from ..protocols.outcome import Ending, Limit, Outcome
from .agent import Agent
from .agent_channel import AgentChannel, Seat
from .approvals import PendingApprovals, awaits_person, held_calls
from .caller import Caller, Model
from .control import Control
from .driver import Driver, Ports
from .endings import Endings
from .errors import ChannelClosed, Fenced, JournalUnavailable, PeerUnreachable, QueueFull
from .given import check_task
from .hook_chain import HookChain
from .inbox import Inbox
from .journal.fleet_log import FleetLog
from .life_log import LifeLog
from .ports import Clock, PostOffice, SupervisorLink
from .questions import Questions
from .reporter import Reporter
from .run_queue import RunQueue
from .run_suspensions import RunSuspensions
from .sender import Sender
from .step.events import Asked, Event, PauseAsked, Resumed, Stopped, Woken
from .step.phases import Phase
from .step.state import AgentState
from .suspension import Stand
from .tools.builtin import BUILTIN
from .tools.executor import Executor
from .tools.registry import Toolbox
from .tools.tool import Tool
from .whole import WholeWork
from .workbench import Workbench

__all__ = ("AgentHost", "Seat", "Surroundings")

log = logging.getLogger(__name__)

QUEUE = 64
"""Runs that may wait for their turn."""

CLOSED = "the fleet is closed"
LEFT = "the fleet is closed; what is unfinished goes on when it is opened again"

SPENT = (Limit.TOKENS, Limit.FLEET_TOKENS)
"""Limits after which an agent can make no more model calls."""


def stay(_: str) -> None:
    """Nothing follows from the end of a life: its process has others."""


@dataclass(frozen=True)
class Surroundings:
    """What a system gives its hosts.

    Attributes:
        link: The way to the Supervisor.
        post: The way to other agents.
        clock: Time.
        log: Where what happens to agents is written, and from where an earlier life is gone on with; None: nowhere.
        superseded: Told, in the work loop, that a newer life of an agent has begun, and why that is known.
    """

    link: SupervisorLink
    post: PostOffice
    clock: Clock
    log: FleetLog | None = None
    superseded: Callable[[str], None] = stay


class AgentHost:
    """Holds one agent. See the module's text for its life.

    Attributes:
        approvals: The calls that wait for a person, from any thread.
        control: Has it stand still at a point, from the work loop.
    """

    def __init__(self, agent: Agent, seat: Seat, around: Surroundings, tools: tuple[Tool, ...] = ()) -> None:
        """Put the parts together; nothing runs before `open`. `tools` are those of the agent's MCP servers."""
        self._agent = agent
        self._seat = seat
        self._around = around
        self._clock = clock = around.clock
        self._loop: asyncio.AbstractEventLoop | None = None
        self._driving: asyncio.Task[None] | None = None
        self._work = WholeWork()
        self._runs = RunQueue(seat.name, seat.incarnation)
        self._closed = ""
        self._inbox = Inbox(seat.name, agent.config.mail, clock, self._mail_came)
        self._log = self._life_log(around.log)
        self._reporter = Reporter(around.link, clock, self.status)
        self._sender = Sender(seat.name, seat.incarnation, around.post, clock, agent.config.mail.send_timeout)
        self._channel = AgentChannel(seat, self._sender, around.post, around.link, self.tell)
        self._questions = Questions(self._channel)
        models = tuple(Model.of(preset) for preset in (agent.preset, *agent.fallbacks))
        self._caller = Caller(seat.name, seat.incarnation, models, around.link, agent.config.wind_down.input_bytes)
        state = AgentState.begin(seat.name, agent.rules)
        self._driver = Driver(state, seat.incarnation, self._ports(tools))
        self._endings = Endings(self._runs, self._log, lambda: self._driver.state, self._reporter.add)
        self.control = Control(self._suspensions)
        self.approvals = PendingApprovals(self._held, self._feed)
        if agent.config.mail.on_mail == "refuse":
            self._inbox.close(Refusal.CLOSED)

    def _life_log(self, log: FleetLog | None) -> LifeLog | None:
        seat = self._seat
        return None if log is None else LifeLog(log, seat.name, seat.incarnation, self._inbox, self._clock)

    def _ports(self, extra: tuple[Tool, ...]) -> Ports:
        agent, config = self._agent, self._agent.config
        toolbox = Toolbox((*agent.tools, *extra, *BUILTIN), config)
        hooks = HookChain(agent.hooks, self.tell)
        self._suspensions = RunSuspensions(self._runs.lives)
        return Ports(
            caller=self._caller,
            toolbox=toolbox,
            workbench=Workbench(toolbox, Executor(output_bytes=config.output_bytes), hooks),
            hooks=hooks,
            suspensions=self._suspensions,
            inbox=self._inbox,
            channel=self._channel,
            clock=self._clock,
            random=random.random,
            notify=self._reporter.add,
            consume=self._consume,
            finish=self._finish,
            settled=self._settled,
            output=agent.output,
            recorder=None if self._log is None else self._log.recorder,
        )

    async def open(self) -> None:
        """Begin to live in the running loop, or go on where an earlier life ended.

        Raises:
            Fenced: A newer life of the agent has begun.
            JournalUnavailable: The journal cannot be reached.
            RecordInvalid: What is written of an earlier life cannot be read.
        """
        self._loop = asyncio.get_running_loop()
        await self._restore()
        self._driving = self._loop.create_task(self._driver.run())
        self._driving.add_done_callback(self._driver_ended)
        self.tell(NoticeType.AGENT, "ready", f"ready (pid {os.getpid()})")
        await self._reporter.flush()
        self._look_at_mail()  # what came before there was a loop to wake

    async def _restore(self) -> None:
        """Take over what an earlier life has left."""
        if self._log is None:
            return
        past = await self._log.open(self._agent.rules)
        self._driver.state = past.state
        self._runs.restore(past.queue, past.outcomes, past.state.run.id if past.state.run else None)
        if self._log.recorder.lived:
            self._driver.feed(past.revived(self._clock.now()))

    async def deliver(self, batch: bytes) -> bytes:
        """Take a batch of mail, from any one loop; waits for nothing but the journal, if there is one.

        Raises:
            ProtocolError: The bytes are no batch.
            PeerUnreachable: This life has not begun or is over: the mail is for another one.
        """
        if self._log is None:
            return self._inbox.deliver(batch)
        try:
            return await self._log.deliver(batch)
        except Fenced as error:
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._give_way, error)
            raise PeerUnreachable(agent=self._seat.name, reason=str(error)) from error

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
            note=self._note,
            tools=state.tools,
        )

    @property
    def _note(self) -> str:
        """Why it is as it is, for people."""
        waits = self._log.recorder.note if self._log else ""
        state = self._driver.state
        stands = self._suspensions.note(state.run.id) if state.run else ""
        return self._closed or waits or stands or awaits_person(state)

    async def start(
        self, task: str, time_limit: float | None = None, said: tuple[str, ...] = (), stand: Stand | None = None
    ) -> RunId:
        """Queue a run; see `System`. `time_limit` in seconds, None: the agent's own.

        Raises:
            TaskInvalid: The task, or what was added, is no text, or the time limit is none.
            ChannelClosed: The agent has stopped.
            QueueFull: Too many runs wait.
            PeerUnreachable: A newer life of the agent has begun: the run is for that one.
            JournalUnavailable: The fleet was closed meanwhile; whether the run was accepted is unknown.
        """
        check_task(task, time_limit, said)
        if self._closed:
            raise ChannelClosed(agent=self._seat.name, reason=self._closed)
        if len(self._runs) >= QUEUE:
            raise QueueFull(agent=self._seat.name, limit=QUEUE)
        limit = self._agent.run_timeout if time_limit is None else time_limit
        asked = Asked(self._runs.new_id(), task, limit, said)
        if stand is not None:
            self._suspensions.ask(asked.run, stand)
        # Who asks may be cancelled while this is written: then the run is accepted, and only nobody knows of it.
        return await self._work.run(self._accept(asked))

    async def _accept(self, asked: Asked) -> RunId:
        """Let a run wait for its turn, once that is written."""
        if self._log is not None:
            try:
                await self._log.queued(asked)
            except Fenced as error:
                self._give_way(error)
                raise PeerUnreachable(agent=self._seat.name, reason=self._closed) from error
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

    def cancel(self, reason: str) -> None:
        """End the run, from any thread, and nothing else."""
        self._feed(Stopped(reason))

    def pause(self, reason: str) -> None:
        """Pause at the next boundary, from any thread."""
        self._feed(PauseAsked(reason))

    def resume(self) -> None:
        """Go on, from any thread."""
        self._feed(Resumed())

    async def close(self) -> None:
        """End everything: the driver, the sender, the provider's connections.

        With a journal nothing is ended for good: runs and mail are the next life's.
        """
        if self._log is None:
            self._shut(Refusal.CLOSED, CLOSED)
        else:
            await self._leave(self._log)
        if self._driving is not None:
            self._driving.cancel()
            await asyncio.gather(self._driving, return_exceptions=True)
        await self._questions.aclose()
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

    def _consume(self, ids: tuple[MessageId, ...], run: RunId, step: int) -> None:
        """Take out of the mailbox what a run has read."""
        self._questions.read(self._inbox.consume(ids, run, step))
        if self._log is not None:
            self._log.consumed(ids, run, step)

    def _finish(self, outcome: Outcome) -> None:
        self._suspensions.over(outcome.run)
        self._runs.finish(outcome)
        self._questions.answer(outcome)
        if outcome.limit in SPENT:
            self._shut(Refusal.LIMIT, outcome.reason)

    def _shut(self, refusal: Refusal, reason: str) -> None:
        """Refuse mail from now on; what was accepted and never consumed becomes dead letters."""
        if self._closed:
            return
        self._closed = reason
        dead = self._inbox.close(refusal)
        if self._loop is None or self._loop.is_closed():
            return
        self._loop.call_soon_threadsafe(self._endings.waiting, dead, refusal, reason)
        self._loop.call_soon_threadsafe(self._suspensions.close, reason)

    async def _leave(self, log: LifeLog) -> None:
        """Leave what is unfinished to the next life; what was ended for good is written first, if it can be."""
        await self._endings.written()
        self._hand_over(log, ChannelClosed(agent=self._seat.name, reason=LEFT), self._closed or CLOSED)

    def _driver_ended(self, task: "asyncio.Task[None]") -> None:
        """A driver that ended by itself met a bug: its run is over, and nobody waits for ever."""
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Fenced):
            self._give_way(error)
            return
        if self._closed and isinstance(error, JournalUnavailable):  # it waited there when its life ended
            return
        reason = f"{type(error).__name__}: {error}" if error else CLOSED
        if error is not None:
            log.error("the driver of %s failed", self._seat.name, exc_info=error)
            self._shut(Refusal.CLOSED, reason)
        for run in self._runs.unfinished():
            self._endings.run(run, Ending.FAILED if error else Ending.STOPPED, reason)

    def _give_way(self, error: Fenced) -> None:
        """Another life has begun: it has this one's runs and mail, and this one does and says nothing more."""
        if self._log is not None:
            self._hand_over(self._log, PeerUnreachable(agent=self._seat.name, reason=str(error)), str(error))
        self._around.superseded(str(error))

    def _hand_over(self, log: LifeLog, error: FleetError, reason: str) -> None:
        self._closed = reason
        log.close(reason)
        self._suspensions.close(reason)
        self._runs.give_up(error)
