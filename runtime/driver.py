"""The only async code that knows effects: performs them through ports and feeds events back.

One task takes events in order, applies `advance`, and performs the effects in order. What takes time runs in a task
of its own under the effect's `op`; an answer whose op is no longer awaited is late and is dropped here.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, assert_never

from ..protocols.checkin import Grant, Proceed
from ..protocols.errors import FleetError
from ..protocols.ids import SUPERVISOR, AgentId, Incarnation
from ..protocols.mail import Envelope
from ..protocols.messages import ToolCall
from ..protocols.notices import Notice
from ..protocols.outcome import Outcome
from ..protocols.providers.base import Watcher
from .caller import Caller
from .inbox import Inbox
from .ports import Channel, Clock
from .step.advance import advance
from .step.effects import (
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
    CallFacts,
    DeadlinePassed,
    Directed,
    Event,
    Finished,
    MailArrived,
    MailSeen,
    MailTaken,
    ModelFailed,
    Replied,
    TimerFired,
    ToolEnded,
)
from .step.state import AgentState, Mail, Op, WaitFor, Waiting
from .tools.digest import digest, signature
from .tools.executor import Executor
from .tools.output import ToolContext, ToolOutput
from .tools.registry import Toolbox
from .tools.tool import Tool

__all__ = ("Driver", "Ports")

log = logging.getLogger(__name__)

Slow: TypeAlias = AskLeave | CallModel | RunTool | StartTimer | StartDeadline | WaitForMail


@dataclass(frozen=True)
class Ports:
    """What a driver acts through.

    Attributes:
        random: A number in [0, 1).
        notify: Takes each notice, in order.
        finish: Takes each outcome, once.
        settled: Called when the agent has become idle, or may have mail to be woken by.
        watch: Takes pieces of answers while they are streamed; None: nobody looks.
    """

    caller: Caller
    toolbox: Toolbox
    executor: Executor
    inbox: Inbox
    channel: Channel
    clock: Clock
    random: Callable[[], float]
    notify: Callable[[Notice], None]
    finish: Callable[[Outcome], None]
    settled: Callable[[], None]
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
        self._tasks: dict[Op, asyncio.Task[None]] = {}
        self._asks: set[asyncio.Task[None]] = set()
        self._bug: BaseException | None = None
        self._schemas = ports.toolbox.schemas()

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
            tasks, self._tasks = tuple(self._tasks.values()), {}
            for task in (*tasks, *self._asks):
                task.cancel()

    async def _apply(self, event: Event) -> None:
        if self._late(event):
            return
        before = self.state.phase
        self.state, effects = advance(self.state, event)
        if self.state.phase is not before:
            self.since = self._ports.clock.now()
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
            self._spawn_whole(self._ports.caller.settle_soon())
        return late

    async def _perform(self, effect: Effect) -> None:
        """Do what is done at once; begin what takes time."""
        ports = self._ports
        match effect:
            case TakeMail(op=op, size=size):
                self.feed(MailTaken(op, tuple(as_mail(envelope) for envelope in ports.inbox.take(size))))
            case LookForMail(op=op):
                self.feed(MailSeen(op, ports.inbox.waits()))
            case Cancel(ops=ops):
                self._cancel(ops)
            case Commit(consumed=ids):
                if ids:
                    ports.inbox.consume(ids, self.state.current.id, self.state.step)
            case Notify():
                self._notify(effect)
            case Finish(op=op, outcome=outcome):
                await ports.caller.settle_soon()
                ports.finish(outcome)
                self.feed(Finished(op))
            case _:
                self._begin(effect)

    def _begin(self, effect: Slow) -> None:
        """Begin what is answered later."""
        match effect:
            case AskLeave():
                self._spawn_whole(self._ask_leave(effect))
            case CallModel(op=op, grant=grant):
                self._ports.caller.hold(grant)
                self._spawn(op, self._call_model(effect)).add_done_callback(lambda _: self._settle(grant))
            case RunTool(op=op):
                self._spawn(op, self._run_tool(effect))
            case StartTimer(op=op, seconds=seconds):
                self._spawn(op, self._sleep(seconds, TimerFired(op)))
            case StartDeadline(op=op, seconds=seconds):
                self._spawn(op, self._sleep(seconds, DeadlinePassed(op)))
            case WaitForMail(op=op, wait=wait):
                self._begin_wait(op, wait)
            case _:
                assert_never(effect)

    def _begin_wait(self, op: Op, wait: WaitFor) -> None:
        if self._wanted(wait):
            self.feed(MailArrived())
        else:
            self._spawn(op, self._sleep(wait.seconds, TimerFired(op)))

    def _wanted(self, wait: WaitFor) -> bool:
        """Mail of those waited for is there; notes of the runtime always count, they may say that nobody will write."""
        return self._ports.inbox.waits(wait.senders) or (bool(wait.senders) and self._ports.inbox.waits((SUPERVISOR,)))

    def _notify(self, effect: Notify) -> None:
        state, now = self.state, self._ports.clock.now()
        run = state.run.id if state.run else None
        kind, event = effect.type, effect.extra_type
        notice = Notice(kind, event, state.agent, effect.text, run, state.step, effect.data, at=now)
        self._ports.notify(notice)

    async def _ask_leave(self, effect: AskLeave) -> None:
        tools = () if effect.last else self._schemas
        directive = await self._ports.caller.ask_leave(self.state, tools, effect.output, last=effect.last)
        self.feed(Directed(effect.op, directive))

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
            facts = tuple(self._facts(each) for each in reply.message.calls)
            self.feed(Replied(effect.op, reply, facts))

    def _settle(self, grant: Grant) -> None:
        """A call has ended, whether it ever began or not: report it now, without anybody waiting for that."""
        caller = self._ports.caller
        caller.release(grant)
        if caller.owes and not asyncio.get_running_loop().is_closed():
            self._spawn_whole(caller.settle_soon())

    def _facts(self, asked: ToolCall) -> CallFacts:
        tool = self._ports.toolbox.get(asked.name)
        return CallFacts(signature(asked.name, asked.arguments), polling=tool is not None and tool.polling)

    async def _run_tool(self, effect: RunTool) -> None:
        state, ports, asked = self.state, self._ports, effect.call
        context = ToolContext(
            state.agent, self._incarnation, state.current.id, state.step, int(effect.op), ports.channel
        )
        tool = ports.toolbox.get(asked.name)
        if tool is None:
            output = ports.toolbox.missing(asked.name)
        else:
            output = await self._run_uncut(tool, asked.arguments, context, effect.op)
        wait = None if output.wait is None else WaitFor(output.wait.senders, output.wait.seconds)
        event = ToolEnded(effect.op, output.content, digest(output.content), output.failed, wait, ports.inbox.waits())
        self.feed(event)

    async def _run_uncut(self, tool: Tool, arguments: str, context: ToolContext, op: Op) -> ToolOutput:
        """Run a call; one that cancels its own task has failed, only the driver may end it without an output."""
        try:
            return await self._ports.executor.run(tool, arguments, context)
        except asyncio.CancelledError:
            if op not in self._tasks:
                raise
            if (task := asyncio.current_task()) is not None:
                task.uncancel()
            return ToolOutput.failure(f"{tool.name} cancelled itself.")

    async def _sleep(self, seconds: float, event: Event) -> None:
        await self._ports.clock.sleep(seconds)
        self.feed(event)

    def _spawn(self, op: Op, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.create_task(work)
        self._tasks[op] = task
        task.add_done_callback(partial(self._ended, op))
        return task

    def _spawn_whole(self, work: Coroutine[Any, Any, None]) -> None:
        """Start what must not be cut: a check-in may have reserved tokens, a settlement frees them."""
        task = asyncio.create_task(work)
        self._asks.add(task)
        task.add_done_callback(self._ended_whole)

    def _ended(self, op: Op, task: "asyncio.Task[None]") -> None:
        """A task that ends without its event would leave the agent waiting for ever."""
        cancelled_here = self._tasks.pop(op, None) is None
        if task.cancelled() and not cancelled_here:
            self._fail(RuntimeError("what was awaited cancelled itself"))
        elif not task.cancelled() and (error := task.exception()) is not None:
            self._fail(error)

    def _ended_whole(self, task: "asyncio.Task[None]") -> None:
        self._asks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        self._bug = error
        self._new.set()

    def _cancel(self, ops: tuple[Op, ...]) -> None:
        for op in ops:
            if task := self._tasks.pop(op, None):
                task.cancel()


def as_mail(envelope: Envelope) -> Mail:
    """A message as the core sees it."""
    return Mail(envelope.id, AgentId(envelope.sender), envelope.body, envelope.reply_to)
