"""The only async code that knows effects: performs them through ports and feeds events back.

One task takes events in order, applies `advance`, and performs the effects in order. What takes time runs in a task
of its own under the effect's `op`; an answer whose op is no longer awaited is late and is dropped here.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias, assert_never

from ..protocols.checkin import Grant, Proceed, Stop
from ..protocols.errors import FleetError
from ..protocols.ids import SUPERVISOR, AgentId, Incarnation, MessageId, RunId
from ..protocols.mail import Envelope
from ..protocols.messages import Json, Reply
from ..protocols.notices import Notice, NoticeType
from ..protocols.outcome import Outcome
from ..protocols.providers.base import ToolSchema, Watcher
from .caller import Caller
from .heartbeat import Heartbeat
from .hook_chain import HookChain
from .hooks import AddNote, EndRun, LimitReached, StepBegun, StepEnded
from .inbox import Inbox
from .op_tasks import OpTasks
from .ports import Channel, Clock
from .recorder import Recorder
from .run_suspensions import RunSuspensions
from .step.advance import advance
from .step.effects import (
    AskApproval,
    AskLeave,
    CallModel,
    Cancel,
    Commit,
    Effect,
    Finish,
    LookForMail,
    Notify,
    RunTool,
    StartDeadline,
    StartTimer,
    TakeMail,
    WaitForMail,
)
from .step.events import (
    DeadlinePassed,
    Directed,
    Event,
    Extended,
    Finished,
    MailArrived,
    MailSeen,
    MailTaken,
    ModelFailed,
    Replied,
    TimerFired,
    ToolEnded,
    ToolHeld,
)
from .step.phases import Mail, Op, Purpose, WaitFor, Waiting, WindingDown
from .step.state import AgentState
from .tools.digest import digest
from .tools.output import ToolContext
from .tools.registry import Toolbox
from .tools.update_step import UPDATE_STEP_TOOL
from .workbench import Held, Workbench

__all__ = ("AnswerReader", "Driver", "Ports")

log = logging.getLogger(__name__)

Slow: TypeAlias = TakeMail | LookForMail | AskLeave | CallModel | RunTool | StartTimer | StartDeadline | WaitForMail


class AnswerReader(Protocol):
    """Reads a typed answer."""

    def read(self, text: str) -> tuple[Json, str]:
        """The validated value as plain data and no flaw; or no value, and what the model must correct."""
        ...


@dataclass(frozen=True)
class Ports:
    """What a driver acts through.

    Attributes:
        workbench: Runs tool calls.
        hooks: What the user's own code has to say at Steps and limits.
        suspensions: Where somebody may have a run stand still.
        random: A number in [0, 1).
        notify: Takes each notice, in order.
        consume: Takes messages out of the mailbox, for the run and the Step that read them.
        finish: Takes each outcome, at least once.
        settled: Called when the agent has become idle, or may have mail to be woken by.
        output: Reads an answer that must be of a type; None: any text will do.
        recorder: Writes down what happens before what follows from it is done; None: nobody does.
        watch: Takes pieces of answers while they are streamed; None: nobody looks.
    """

    caller: Caller
    toolbox: Toolbox
    workbench: Workbench
    hooks: HookChain
    suspensions: RunSuspensions
    inbox: Inbox
    channel: Channel
    clock: Clock
    random: Callable[[], float]
    notify: Callable[[Notice], None]
    consume: Callable[[tuple[MessageId, ...], RunId, int], None]
    finish: Callable[[Outcome], None]
    settled: Callable[[], None]
    output: AnswerReader | None = None
    recorder: Recorder | None = None
    watch: Watcher | None = None


class Driver:
    """Drives one agent's core. All methods belong to the loop that `run` runs in.

    Attributes:
        state: The core's state; a frozen value, so any thread may read it.
        since: Unix seconds when its phase began.
    """

    def __init__(self, state: AgentState, incarnation: Incarnation, ports: Ports) -> None:
        """Begin with a state; nothing happens before `run`."""
        self.state = state
        self.since = ports.clock.now()
        self._incarnation = incarnation
        self._ports = ports
        self._events: deque[Event] = deque()
        self._new = asyncio.Event()
        self._tasks = OpTasks(self._fail)
        self._bug: BaseException | None = None

    def feed(self, event: Event) -> None:
        """Have an event applied after those that came before."""
        self._events.append(event)
        self._new.set()

    @property
    def busy(self) -> bool:
        """Events wait to be applied."""
        return bool(self._events)

    def mail_came(self) -> None:
        """Look whether the mail that came is waited for."""
        doing = self.state.doing
        if isinstance(doing, Waiting) and self._wanted(doing.wait):
            self.feed(MailArrived())

    async def run(self) -> None:
        """Apply events until cancelled.

        Raises:
            BaseException: What a task raised that should have ended in an event: a bug, which ends the agent.
        """
        try:
            while True:
                await self._new.wait()
                self._new.clear()
                while self._events:
                    await self._apply(self._events.popleft())
                if self._bug is not None:
                    raise self._bug
                self._ports.settled()
        finally:
            self._tasks.cancel_all()

    async def _apply(self, event: Event) -> None:
        if self._late(event):
            return
        before, moved = self.state.phase, advance(self.state, event)
        self.state, effects = moved
        if self.state.phase is not before:
            self.since = self._ports.clock.now()
        if self._ports.recorder is not None:
            self._ports.recorder.happened(event, moved)
        for effect in effects:
            await self._perform(effect)

    def _late(self, event: Event) -> bool:
        """Whether nobody awaits this answer any more."""
        if isinstance(event, MailArrived):
            return not isinstance(self.state.doing, Waiting)
        op = getattr(event, "op", None)
        late = op is not None and not self.state.awaits(op)
        if late and isinstance(event, Directed) and isinstance(event.directive, Proceed):
            self._ports.caller.decline(event.directive.grant)
            self._tasks.start_whole(self._ports.caller.settle_soon())
        return late

    async def _perform(self, effect: Effect) -> None:
        """Do what is done at once; begin what takes time."""
        ports = self._ports
        match effect:
            case TakeMail(op=op, size=size) if not (ports.hooks or self._asked):
                self.feed(MailTaken(op, self._mail(size)))
            case LookForMail(op=op) if not ports.hooks:
                self.feed(MailSeen(op, ports.inbox.waits()))
            case Cancel(ops=ops):
                self._tasks.cancel(ops)
            case Commit(consumed=ids):
                if ports.recorder is not None:
                    await ports.recorder.commit()
                if ids:
                    ports.consume(ids, self.state.current.id, self.state.step)
            case Notify():
                self._notify(effect)
            case AskApproval():
                pass  # the state holds the call, which is where people see it; their answer is fed in
            case Finish(op=op, outcome=outcome):
                await ports.caller.settle_soon()
                ports.finish(outcome)
                self.feed(Finished(op))
            case _:
                self._begin(effect)

    def _begin(self, effect: Slow) -> None:
        """Begin what is answered later."""
        match effect:
            case TakeMail(op=op):
                self._tasks.start(op, self._enter(effect, self.state))
            case LookForMail(op=op):
                self._tasks.start(op, self._leave(effect, self.state))
            case AskLeave(op=op):
                if self._asked or (effect.first and self._ports.hooks):
                    self._tasks.start(op, self._before_leave(effect, self.state))
                else:
                    self._tasks.start_whole(self._ask_leave(effect, self.state))
            case CallModel(op=op, grant=grant):
                self._ports.caller.hold(grant)
                self._tasks.start(op, self._call_model(effect)).add_done_callback(lambda _: self._settle(grant))
            case RunTool(op=op):
                self._tasks.start(op, self._run_tool(effect, self.state))
            case StartTimer(op=op, seconds=seconds):
                self._tasks.start(op, self._sleep(seconds, TimerFired(op)))
            case StartDeadline(op=op, seconds=seconds):
                self._tasks.start(op, self._sleep(seconds, DeadlinePassed(op)))
            case WaitForMail(op=op, wait=wait):
                self._begin_wait(op, wait)
            case _:
                assert_never(effect)

    @property
    def _asked(self) -> bool:
        """Whether somebody asked this run to stand still."""
        return self._ports.suspensions.asked(self.state.current.id)

    def _mail(self, size: int) -> tuple[Mail, ...]:
        return tuple(as_mail(envelope) for envelope in self._ports.inbox.take(size))

    async def _enter(self, effect: TakeMail, state: AgentState) -> None:
        """A boundary at which somebody may have the agent stand, and hooks have a say."""
        ports, run = self._ports, state.current
        await ports.suspensions.point(run.id, "boundary")
        begins = StepBegun(agent=state.agent, run=run.id, step=state.step, node=run.node or "")
        said = await ports.hooks.before_step(begins)
        notes = (said.text,) if isinstance(said, AddNote) else ()
        refused = said.reason if isinstance(said, EndRun) else None
        self.feed(MailTaken(effect.op, self._mail(effect.size), notes, refused))

    async def _leave(self, effect: LookForMail, state: AgentState) -> None:
        """The end of a Step, where hooks have a say."""
        run = state.current
        ended = StepEnded(agent=state.agent, run=run.id, step=state.step, node=run.node or "", summary=effect.summary)
        said = await self._ports.hooks.after_step(ended)
        self.feed(MailSeen(effect.op, self._ports.inbox.waits(), None if said is None else said.text))

    def _begin_wait(self, op: Op, wait: WaitFor) -> None:
        if self._wanted(wait):
            self.feed(MailArrived())
        else:
            self._tasks.start(op, self._sleep(wait.seconds, TimerFired(op)))

    def _wanted(self, wait: WaitFor) -> bool:
        """Mail of those waited for is there; notes of the runtime always count, they may say that nobody will write."""
        return self._ports.inbox.waits(wait.senders) or (bool(wait.senders) and self._ports.inbox.waits((SUPERVISOR,)))

    def _notify(self, effect: Notify) -> None:
        if effect.warning:
            log.warning("%s: %s", self.state.agent, effect.text)
        state, now = self.state, self._ports.clock.now()
        run = state.run.id if state.run else None
        kind, event = effect.type, effect.extra_type
        notice = Notice(kind, event, state.agent, effect.text, run, state.step, effect.data, at=now)
        self._ports.notify(notice)

    async def _before_leave(self, effect: AskLeave, state: AgentState) -> None:
        """What comes before leave is asked for: somebody may have the agent stand, and a hook may extend a limit."""
        await self._ports.suspensions.point(state.current.id, "model")
        doing = effect.doing
        if effect.first and isinstance(doing, WindingDown) and doing.limit is not None:
            reached = LimitReached(
                agent=state.agent, run=state.current.id, step=state.step, limit=doing.limit, reason=doing.reason
            )
            said = await self._ports.hooks.on_limit(reached)
            if said is not None:
                self.feed(Extended(effect.op, said.rounds))
                return
        self._tasks.start_whole(self._ask_leave(effect, state))

    async def _ask_leave(self, effect: AskLeave, state: AgentState) -> None:
        ports = self._ports
        directive = await ports.caller.ask_leave(state, effect.doing, self._tools(state), effect.output)
        if ports.recorder is not None and isinstance(directive, Stop) and directive.fenced:
            raise ports.recorder.fenced(self._incarnation)  # a stop would be written, and so end the next life's run
        self.feed(Directed(effect.op, directive))

    def _tools(self, state: AgentState) -> tuple[ToolSchema, ...]:
        """What the model may call now: only at a node of a plan is there something to revise."""
        schemas = self._ports.toolbox.schemas()
        return schemas if state.current.node is None else (*schemas, UPDATE_STEP_TOOL)

    async def _call_model(self, effect: CallModel) -> None:
        caller = self._ports.caller
        try:
            reply = await caller.call(effect.grant, self._ports.clock, self._ports.watch)
        except FleetError as error:
            jitter = self._ports.random()
            after = getattr(error, "after", None)
            self.feed(ModelFailed(effect.op, type(error).__name__, str(error), error.retryable, after, jitter))
        except Exception as error:  # a provider's bug is a failed call, not the end of the agent
            log.exception("a model call of %s raised", self.state.agent)
            self.feed(ModelFailed(effect.op, type(error).__name__, f"{type(error).__name__}: {error}", retryable=False))
        else:
            self.feed(self._replied(effect, reply))

    def _settle(self, grant: Grant) -> None:
        """A call has ended, whether it ever began or not: report it now, without anybody waiting for that."""
        caller = self._ports.caller
        caller.release(grant)
        if caller.owes and not asyncio.get_running_loop().is_closed():
            self._tasks.start_whole(caller.settle_soon())

    def _replied(self, effect: CallModel, reply: Reply) -> Replied:
        """A reply, with what the core must know of it and cannot compute in time."""
        calls, reader = reply.message.calls, self._ports.output
        facts = tuple(self._ports.workbench.facts(each) for each in calls)
        if reader is None or calls or effect.purpose not in (Purpose.THINK, Purpose.LAST):
            return Replied(effect.op, reply, facts)
        value, flaw = reader.read(reply.message.content)
        return Replied(effect.op, reply, facts, flaw, value)

    async def _run_tool(self, effect: RunTool, state: AgentState) -> None:
        ports, op = self._ports, effect.op
        await ports.suspensions.point(state.current.id, "tool")
        heartbeat = Heartbeat(ports.clock, lambda text: self._notify(beaten(effect, text)))
        run, step = state.current.id, state.step
        context = ToolContext(state.agent, self._incarnation, run, step, effect.key, ports.channel, heartbeat)
        output = await ports.workbench.run(effect.call, context, approved=effect.approved)
        if isinstance(output, Held):
            self.feed(ToolHeld(op, output.reason, output.arguments))
            return
        wait = None if output.wait is None else WaitFor(output.wait.senders, output.wait.seconds)
        self.feed(ToolEnded(op, output.content, digest(output.content), output.failed, wait, ports.inbox.waits()))

    async def _sleep(self, seconds: float, event: Event) -> None:
        await self._ports.clock.sleep(seconds)
        self.feed(event)

    def _fail(self, error: BaseException) -> None:
        self._bug = error
        self._new.set()


def beaten(effect: RunTool, text: str) -> Notify:
    """That a call goes on, as its tool says."""
    name = effect.call.name
    return Notify(NoticeType.TOOL, "progress", f"{name}: {text[:200]}", {"tool": name, "call": effect.key})


def as_mail(envelope: Envelope) -> Mail:
    """A message as the core sees it."""
    return Mail(envelope.id, AgentId(envelope.sender), envelope.body, envelope.reply_to)
