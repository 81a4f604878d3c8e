"""Ends what an agent's core cannot end: runs that never began, messages that nobody will read."""

import asyncio
from collections.abc import Callable

from ..protocols.ids import RunId
from ..protocols.mail import Envelope, Refusal
from ..protocols.messages import Json
from ..protocols.notices import Notice, NoticeType
from ..protocols.outcome import Ending, Outcome
from .journal_errors import Fenced, JournalUnavailable
from .life_log import LifeLog
from .run_queue import RunQueue
from .step.state import AgentState, Run

__all__ = ("Endings",)

LAST_WORDS = 1.0
"""Seconds that an end has to be written when everything is closed."""


class Endings:
    """Belongs to the agent's work loop. With a journal, an end is written before anybody is told of it."""

    def __init__(
        self, runs: RunQueue, log: LifeLog | None, state: Callable[[], AgentState], notify: Callable[[Notice], None]
    ) -> None:
        """Nothing has ended."""
        self._runs = runs
        self._log = log
        self._state = state
        self._notify = notify
        self._writing: asyncio.Task[None] | None = None

    def waiting(self, dead: tuple[Envelope, ...], refusal: Refusal, reason: str) -> None:
        """End the runs that wait for their turn, and tell what became of them and of the dead letters."""
        runs = self._runs.drain()
        if self._log is None:
            self._tell(dead, refusal, runs, reason)
        elif dead or runs:
            self._writing = asyncio.create_task(self._write(self._log, dead, refusal, runs, reason))

    def run(self, run: RunId, ending: Ending, reason: str) -> None:
        """End one run, unless it has ended."""
        state = self._state()
        going = state.run if state.run is not None and state.run.id == run else Run(run)
        outcome = Outcome(
            run, state.agent, ending, "", None, reason, tokens=going.tokens, rounds=going.rounds, steps=going.steps
        )
        if self._runs.finish(outcome):
            counts: dict[str, Json] = {"tokens": going.tokens, "rounds": going.rounds}
            data: dict[str, Json] = {"outcome": str(outcome), "text": "", "reason": reason, **counts}
            text = f"{outcome}: {reason}"
            self._notify(Notice(NoticeType.RUN, "finished", state.agent, text, run, state.step, data))

    async def written(self) -> None:
        """Wait a moment until what has ended is written."""
        if self._writing is not None:
            await asyncio.wait({self._writing}, timeout=LAST_WORDS)

    async def _write(
        self, log: LifeLog, dead: tuple[Envelope, ...], refusal: Refusal, runs: tuple[RunId, ...], reason: str
    ) -> None:
        try:
            dead = await log.gave_up(dead, refusal, runs, reason)
        except (Fenced, JournalUnavailable):  # they are the next life's
            return
        self._tell(dead, refusal, runs, reason)

    def _tell(self, dead: tuple[Envelope, ...], refusal: Refusal, runs: tuple[RunId, ...], reason: str) -> None:
        state = self._state()
        for envelope in dead:
            text = f"{envelope.id} from {envelope.sender} was never consumed: {refusal}"
            data: dict[str, Json] = {"id": envelope.id, "sender": envelope.sender, "refusal": refusal.value}
            run = state.run.id if state.run else None
            self._notify(Notice(NoticeType.MAIL, "dead", state.agent, text, run, state.step, data))
        for waited in runs:
            self.run(waited, Ending.STOPPED, reason)
