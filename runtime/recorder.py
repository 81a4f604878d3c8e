"""Writes what happens to an agent into its stream, so that another process can go on from there."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from ..protocols.ids import AgentId, Incarnation, MessageId
from ..protocols.notices import Notice
from .journal.stream_writer import StreamWriter
from .journal_errors import Fenced
from .ports import Clock
from .records import AgentRecord, Happened, Past, encode_record, replay, snapshot_of
from .step.effects import Moved
from .step.events import Event
from .step.rules import Rules

__all__ = ("SNAPSHOT_STEPS", "Recorder")

SNAPSHOT_STEPS = 16
"""Steps after which a snapshot is written, so that a new life has no more than so many to go through again."""


class Recorder:
    """One agent's record. It belongs to the agent's work loop.

    1. `open` claims the stream and gives what it comes to.
    2. `happened` takes each event, in order.
    3. `commit` writes those that were not written yet; what follows from them may be done once it returns.
    4. `add` writes what happens to the agent outside of its core: a run that waits for its turn.

    Attributes:
        past: What the stream comes to, with what has happened and is not written yet.
        lived: The agent had a life before this one.
    """

    past: Past
    lived: bool = False

    def __init__(self, writer: StreamWriter, clock: Clock, unwritten: Callable[[MessageId], bool]) -> None:
        """Nothing is written before `open`. `unwritten`: the mailbox's own stream lacks what became of a message."""
        self._writer = writer
        self._clock = clock
        self._unwritten = unwritten
        self._events: list[Event] = []
        self._told = 0
        self._turn = asyncio.Lock()

    async def open(self, agent: AgentId, rules: Rules) -> Past:
        """What the stream comes to; of an agent that never lived, its beginning.

        Raises:
            Fenced: A newer life of the agent has it.
            JournalUnavailable: The journal cannot be reached.
            RecordInvalid: A record cannot be read.
        """
        records = await self._writer.open()
        self.past = replay(self._writer.stream, records, agent, rules)
        self._snapshot = self.past.state.step
        self.lived = bool(records)
        return self.past

    @property
    def note(self) -> str:
        """Why the agent waits here, for people; empty while it does not."""
        return self._writer.note

    def fenced(self, incarnation: Incarnation) -> Fenced:
        """That this life, says the Supervisor, is over."""
        return Fenced(stream=self._writer.stream, incarnation=incarnation, newest=incarnation + 1)

    def happened(self, event: Event, moved: Moved) -> tuple[Notice, ...]:
        """Take one event, and what it led to; gives what is to be told of it once it is written, numbered."""
        before = self.past.told
        if not self._events:
            self._told = before
        self.past = self.past.moved(event, moved, self._clock.now())
        self._events.append(event)
        return self.past.untold[len(self.past.untold) + before - self.past.told :]

    def heard(self, number: int) -> None:
        """The Supervisor has the notices up to this one: no life has to tell them again."""
        untold = tuple(notice for notice in self.past.untold if notice.recorded > number)
        self.past = replace(self.past, untold=untold)

    async def commit(self) -> None:
        """Write what has happened; waits while the journal cannot be reached.

        Raises:
            Fenced: A newer life of the agent has begun; this one must do nothing more.
            JournalUnavailable: This was closed meanwhile.
        """
        async with self._turn:
            await self._write(())

    async def add(self, *records: AgentRecord) -> None:
        """Write something else, after what has happened so far.

        Raises:
            Fenced: A newer life of the agent has begun.
            JournalUnavailable: This was closed meanwhile; whether it was written is unknown.
        """
        async with self._turn:
            await self._write(records)

    def close(self) -> None:
        """Write nothing more, whoever waits for it."""
        self._writer.close()

    async def _write(self, more: tuple[AgentRecord, ...]) -> None:
        """Write what there is now: while that is being written, more may happen, which is not a part of it."""
        events, self._events, told = tuple(self._events), [], self._told
        for record in more:
            self.past = self.past.after(record)
        if due := self.past.state.step - self._snapshot >= SNAPSHOT_STEPS:
            taken = tuple(one for one in self.past.taken if self._unwritten(one.message))
            lost = tuple(one for one in self.past.lost if self._unwritten(one.message))
            self.past = replace(self.past, taken=taken, lost=lost)
        past = self.past
        records = (*((Happened(events, self._clock.now(), told),) if events else ()), *more)
        if records:
            await self._writer.append(*map(encode_record, records))
        if due:
            await self._writer.append(encode_record(snapshot_of(past)), snapshot=True)
            self._snapshot = past.state.step
