"""An agent's runs: those that wait for their turn, and what became of those that had it."""

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import count

from ..protocols.errors import FleetError
from ..protocols.ids import AgentId, Incarnation, RunId
from ..protocols.outcome import Outcome
from .errors import RunUnknown
from .records import KEPT_OUTCOMES
from .step.events import Asked

__all__ = ("RunQueue",)


class RunQueue:
    """Belongs to the agent's work loop. A run is known from when it was numbered until long after its end."""

    def __init__(self, agent: AgentId, incarnation: Incarnation) -> None:
        """Begin without runs; ids of another life are never given again."""
        self._agent = agent
        self._incarnation = incarnation
        self._numbers = count(1)
        self._waiting: deque[Asked] = deque()
        self._outcomes: dict[RunId, asyncio.Future[Outcome]] = {}
        self._open: dict[RunId, None] = {}

    @property
    def open(self) -> tuple[RunId, ...]:
        """The runs that were accepted and have not ended, in order; from any thread."""
        return tuple(self._open)

    def __len__(self) -> int:
        """How many wait for their turn."""
        return len(self._waiting)

    def restore(self, waiting: Iterable[Asked], ended: Iterable[Outcome], running: RunId | None) -> None:
        """Take over the runs of an earlier life."""
        for outcome in ended:
            self.finish(outcome)
        if running is not None:
            self.expect(running)
        for asked in waiting:
            self.put(asked)

    def new_id(self) -> RunId:
        """The id of one more run."""
        return RunId(f"{self._agent}.{self._incarnation}.{next(self._numbers)}")

    def expect(self, run: RunId) -> None:
        """Have an outcome that can be waited for."""
        if run not in self._outcomes:
            self._outcomes[run] = asyncio.get_running_loop().create_future()
            self._open[run] = None

    def put(self, asked: Asked) -> None:
        """Let a run wait for its turn."""
        self.expect(asked.run)
        self._waiting.append(asked)

    def next(self) -> Asked | None:
        """The run whose turn it is; None when none waits."""
        return self._waiting.popleft() if self._waiting else None

    def drain(self) -> tuple[RunId, ...]:
        """Take out all that wait for their turn, in order."""
        runs = tuple(asked.run for asked in self._waiting)
        self._waiting.clear()
        return runs

    async def outcome(self, run: RunId) -> Outcome:
        """Wait for the end of a run.

        Raises:
            RunUnknown: There was no such run here, or too long ago.
        """
        waiting = self._outcomes.get(run)
        if waiting is None:
            raise RunUnknown(agent=self._agent, run=run)
        return await asyncio.shield(waiting)

    def finish(self, outcome: Outcome) -> bool:
        """Keep an outcome and tell it to those who wait; False, and nothing changes, if the run had ended before."""
        self.expect(outcome.run)
        waiting = self._outcomes[outcome.run]
        if waiting.done():
            return False
        waiting.set_result(outcome)
        self._open.pop(outcome.run, None)
        while len(self._outcomes) > KEPT_OUTCOMES:
            oldest = next(iter(self._outcomes))
            if not self._outcomes[oldest].done():
                break
            del self._outcomes[oldest]
        return True

    def lives(self, run: RunId) -> bool:
        """Whether a run is under way, or waits for its turn."""
        outcome = self._outcomes.get(run)
        return outcome is not None and not outcome.done()

    def unfinished(self) -> Iterator[RunId]:
        """The runs that have no outcome yet, those that wait for their turn included."""
        return iter([run for run, outcome in self._outcomes.items() if not outcome.done()])

    def give_up(self, error: FleetError) -> None:
        """Tell those who wait that the outcome is to be asked for elsewhere."""
        for run in self.unfinished():
            self._outcomes[run].set_exception(error)
            self._outcomes[run].exception()  # nobody may be waiting
        self._open.clear()
