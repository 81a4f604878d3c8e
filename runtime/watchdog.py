"""The watch at work: looks after the living every few seconds, and does what the ladder says.

It stands beside the Supervisor, whose notices it reads and whose check-ins and settlements it is told of. What a system
can do to an agent is a port (`Reach`). Nothing here decides: that is `supervision.watch` and `supervision.ladder`.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Lock
from typing import Protocol, assert_never

from ..protocols.checkin import DEAD, RESTARTING, STOPPED, AgentStatus, CheckIn, Directive, EndStep, Settlement, Stop
from ..protocols.errors import FleetError
from ..protocols.ids import USER, AgentId, Incarnation, RunId
from .ports import Clock
from .stop_teller import StopTeller
from .supervision.advice import notice_of, order_to, reason_of, report_of
from .supervision.facts import CheckedIn, Fact, Heard, Pulse, Seen, Settled
from .supervision.finding import Trouble
from .supervision.ladder import Action, Ladder
from .supervision.policy import Rung, WatchPolicy
from .supervision.supervisor import Supervisor
from .supervision.verdict import State
from .supervision.watch import Watch

__all__ = ("Reach", "Watchdog", "watch_over")

log = logging.getLogger(__name__)

QUIET = frozenset({"idle", "waiting", "paused", STOPPED, DEAD, RESTARTING})
"""Phases in which an agent does nothing: that it begins something comes as a notice, so nobody asks until then."""

PATIENCE = 1.0
"""Seconds a look waits for answers; who answers later is seen at the next."""

ASKED = 50
"""Agents that are asked within a second at most: in a larger fleet the looks are farther apart."""

ACTION_PATIENCE = 10.0
"""Seconds that one action on one agent may take before the next look is due all the same."""

MOST = 1000
"""Notices that are read at once."""

LOOPS = frozenset({Trouble.CALL_LOOP, Trouble.MESSAGE_LOOP, Trouble.SHARED_FAILURE})
"""Troubles of agents that answer: one that is stopped stops, and its process need not be killed for it."""

SELF = AgentStatus(agent=USER, incarnation=Incarnation(0), phase="watching", since=0.0)
"""Under which the Supervisor is told notices: of who is no agent it keeps nothing else."""


@dataclass(frozen=True, slots=True)
class StepOrder:
    """An order to end a Step, until an agent checks in.

    Attributes:
        reason: Why.
        run: The only run that it is about; None: whichever, since each message may begin one.
        until: When it is no longer about anything, in the watch's seconds.
    """

    reason: str
    run: RunId | None
    until: float

    def holds(self, asked: CheckIn, at: float) -> bool:
        """Whether it is about the Step in which this is asked."""
        return self.run in {None, asked.run} and at <= self.until


class Reach(Protocol):
    """What a system can ask of its agents, and do to them. Each method raises a `FleetError` where it cannot."""

    async def status(self, agent: AgentId) -> AgentStatus:
        """How it is now, whatever its loop does."""
        ...

    async def beat(self, agent: AgentId) -> None:
        """Have the loop in which it works answer; nothing else can."""
        ...

    async def cancel(self, agent: AgentId, reason: str) -> None:
        """End its run, and nothing else."""
        ...

    async def kill(self, agent: AgentId, reason: str) -> None:
        """End its life, so that what follows a death follows."""
        ...

    async def stop(self, agent: AgentId, reason: str) -> None:
        """Stop it, and those under it, for good."""
        ...

    async def tell_stopped(self, agent: AgentId, reason: str) -> None:
        """Tell it that it is stopped for good; the Supervisor has its tombstone already."""
        ...


class Watchdog:
    """Watches one fleet. `run` belongs to one loop; what the Supervisor's ends tell it may come from any thread."""

    def __init__(
        self,
        supervisor: Supervisor,
        reach: Reach,
        post: Callable[[AgentId, str], None],
        clock: Clock,
        policy: WatchPolicy | None = None,
    ) -> None:
        """Begin with what happens from now on.

        Args:
            supervisor: Whose agents these are.
            reach: The way to them.
            post: Sends a note to an agent; returns at once.
            clock: Time.
            policy: What is trouble, and what is done about it; None: the defaults.
        """
        self._supervisor = supervisor
        self._reach = reach
        self._post = post
        self._clock = clock
        self._policy = policy or WatchPolicy()
        self._lock = Lock()
        self._watch = Watch(self._policy.deadlines)
        self._ladder = Ladder(self._policy)
        self._ending: dict[AgentId, StepOrder] = {}
        self._beats: dict[AgentId, asyncio.Task[None]] = {}
        self._teller = StopTeller(supervisor, reach.tell_stopped, clock)
        newest = supervisor.feed.read(-1, 1)
        self._read = newest[0].number if newest else 0
        self._looked = clock.monotonic()

    # --- what the ends for agents tell it -----------------------------------------------------------------------------

    def instead(self, asked: CheckIn) -> EndStep | None:
        """What an agent is told instead of what the Supervisor would say: to end its Step, once; None: nothing."""
        with self._lock:
            order = self._ending.pop(asked.agent, None) if asked.phase == "thinking" else None
        if order is None or not order.holds(asked, self._clock.monotonic()):
            return None
        self._supervisor.step_back(asked.agent)  # it may have a place in line from before
        return EndStep(order.reason)

    def checked_in(self, asked: CheckIn, directive: Directive) -> None:
        """An agent asked for leave and was told this."""
        self._learn(CheckedIn(asked, directive))
        if isinstance(directive, Stop):
            self._teller.wake()

    def settled(self, settlement: Settlement) -> None:
        """An attempt of a model call has ended."""
        self._learn(Settled(settlement))

    def explained(self, rows: tuple[AgentStatus, ...]) -> tuple[AgentStatus, ...]:
        """The rows as they are now, each with a note that says why it is so, unless it has one or is idle."""
        with self._lock:
            now = self._clock.monotonic()
            self._hear(now)
            verdicts = [self._watch.verdict(row, now) for row in rows]
        whys = ["" if verdict.state is State.IDLE else verdict.why for verdict in verdicts]
        return tuple(replace(row, note=row.note or why) for row, why in zip(rows, whys, strict=True))

    def _learn(self, fact: Fact) -> None:
        """Take in a fact, after the notices that came before: one of them may be that the agent is there at all."""
        with self._lock:
            now = self._clock.monotonic()
            self._hear(now)
            self._watch.take(fact, now)

    # --- looking ------------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Look, and tell those that an account has stopped, until cancelled."""
        async with asyncio.TaskGroup() as beside:
            beside.create_task(self._teller.run())
            await self._look_on()

    async def _look_on(self) -> None:
        asked = 0
        try:
            while True:
                await self._clock.sleep(max(self._policy.period, asked / ASKED))
                asked = await self.look()
        finally:
            for task in self._beats.values():
                task.cancel()

    async def look(self) -> int:
        """Look once, and do what is to be done; gives how many agents were asked.

        While the Supervisor itself waits for its journal, agents wait for the Supervisor: nothing is done about any.
        """
        asked, stands = self._clock.monotonic(), self._supervisor.log.waits
        rows = self._supervisor.statuses()
        busy = tuple(row.agent for row in rows if row.phase not in QUIET)
        said = await self._ask(busy)
        with self._lock:
            now = self._clock.monotonic()
            for row in rows:
                status = said.get(row.agent) or row
                self._watch.take(Seen(replace(status, note=status.note or stands), asked), now)
                if row.agent in busy:
                    beat = self._beats.get(row.agent)
                    alive = beat is None or beat.done()
                    self._watch.take(Pulse(row.agent, status.incarnation, row.agent in said, alive), now)
            self._hear(now)  # after the rows: what notices say of a call that has begun meanwhile is newer
            actions = () if stands else self._ladder.climb(self._watch.look(now), now)
            parents = [self._watch.parents(action.agents) for action in actions]
        await asyncio.gather(*(self._act(action, told) for action, told in zip(actions, parents, strict=True)))
        return len(busy)

    async def _ask(self, agents: tuple[AgentId, ...]) -> dict[AgentId, AgentStatus]:
        """Ask agents how they are, and their loops for a sign of life.

        Of each loop one answer is awaited at a time; one that is late holds up no further look.
        """
        asking = {agent: asyncio.create_task(self._status(agent)) for agent in agents}
        late = {agent: beat for agent, beat in self._beats.items() if not beat.done()}
        fresh = {agent: asyncio.create_task(self._beat(agent)) for agent in agents if agent not in late}
        for agent in late.keys() - asking.keys():  # it is quiet, or gone
            late.pop(agent).cancel()
        self._beats = {**late, **fresh}
        if agents:
            await asyncio.wait({*asking.values(), *fresh.values()}, timeout=PATIENCE)
        said = {agent: task.result() for agent, task in asking.items() if task.done()}
        for unanswered in asking.values():
            unanswered.cancel()
        return {agent: status for agent, status in said.items() if status is not None}

    async def _status(self, agent: AgentId) -> AgentStatus | None:
        try:
            return await self._reach.status(agent)
        except FleetError as error:
            log.debug("%s does not say how it is: %s", agent, error)
            return None

    async def _beat(self, agent: AgentId) -> None:
        """Wait until its loop answers. A process that cannot be reached says nothing of its loop."""
        try:
            await self._reach.beat(agent)
        except FleetError as error:
            log.debug("the loop of %s cannot be asked: %s", agent, error)

    def _hear(self, now: float) -> None:
        """Take in the notices since the last look, each at the time at which it may have come in between."""
        while news := self._supervisor.feed.read(self._read, MOST):
            for notice in news:
                age = self._clock.now() - notice.at
                self._watch.take(Heard(notice), min(now, max(self._looked, now - age)))
            self._read = news[-1].number
        self._looked = now

    # --- acting -------------------------------------------------------------------------------------------------------

    async def _act(self, action: Action, parents: tuple[AgentId, ...]) -> None:
        """Tell of it, then do it once that is written: a Supervisor that another one has followed does no more."""
        self._supervisor.report(SELF, (notice_of(action),))
        for parent in parents:
            self._post(parent, report_of(action))
        if action.rung is Rung.NOTIFY:
            return
        try:
            async with asyncio.timeout(ACTION_PATIENCE):
                await self._supervisor.log.written()
        except (FleetError, TimeoutError) as error:
            why = error or "its notice is not written yet"
            log.warning("the watch did not %s %s: %s", action.rung, ", ".join(action.agents), why)
            return
        await asyncio.gather(*(self._do(action, agent) for agent in action.agents))

    async def _do(self, action: Action, agent: AgentId) -> None:
        try:
            async with asyncio.timeout(ACTION_PATIENCE):
                await self._done(action, agent)
        except (FleetError, TimeoutError) as error:
            log.warning("the watch could not %s %s: %s", action.rung, agent, error or "it took too long")

    async def _done(self, action: Action, agent: AgentId) -> None:
        reason = reason_of(action)
        match action.rung:
            case Rung.NOTIFY:
                pass
            case Rung.NOTE:
                self._post(agent, order_to(action))
            case Rung.END_STEP:
                order = self._step_order(action, agent)
                with self._lock:
                    self._ending[agent] = order
            case Rung.CANCEL:
                await self._reach.cancel(agent, reason)
            case Rung.KILL:
                await self._reach.kill(agent, reason)
            case Rung.QUARANTINE:
                await self._reach.stop(agent, reason)
                if action.finding.trouble not in LOOPS:
                    await self._reach.kill(agent, reason)
            case _:
                assert_never(action.rung)

    def _step_order(self, action: Action, agent: AgentId) -> StepOrder:
        """What is circled in by calls is one run; a message is answered in one or in many, but not much later."""
        by_calls = action.finding.trouble is not Trouble.MESSAGE_LOOP
        run = self._supervisor.find(agent).run if by_calls else None
        return StepOrder(reason_of(action), run, self._clock.monotonic() + self._policy.deadlines.message_gap)


def watch_over(watchdog: Watchdog) -> "asyncio.Task[None]":
    """Have a watchdog look from now on, in the running loop, until the task is cancelled."""
    task = asyncio.create_task(watchdog.run())
    task.add_done_callback(ended)
    return task


def ended(task: "asyncio.Task[None]") -> None:
    """A watchdog that ended by itself met a bug: the fleet goes on without, and the log says so."""
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("nobody watches the fleet any more", exc_info=error)
