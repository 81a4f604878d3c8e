"""The watch at work: looks after the living every few seconds, and does what the ladder says.

It stands beside the Supervisor, whose notices it reads and to whom check-ins and settlements go through it. What a
system can do to an agent is a port (`Reach`). Nothing here decides: that is `supervision.watch` and
`supervision.ladder`.
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
from .probes import Probes, Sign
from .standing_work import StandingWork
from .step.phases import Phase
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

QUIET = frozenset({Phase.IDLE, Phase.WAITING, Phase.PAUSED, STOPPED, DEAD, RESTARTING})
"""Phases in which an agent does nothing: nobody asks until a notice says that it begins something, or it checks in. A
tool that blocks its loop at once keeps the notice from going out."""

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
    """Watches one fleet. `run` belongs to one loop; check-ins, settlements and questions may come from any thread."""

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
        self._stirred: set[AgentId] = set()
        self._probes = Probes(reach.status, reach.beat)
        self._teller = StopTeller(supervisor, reach.tell_stopped, clock)
        newest = supervisor.feed.read(-1, 1)
        self._read = newest[0].number if newest else 0
        self._looked = clock.monotonic()

    # --- what agents ask of the Supervisor, with the watch beside it --------------------------------------------------

    def check_in(self, asked: CheckIn) -> Directive:
        """Answer as the Supervisor does, but an agent that is to end its Step is told that instead, once."""
        if (instead := self._instead(asked)) is not None:
            return instead
        directive = self._supervisor.check_in(asked)
        with self._lock:
            self._stirred.add(asked.agent)
        self._learn(CheckedIn(asked, directive))
        if isinstance(directive, Stop):
            self._teller.wake()
        return directive

    def settle(self, settlement: Settlement) -> None:
        """Have the Supervisor book what an attempt came to."""
        self._supervisor.settle(settlement)
        self._learn(Settled(settlement))

    def _instead(self, asked: CheckIn) -> EndStep | None:
        with self._lock:
            order = self._ending.pop(asked.agent, None) if asked.phase == Phase.THINKING else None
        if order is None or not order.holds(asked, self._clock.monotonic()):
            return None
        self._supervisor.step_back(asked.agent)  # it may have a place in line from before
        return EndStep(order.reason)

    def _learn(self, fact: Fact) -> None:
        """Take in a fact, after the notices that came before: one of them may be that the agent is there at all."""
        with self._lock:
            now = self._clock.monotonic()
            self._hear(now)
            self._watch.take(fact, now)

    # --- what people see ----------------------------------------------------------------------------------------------

    def explained(self, rows: tuple[AgentStatus, ...]) -> tuple[AgentStatus, ...]:
        """The rows as they are now, each with a note that says why it is so, unless it has one or is idle."""
        with self._lock:
            now = self._clock.monotonic()
            self._hear(now)
            verdicts = [self._watch.verdict(row, now) for row in rows]
        whys = ["" if verdict.state is State.IDLE else verdict.why for verdict in verdicts]
        return tuple(replace(row, note=row.note or why) for row, why in zip(rows, whys, strict=True))

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
                try:
                    asked = await self.look()
                except Exception:  # nobody foresaw it: the next look may do better, and a fleet is never without
                    log.exception("a look of the watch failed; the next one follows")
        finally:
            self._probes.close()

    async def look(self) -> int:
        """Look once, and do what is to be done; gives how many agents were asked.

        While the Supervisor itself waits for its journal, agents wait for the Supervisor: nothing is done about any.
        """
        asked, stands = self._clock.monotonic(), self._supervisor.log.waits
        with self._lock:
            stirred, self._stirred = self._stirred, set()
        rows = self._supervisor.statuses()
        busy = tuple(row.agent for row in rows if row.phase not in QUIET or row.agent in stirred)
        try:
            signs = await self._probes.take(busy)
        except BaseException:
            with self._lock:
                self._stirred |= stirred
            raise
        with self._lock:
            self._stirred |= {agent for agent in stirred if is_at_work(signs.get(agent))}
            now = self._clock.monotonic()
            for row in rows:
                sign = signs.get(row.agent)
                status = row if sign is None or sign.status is None else sign.status
                self._watch.take(Seen(replace(status, note=status.note or stands), asked), now)
                if sign is not None:
                    pulse = Pulse(row.agent, status.incarnation, sign.status is not None, sign.loop)
                    self._watch.take(pulse, now)
            self._hear(now)  # after the rows: what notices say of a call that has begun meanwhile is newer
            actions = () if stands else self._ladder.climb(self._watch.look(now), now)
            parents = [self._watch.parents(action.agents) for action in actions]
        await asyncio.gather(*(self._act(action, told) for action, told in zip(actions, parents, strict=True)))
        return len(busy)

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


def is_at_work(sign: Sign | None) -> bool:
    """Whether an agent that has checked in may be at work without having told of it: its loop may be blocked since."""
    return sign is not None and (not sign.loop or (sign.status is not None and sign.status.phase not in QUIET))


def watch_over(watchdog: Watchdog) -> StandingWork:
    """Have a watchdog look from now on, in the running loop, until that is closed."""
    return StandingWork(watchdog.run(), "nobody watches the fleet any more")
