"""The only async code that knows effects: performs them through ports and feeds events back.

One task takes events in order, applies `advance`, and performs the effects in order. What takes time runs in a task
of its own under the effect's `op`; an answer whose op is no longer awaited is late and is dropped here.
"""

import asyncio
import logging
from collections import deque
from typing import TypeAlias, assert_never

from ..protocols.checkin import AttemptResult, Grant, Proceed, Stop
from ..protocols.errors import FleetError, ProviderError
from ..protocols.ids import SUPERVISOR, AgentId, Incarnation, RunId
from ..protocols.mail import Envelope, Kind
from ..protocols.messages import Reply
from ..protocols.notices import Notice, NoticeType
from ..protocols.providers.base import ToolSchema
from ..protocols.waits import WaitRequest
from .call_channel import CallChannel
from .driver_ports import Ports
from .fingerprint import fingerprint
from .heartbeat import Heartbeat
from .hooks import AddNote, EndRun, LimitReached, StepBegun, StepEnded
from .log_context import LogPlace, stand_at
from .op_tasks import OpTasks
from .run_suspensions import BOUNDARY, MODEL, TOOL
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
    told_once_written,
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
    WaitEnded,
)
from .step.phases import Mail, Op, Purpose, WaitFor, Waiting, WindingDown
from .step.state import AgentState
from .tools.output import ToolContext
from .tools.update_step import UPDATE_STEP_TOOL
from .workbench import Held

__all__ = ("Driver",)

log = logging.getLogger(__name__)

Slow: TypeAlias = TakeMail | LookForMail | AskLeave | CallModel | RunTool | StartTimer | StartDeadline | WaitForMail


class Driver:
    """Drives one agent's core. All methods belong to the loop that `run` runs in.

    Attributes:
        state: The core's state; a frozen value, so any thread may read it.
        since: Unix seconds when its phase began.
        until: Unix seconds when its wait for mail ends; 0 as long as it has none.
    """

    def __init__(self, state: AgentState, incarnation: Incarnation, ports: Ports) -> None:
        """Begin with a state; nothing happens before `run`."""
        self.state = state
        self.since = ports.clock.now()
        self.until = 0.0
        self._incarnation = incarnation
        self._ports = ports
        self._events: deque[Event] = deque()
        self._recorded: deque[Notice] = deque()
        self._new = asyncio.Event()
        self._tasks = OpTasks(self._fail)
        self._bug: BaseException | None = None
        self._place = LogPlace(ports.fleet, state.agent)

    def feed(self, event: Event) -> None:
        """Have an event applied after those that came before."""
        self._events.append(event)
        self._new.set()

    @property
    def busy(self) -> bool:
        """Events wait to be applied, or what follows from one to be done."""
        return bool(self._events)

    @property
    def mail_wanted(self) -> bool:
        """The agent waits for mail that is there; any thread may ask."""
        doing = self.state.doing
        return isinstance(doing, Waiting) and self._wanted(doing.wait)

    def mail_came(self) -> None:
        """Look whether the mail that came is waited for."""
        if self.mail_wanted:
            self.feed(MailArrived())

    async def run(self) -> None:
        """Apply events until cancelled.

        Raises:
            BaseException: What a task raised that should have ended in an event: a bug, which ends the agent.
        """
        stand_at(self._place)
        try:
            while True:
                await self._new.wait()
                self._new.clear()
                while self._events:
                    await self._apply(self._events[0])
                    self._events.popleft()
                if self._bug is not None:
                    raise self._bug
                self._ports.settled()
        finally:
            self._tasks.cancel_all()
            if self._ports.spans is not None:
                self._ports.spans.break_off()

    async def _apply(self, event: Event) -> None:
        if self._late(event):
            return
        before, moved = self.state.phase, advance(self.state, event)
        self.state, effects = moved
        if self.state.phase is not before:
            self.since, self.until = self._ports.clock.now(), 0.0
        if self._ports.recorder is not None:
            self._recorded.extend(self._ports.recorder.happened(event, moved))
        if self._ports.spans is not None:
            self._ports.spans.happened(event, moved)
        self._stand()
        for effect in told_once_written(effects):
            await self._perform(effect)

    @property
    def traceparent(self) -> str:
        """The context of the span of the run that is under way or was last; empty: nobody traces."""
        return "" if self._ports.spans is None else self._ports.spans.last_run

    def called_from(self, run: RunId, caller: str) -> None:
        """A run that is to begin was asked for in the span of this traceparent; empty: in none."""
        if self._ports.spans is not None:
            self._ports.spans.expect(run, caller)

    def _stand(self) -> None:
        """Have the log say where the agent is."""
        state, place, spans = self.state, self._place, self._ports.spans
        trace = "" if spans is None else spans.traceparent
        run = "" if state.run is None else state.run.id
        if (place.run, place.step, place.trace) != (run, state.step, trace):
            self._place = place._replace(run=run, step=state.step, trace=trace)
            stand_at(self._place)

    def _enter(self, op: Op) -> str:
        """The running task makes a call: what it logs, and spans begun in it, are of that call. Gives its context."""
        if self._ports.spans is None:
            return ""
        trace = self._ports.spans.enter(op)
        stand_at(self._place._replace(trace=trace))
        return trace

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
                self._notify(effect, self._recorded.popleft() if self._recorded else None)
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
                self._tasks.start(op, self._reach_boundary(effect, self.state))
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
        """Whether there is a reason to stand still."""
        return self._ports.points.asked(self.state.current.id)

    def _mail(self, size: int) -> tuple[Mail, ...]:
        taken = self._ports.inbox.take(size)
        if self._ports.spans is not None:
            self._ports.spans.read(taken)
        return tuple(map(as_mail, taken))

    async def _reach_boundary(self, effect: TakeMail, state: AgentState) -> None:
        """A boundary at which somebody may have the agent stand, and hooks have a say."""
        ports, run = self._ports, state.current
        await ports.points.point(run.id, BOUNDARY)
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
            self.until = self._ports.clock.now() + wait.seconds
            self._tasks.start(op, self._sleep(wait.seconds, TimerFired(op)))
            self._tasks.start_whole(self._register(op, wait, self.state))

    async def _register(self, op: Op, wait: WaitFor, state: AgentState) -> None:
        """Ask whether the wait may begin; it does so meanwhile, for it has an end anyway if nobody answers."""
        try:
            refusal = await self._ports.wait(WaitRequest(state.agent, self._incarnation, state.step, op, wait.senders))
        except FleetError as error:
            log.info("%s waits, and the Supervisor does not know: %s", state.agent, error)
            return
        if refusal is not None:
            self.feed(WaitEnded(op, refusal.cause, refusal.why, refusal.agents))

    def _wanted(self, wait: WaitFor) -> bool:
        """Mail of those waited for is there; notes of the runtime always count, they may say that nobody will write."""
        return self._ports.inbox.waits(wait.senders) or (bool(wait.senders) and self._ports.inbox.waits((SUPERVISOR,)))

    def _notify(self, effect: Notify, recorded: Notice | None = None) -> None:
        """Tell the watchers; `recorded`: as the agent's record says it, if it does."""
        if effect.warning:
            log.warning("%s: %s", self.state.agent, effect.text)
        self._ports.notify(recorded or effect.notice(self.state, self._ports.clock.now()))

    async def _before_leave(self, effect: AskLeave, state: AgentState) -> None:
        """What comes before leave is asked for: somebody may have the agent stand, and a hook may extend a limit."""
        await self._ports.points.point(state.current.id, MODEL)
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
        self._enter(effect.op)
        try:
            with self._ports.reply() as watch:
                reply = await caller.call(effect.grant, self._ports.clock, watch)
        except FleetError as error:
            self.feed(failed(effect.op, error, self._ports.random()))
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
        await ports.points.point(state.current.id, TOOL)
        channel = CallChannel(ports.channel, state.hops_after, self._enter(op))
        heartbeat = Heartbeat(ports.clock, lambda text: self._notify(beaten(effect, text)))
        run, step = state.current.id, state.step
        context = ToolContext(state.agent, self._incarnation, run, step, effect.key, channel, heartbeat)
        output = await ports.workbench.run(effect.call, context, approved=effect.approved)
        if isinstance(output, Held):
            self.feed(ToolHeld(op, output.reason, output.arguments))
            return
        wait = None if output.wait is None else WaitFor(output.wait.senders, output.wait.seconds)
        leaves = ports.inbox.waits() or ports.points.draining  # mail ends a Step after the round, and so does a drain
        said = output.content
        self.feed(ToolEnded(op, said, fingerprint(said), output.failed, wait, leaves, channel.wrote))

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


def failed(op: Op, error: FleetError, jitter: float) -> ModelFailed:
    """A failed call as the core sees it."""
    after, throttled = None, False
    if isinstance(error, ProviderError):
        after, throttled = error.after, AttemptResult.of(error).throttled
    return ModelFailed(op, type(error).__name__, str(error), error.retryable, after, jitter, throttled)


def as_mail(envelope: Envelope) -> Mail:
    """A message as the core sees it."""
    question = envelope.kind is Kind.QUESTION
    return Mail(envelope.id, AgentId(envelope.sender), envelope.body, envelope.reply_to, envelope.hops, question)
