"""One agent and all that belongs to it: mailbox, driver, control. Both systems hold this same object.

The life of a host:

1. Made with an agent's description and the ports of its system. Nothing runs yet.
2. `open` binds it to the running loop, the work loop, and starts the driver.
3. `deliver`, `status`, `receipt`, `stop`, `pause` and `resume` may come from any thread, also while a tool blocks the
   work loop: they touch only what a lock guards, and reach the loop by `call_soon_threadsafe`.
4. `start` queues a run, `outcome` waits for its end. One run at a time; mail wakes an idle agent.
5. `stop` closes the mailbox at once, then ends the run. `drain` has it stand at its next boundary. `close` ends
   everything.
"""

import asyncio
import os
import random
from collections.abc import Mapping
from functools import partial

from ..protocols.approval import Approval
from ..protocols.checkin import AgentStatus
from ..protocols.ids import MessageId, RunId
from ..protocols.limits import Limits
from ..protocols.mail import Receipt, Refusal
from ..protocols.messages import Json
from ..protocols.notices import Notice, NoticeType
from ..protocols.outcome import Outcome
from .agent import Agent
from .agent_channel import AgentChannel, Seat
from .agent_spans import spans_of
from .agent_waits import AgentWaits
from .approvals import PendingApprovals, awaits_person, held_calls
from .caller import Caller, Model
from .control import Control
from .draining import under_way
from .driver import Driver
from .driver_ports import Ports
from .endings import Endings
from .errors import ChannelClosed, PeerUnreachable, QueueFull
from .given import check_task
from .hook_chain import HookChain
from .inbox import Inbox
from .insight import AgentInsight
from .journal_errors import Fenced
from .lease import Lease
from .life_end import LifeEnd
from .life_log import LifeLog
from .limit_errors import PriceMissing
from .points import Points
from .questions import Questions
from .reporter import Reporter
from .run_queue import RunQueue
from .run_suspensions import RunSuspensions
from .sender import Sender
from .step.events import Asked, Event, PauseAsked, Resumed, Stopped, Woken
from .step.phases import Phase
from .step.state import AgentState
from .surroundings import Surroundings
from .suspension import Stand
from .tools.builtin import BUILTIN
from .tools.executor import Executor
from .tools.registry import Toolbox
from .tools.spawn_agent import spawning_tools
from .tools.tool import Tool
from .whole import WholeWork
from .work_loop import WorkLoop
from .workbench import Workbench

__all__ = ("AgentHost", "Seat", "Surroundings")

QUEUE = 64
"""Runs that may wait for their turn."""


class AgentHost:
    """Holds one agent. See the module's text for its life.

    Attributes:
        approvals: The calls that wait for a person, from any thread.
        control: Has it stand still at a point, from the work loop.
        insight: What a person is shown of it.
        waits: How it stands, and the end of its waits for mail, from any thread.
    """

    def __init__(self, agent: Agent, seat: Seat, around: Surroundings, tools: tuple[Tool, ...] = ()) -> None:
        """Put the parts together; nothing runs before `open`. `tools` are those of the agent's MCP servers."""
        self._agent = agent
        self._seat = seat
        self._around = around
        self._clock = clock = around.clock
        self._loop = WorkLoop()
        self._driving: asyncio.Task[None] | None = None
        self._turned = asyncio.Event()
        self._work = WholeWork()
        self._runs = RunQueue(seat.name, seat.incarnation)
        self._inbox = Inbox(seat.name, agent.config.mail, clock, self._mail_came)
        self._log = LifeLog.of(around.log, seat.name, seat.incarnation, self._inbox, clock)
        self._reporter = Reporter(around.link, clock, self.status, self._log.recorder.heard if self._log else None)
        self._sender = Sender(seat.name, seat.incarnation, around.post, clock, agent.config.mail.send_timeout)
        self._channel = AgentChannel(seat, self._sender, around, self._inbox, agent.peers, self.tell)
        self._questions = Questions(self._channel)
        self._suspensions = RunSuspensions(self._runs.lives)
        self._lease = self._take_lease() if around.leased else None
        self._points = Points(self._suspensions, self._lease, self._turned.set)
        self._caller = self._model_caller()
        self.insight = AgentInsight(self._inbox, seat.incarnation, clock, lambda: self._driver.state)
        self._driver = Driver(AgentState.begin(seat.name, agent.rules), seat.incarnation, self._ports(tools))
        self._end = self._life_end()
        self.control = Control(self._suspensions)
        self.approvals = PendingApprovals(self._held, self._feed)
        self.waits = AgentWaits(self._driver, self._feed, self.status, self._questions, self._begins)
        if agent.config.mail.on_mail == "refuse":
            self._inbox.close(Refusal.CLOSED)

    def _model_caller(self) -> Caller:
        agent, seat = self._agent, self._seat
        models = tuple(Model.of(preset) for preset in (agent.preset, *agent.fallbacks))
        return Caller(seat.name, seat.incarnation, models, self._around.link, agent.config.wind_down.input_bytes)

    def _take_lease(self) -> Lease:
        seat, link = self._seat, self._around.link
        renew = partial(link.renew, seat.name, seat.incarnation)
        return Lease(seat.name, renew, self._clock, lambda: self._end.overtaken(seat.incarnation), self._back)

    def _life_end(self) -> LifeEnd:
        endings = Endings(self._runs, self._log, lambda: self._driver.state, self._reporter.add)
        name, told = self._seat.name, self._around.superseded
        return LifeEnd(name, self._loop, self._inbox, self._runs, self._suspensions, endings, self._log, told)

    def _ports(self, extra: tuple[Tool, ...]) -> Ports:
        agent, config = self._agent, self._agent.config
        spawning = () if agent.spawns is None else spawning_tools(agent.spawns.offers, self._around.children)
        toolbox = Toolbox((*agent.tools, *extra, *BUILTIN, *spawning), config)
        hooks = HookChain(agent.hooks, self.tell)
        return Ports(
            caller=self._caller,
            toolbox=toolbox,
            workbench=Workbench(toolbox, Executor(output_bytes=config.output_bytes), hooks),
            hooks=hooks,
            points=self._points,
            inbox=self._inbox,
            channel=self._channel,
            wait=self._around.link.wait,
            clock=self._clock,
            random=random.random,
            notify=self._reporter.add,
            consume=self._consume,
            finish=self._finish,
            settled=self._settled,
            output=agent.output,
            reply=self.insight.speech.reply,
            recorder=None if self._log is None else self._log.recorder,
            spans=spans_of((agent.preset, *agent.fallbacks), self._seat, self._around, toolbox),
            fleet=self._around.fleet,
        )

    async def open(self, stopped: str = "") -> None:
        """Begin to live in the running loop, or go on where an earlier life ended.

        `stopped`: why the agent may do nothing more, in whichever life; empty: it may.

        Raises:
            Fenced: A newer life of the agent has begun.
            JournalUnavailable: The journal cannot be reached.
            RecordInvalid: What is written of an earlier life cannot be read.
        """
        self._loop.bind()
        await self._restore()
        if stopped:
            self.stop(stopped)
        self._driving = asyncio.create_task(self._driver.run())
        self._driving.add_done_callback(self._end.driver_ended)
        self._driving.add_done_callback(lambda _: self._turned.set())
        if self._lease is not None:
            self._lease.open()
        self.tell(NoticeType.AGENT, "ready", f"ready (pid {os.getpid()})")
        await self._reporter.flush()
        self._look_at_mail()  # what came before there was a loop to wake

    async def _restore(self) -> None:
        """Take over what an earlier life has left."""
        if self._log is None:
            return
        past = await self._log.open(self._agent.rules)
        self._driver.state = past.state
        self._reporter.add(*past.untold)
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
            self._loop.soon(self._end.give_way, error)
            raise PeerUnreachable(agent=self._seat.name, reason=str(error)) from error

    def receipt(self, message: MessageId) -> Receipt | None:
        """What the mailbox remembers of a message, from any thread."""
        return self._inbox.receipt(message)

    def status(self) -> AgentStatus:
        """The agent's row of the fleet's table, from any thread."""
        state, (waiting, consumed) = self._driver.state, self._inbox.counts()
        over = self._driving is not None and self._driving.done()
        return AgentStatus(
            agent=self._seat.name,
            incarnation=self._seat.incarnation,
            phase="stopped" if over or (self._end.reason and state.phase is Phase.IDLE) else state.phase.value,
            since=self._driver.since,
            run=state.run.id if state.run and not over else None,
            step=state.step,
            round=state.run.rounds if state.run else 0,
            waiting=waiting,
            sent=self._sender.sent,
            consumed=consumed,
            parent=self._seat.parent,
            pid=os.getpid(),
            node=self._around.node,
            note=self._note,
            tools=state.tools,
            runs=() if over else self._runs.open,
        )

    @property
    def _note(self) -> str:
        """Why it is as it is, for people."""
        waits = self._log.recorder.note if self._log else ""
        state = self._driver.state
        stands = self._points.note(state.run.id if state.run else None)
        return self._end.reason or waits or stands or awaits_person(state) or self.waits.note

    async def start(
        self,
        task: str,
        time_limit: float | None = None,
        said: tuple[str, ...] = (),
        stand: Stand | None = None,
        limit: Limits | None = None,
        caller: str = "",
    ) -> RunId:
        """Queue a run; see `System`. `time_limit` in seconds, None: the agent's own; `caller` a traceparent, or empty.

        Raises:
            TaskInvalid: The task, or what was added, is no text, or the time limit is none.
            PriceMissing: Its money is limited, and a preset does not say what its model costs.
            ChannelClosed: The agent has stopped.
            QueueFull: Too many runs wait.
            PeerUnreachable: A newer life of the agent has begun: the run is for that one.
            JournalUnavailable: The fleet was closed meanwhile; whether the run was accepted is unknown.
        """
        check_task(task, time_limit, said)
        if self._end.reason:
            raise ChannelClosed(agent=self._seat.name, reason=self._end.reason)
        if len(self._runs) >= QUEUE:
            raise QueueFull(agent=self._seat.name, limit=QUEUE)
        if limit is not None and limit.dollars is not None and not self._agent.priced:
            raise PriceMissing(agent=self._seat.name, account="the run")
        seconds = self._agent.run_timeout if time_limit is None else time_limit
        asked = Asked(self._runs.new_id(), task, seconds, said, limit)
        if stand is not None:
            self._suspensions.ask(asked.run, stand)
        self._driver.called_from(asked.run, caller)
        # Who asks may be cancelled while this is written: then the run is accepted, and only nobody knows of it.
        return await self._work.run(self._accept(asked))

    async def _accept(self, asked: Asked) -> RunId:
        """Let a run wait for its turn, once that is written."""
        if self._log is not None:
            try:
                await self._log.queued(asked)
            except Fenced as error:
                self._end.give_way(error)
                raise PeerUnreachable(agent=self._seat.name, reason=self._end.reason) from error
        self._runs.put(asked)
        self._settled()
        return asked.run

    async def outcome(self, run: RunId) -> Outcome:
        """Wait for the end of a run.

        Raises:
            RunUnknown: There was no such run here, or too long ago.
        """
        return await self._runs.outcome(run)

    def stop(self, reason: str, *, for_good: bool = True) -> None:
        """End the run, from any thread; and unless that is all, refuse mail and runs from now on."""
        if for_good:
            self._end.shut(Refusal.STOPPED, reason)
        self._feed(Stopped(reason))

    def pause(self, reason: str | None) -> None:
        """Pause at the next boundary, from any thread; without a reason, go on, also after a limit that was raised."""
        if reason is None:
            self._end.reopen()
        self._feed(Resumed() if reason is None else PauseAsked(reason))

    async def drain(self) -> None:
        """Begin nothing new in this life, and wait until nothing is under way that ends by itself.

        The agent then stands at a boundary, or waits for mail, a person, or its Supervisor. A run that was asked for
        waits for the next life, or for `close`.
        """
        self._points.drain()
        while not self._rests:
            self._turned.clear()
            await self._turned.wait()

    def undrain(self) -> None:
        """Go on after a drain that no end has followed; in the work loop."""
        self._points.undrain()
        self._look_at_mail()

    async def close(self) -> None:
        """End everything: the driver, the sender, the provider's connections.

        With a journal nothing is ended for good: runs and mail are the next life's.
        """
        await self._end.close()
        if self._lease is not None:
            await self._lease.aclose()
        if self._driving is not None:
            self._driving.cancel()
            await asyncio.gather(self._driving, return_exceptions=True)
        await self._questions.aclose()
        await self._sender.aclose()
        await self._caller.aclose()
        await self._reporter.aclose()

    def tell(self, kind: NoticeType, extra: str, text: str, data: Mapping[str, Json] | None = None) -> None:
        """Send a notice of the host's own."""
        state, now = self._driver.state, self._clock.now()
        run = state.run.id if state.run else None
        self._reporter.add(Notice(kind, extra, self._seat.name, text, run, state.step, dict(data or {}), at=now))

    @property
    def _rests(self) -> bool:
        over = self._driving is None or self._driving.done()
        return over or (not self._driver.busy and under_way(self._driver.state.doing) <= self._points.standing)

    def _back(self, away: float) -> None:
        text = f"goes on: it was cut off from the Supervisor for {away:.0f} s"
        self.tell(NoticeType.AGENT, "cut_off", text, {"seconds": round(away, 1)})

    def _held(self) -> tuple[Approval, ...]:
        """The calls that wait for a person; none when nobody drives them any more."""
        over = self._driving is None or self._driving.done()
        return () if over else held_calls(self._driver.state, self._driver.since)

    def _feed(self, event: Event) -> None:
        self._loop.soon(self._driver.feed, event)

    def _mail_came(self) -> None:
        self._loop.soon(self._look_at_mail)

    def _look_at_mail(self) -> None:
        self._driver.mail_came()
        self._settled()

    def _settled(self) -> None:
        """Begin what waits, when the agent is idle: the next run of the queue, or one that mail wakes."""
        self._turned.set()
        self._reporter.look(self._driver.state.phase)
        if self._points.draining:
            return
        if self._driver.state.phase is not Phase.IDLE or self._driver.busy:
            return
        if (asked := self._runs.next()) is not None:
            self._driver.feed(asked)
        elif self._begins():
            run = self._runs.new_id()
            self._runs.expect(run)
            self._driver.feed(Woken(run, self._agent.run_timeout))

    def _begins(self) -> bool:
        """Whether a run waits for its turn, or mail that begins one."""
        wakes = not self._end.reason and self._agent.config.mail.on_mail == "wake"
        return len(self._runs) > 0 or (wakes and self._inbox.wakes())

    def _consume(self, ids: tuple[MessageId, ...], run: RunId, step: int) -> None:
        """Take out of the mailbox what a run has read."""
        self._inbox.consume(ids, run, step)
        if self._log is not None:
            self._log.consumed(ids, run, step)

    def _finish(self, outcome: Outcome) -> None:
        self._suspensions.over(outcome.run)
        self._runs.finish(outcome)
        self._questions.answer(outcome, self._driver.state.current.questions, self._driver.traceparent)
        if outcome.limit is not None and outcome.limit.exhausts_agent:
            self._end.shut(Refusal.LIMIT, outcome.reason)
