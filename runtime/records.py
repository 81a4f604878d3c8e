"""What an agent's stream in the journal holds, and what a new process makes of it.

`advance` is pure, so the events are the record: a new process applies them again and is where the dead one was. A
snapshot stands for all records before it. The agent's rules are in its description, never here.

Bytes: one for the version of what is below, then what `codec.encode` gives. Fields that a reader does not know are
ignored, fields that a writer did not know have their defaults; a change that needs more than that is a new version.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias, cast

from ..protocols.codec import decode, encode
from ..protocols.errors import DecodeError, FleetError, VersionMismatch
from ..protocols.ids import AgentId, MessageId, RunId
from ..protocols.mail import Refusal
from ..protocols.notices import Notice
from ..protocols.outcome import Ending, Outcome
from .journal_errors import RecordInvalid
from .ports import Record
from .step.advance import advance
from .step.compaction import Measured
from .step.correspondence import Chain
from .step.effects import Commit, Finish, Moved, Notify
from .step.events import Asked, Event, Revived
from .step.phases import Doing, Op, Waiting
from .step.rules import Rules
from .step.state import AgentState, Run
from .step.transcript import Transcript

__all__ = (
    "KEPT_OUTCOMES",
    "VERSION",
    "AgentRecord",
    "Dropped",
    "Happened",
    "Lost",
    "Past",
    "Queued",
    "Snapshot",
    "Taken",
    "Unread",
    "decode_record",
    "encode_record",
    "replay",
    "snapshot_of",
    "state_from",
)

VERSION = 1
"""First byte of every record; older ones are read, newer ones are not."""

KEPT_OUTCOMES = 256
"""Ended runs whose outcome can still be asked for."""

KEPT_UNTOLD = 10_000
"""Notices that a further life may tell again, the newest: as many as wait while no Supervisor can be reached."""

HEAD = bytes([VERSION])

UNCOUNTED = -1
"""In place of a number of notices, in a record of a program that did not count them."""


class Taken(NamedTuple):
    """A message that a run took in at the beginning of `step`; its mailbox may not know that yet."""

    message: MessageId
    run: RunId
    step: int


class Lost(NamedTuple):
    """A message that was accepted and will never be read; its mailbox may not know that yet."""

    message: MessageId
    refusal: Refusal


@dataclass(frozen=True, slots=True)
class Happened:
    """Events since the last record, in order.

    Attributes:
        at: Unix seconds when they were recorded.
        told: How many notices all records before this one say.
    """

    events: tuple[Event, ...]
    at: float = 0.0
    told: int = UNCOUNTED


@dataclass(frozen=True, slots=True)
class Queued:
    """A run was accepted and waits for its turn."""

    asked: Asked


@dataclass(frozen=True, slots=True)
class Dropped:
    """A run that waited for its turn never will begin, because of `reason`."""

    run: RunId
    reason: str


@dataclass(frozen=True, slots=True)
class Unread:
    """The mailbox was closed, and these became dead letters."""

    lost: tuple[Lost, ...]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A whole `Past`; its fields and those of its state, rules left out."""

    agent: AgentId
    transcript: Transcript
    doing: Doing
    run: Run | None
    step: int
    next_op: Op
    pause: str | None = None
    measured: Measured | None = None
    queue: tuple[Asked, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    taken: tuple[Taken, ...] = ()
    lost: tuple[Lost, ...] = ()
    began: float = 0.0
    waits: float = 0.0
    chains: tuple[Chain, ...] = ()
    told: int = 0
    untold: tuple[Notice, ...] = ()


AgentRecord: TypeAlias = Happened | Queued | Dropped | Unread | Snapshot
"""What one record can be."""


@dataclass(frozen=True, slots=True)
class Past:
    """What an agent's stream comes to. A driver may keep one too, by `moved`, and so has what a snapshot needs.

    Attributes:
        queue: Runs that were accepted and have not begun, in order.
        outcomes: Those of the newest runs that have ended, oldest first.
        taken: Messages that are in the transcript, oldest first. Whoever restores the mailbox takes them out; what the
            mailbox has recorded itself need not stand here in a snapshot.
        lost: Dead letters, oldest first; the same holds of them.
        began: Unix seconds when the run began, 0: no run has.
        waits: Unix seconds when the agent began to wait for mail, 0: it never has.
        told: How many notices the stream says: those of each event that is written before anything follows from it.
        untold: Those of them that the Supervisor may not know, oldest first; each has its number in `recorded`.
    """

    state: AgentState
    queue: tuple[Asked, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    taken: tuple[Taken, ...] = ()
    lost: tuple[Lost, ...] = ()
    began: float = 0.0
    waits: float = 0.0
    told: int = 0
    untold: tuple[Notice, ...] = ()

    def revived(self, now: float) -> Revived:
        """The event with which the next life begins; `now` in Unix seconds."""
        return Revived(ran=since(self.began, now), waited=since(self.waits, now))

    def after(self, record: AgentRecord) -> "Past":
        """The past with one more record.

        Raises:
            InvalidMove: The record's events cannot have happened to this agent.
        """
        match record:
            case Happened(events=events, at=at, told=told):
                past = replace(self, told=told)
                for event in events:
                    past = past.moved(event, advance(past.state, event), at)
                return past if told != UNCOUNTED else replace(past, told=self.told, untold=self.untold)
            case Queued(asked=asked):
                return replace(self, queue=(*self.queue, asked))
            case Dropped(run=run, reason=reason):
                return self.without(run).ended(Outcome(run, self.state.agent, Ending.STOPPED, "", reason=reason))
            case Unread(lost=lost):
                return replace(self, lost=(*self.lost, *lost))
            case Snapshot():
                return past_from(record, self.state.rules)

    def moved(self, event: Event, moved: Moved, at: float) -> "Past":
        """The past with one more event and what `advance` made of it, at Unix seconds `at`."""
        before, (state, effects) = self.state, moved
        past = replace(self, state=state)
        if state.run is not None and (before.run is None or before.run.id != state.run.id):
            past = replace(past.without(state.run.id), began=at)
        if isinstance(state.doing, Waiting) and not isinstance(before.doing, Waiting):
            past = replace(past, waits=at)
        if any(isinstance(effect, Commit) for effect in effects):
            past = past.telling(tuple(each.notice(state, at) for each in effects if isinstance(each, Notify)))
        for effect in effects:
            if isinstance(effect, Commit) and effect.consumed:
                taken = (Taken(message, state.current.id, state.step) for message in effect.consumed)
                past = replace(past, taken=(*past.taken, *taken))
            elif isinstance(effect, Finish) and not isinstance(event, Revived):
                past = past.ended(effect.outcome)
        return past

    def telling(self, notices: tuple[Notice, ...]) -> "Past":
        """The past with more notices that the stream says."""
        numbered = (replace(notice, recorded=self.told + place) for place, notice in enumerate(notices, start=1))
        return replace(self, told=self.told + len(notices), untold=(*self.untold, *numbered)[-KEPT_UNTOLD:])

    def without(self, run: RunId) -> "Past":
        """The past with this run no longer in the queue."""
        return replace(self, queue=tuple(asked for asked in self.queue if asked.run != run))

    def ended(self, outcome: Outcome) -> "Past":
        """The past with one more outcome."""
        return replace(self, outcomes=(*self.outcomes, outcome)[-KEPT_OUTCOMES:])


def since(then: float, now: float) -> float:
    """Seconds from a time that may be unknown, on clocks that may differ."""
    return max(0.0, now - then) if then else 0.0


def encode_record(record: AgentRecord) -> bytes:
    """The bytes of a record.

    Raises:
        SecretRefused: It holds a `Secret`.
        TypeError: It holds something that is not plain data.
    """
    return HEAD + encode(record)


def decode_record(data: bytes) -> AgentRecord:
    """The record whose bytes these are.

    Raises:
        DecodeError: The bytes are no record.
        VersionMismatch: A newer version wrote them.
    """
    if not data:
        raise DecodeError(reason="there are none")
    if data[0] > VERSION:
        raise VersionMismatch(theirs=data[0], ours=VERSION)
    return cast("AgentRecord", decode(data[1:], cast("Any", AgentRecord)))


def snapshot_of(past: Past) -> Snapshot:
    """All of it in one record."""
    state = past.state
    return Snapshot(
        agent=state.agent,
        transcript=state.transcript,
        doing=state.doing,
        run=state.run,
        step=state.step,
        next_op=state.next_op,
        pause=state.pause,
        measured=state.measured,
        queue=past.queue,
        outcomes=past.outcomes,
        taken=past.taken,
        lost=past.lost,
        began=past.began,
        waits=past.waits,
        chains=state.chains,
        told=past.told,
        untold=past.untold,
    )


def past_from(snapshot: Snapshot, rules: Rules) -> Past:
    """What a snapshot holds, for an agent of these rules."""
    return Past(
        state_from(snapshot, rules),
        snapshot.queue,
        snapshot.outcomes,
        snapshot.taken,
        snapshot.lost,
        snapshot.began,
        snapshot.waits,
        snapshot.told,
        snapshot.untold,
    )


def state_from(snapshot: Snapshot, rules: Rules) -> AgentState:
    """The state that a snapshot holds, for an agent of these rules. Numbers of the run under way stay as they were."""
    return AgentState(
        snapshot.agent,
        rules,
        snapshot.transcript,
        snapshot.doing,
        snapshot.run,
        snapshot.step,
        snapshot.next_op,
        snapshot.pause,
        snapshot.measured,
        snapshot.chains,
    )


def replay(stream: str, records: Iterable[Record], agent: AgentId, rules: Rules) -> Past:
    """What a stream comes to; an empty one is an agent that has not lived yet.

    Args:
        stream: Its name, for errors.
        records: As `Journal.open` gives them: the newest snapshot, if there is one, and all after it.
        agent: Whose stream it is.
        rules: Those of its description.

    Raises:
        RecordInvalid: A record is damaged, newer than this program, another agent's, or could not have happened.
    """
    past = Past(AgentState.begin(agent, rules))
    for record in records:
        try:
            past = past.after(decode_record(record.data))
        except FleetError as error:
            raise RecordInvalid(stream=stream, number=record.number, reason=str(error)) from error
        if past.state.agent != agent:
            reason = f"it is of the agent {past.state.agent!r}, not of {agent!r}"
            raise RecordInvalid(stream=stream, number=record.number, reason=reason)
    return past
