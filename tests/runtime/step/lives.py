"""An agent whose process dies: what outlives it, and a process that can be killed before any of its effects.

A `World` keeps what a crash does not take: the journal, the mailbox, what tools did, what the model has answered. A
`Life` performs effects as a driver must: at a `Commit` it writes all events since the last, and only then goes on.
"""

from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from amrita_fleet.protocols.checkin import Directive
from amrita_fleet.protocols.ids import AgentId, MessageId, RunId
from amrita_fleet.protocols.messages import ToolCall, Turn
from amrita_fleet.protocols.outcome import Outcome
from amrita_fleet.runtime.ports import Record
from amrita_fleet.runtime.records import Happened, Past, Queued, encode_record, replay
from amrita_fleet.runtime.step.advance import advance
from amrita_fleet.runtime.step.effects import (
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
from amrita_fleet.runtime.step.events import (
    Asked,
    CallFacts,
    Decided,
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
    ToolHeld,
)
from amrita_fleet.runtime.step.phases import Asking, Mail, Op, Phase, Purpose
from amrita_fleet.runtime.step.requests import request
from amrita_fleet.runtime.step.rules import Rules
from amrita_fleet.runtime.step.state import AgentState

from .pairing import flaw, messages_flaw
from .play import Failure, Line, Result, grant

__all__ = ("AGENT", "Killed", "Life", "Tale", "World", "told")

AGENT = AgentId("ana")
STREAM = "fleet/agent/ana"


class Killed(BaseException):
    """The process died."""


def done(asked: ToolCall) -> Result:
    """What a tool answers when the tale does not say."""
    return Result(f"{asked.name} is done")


@dataclass(frozen=True)
class Tale:
    """What is asked for, and how the world answers; no two calls of a tale are the same.

    Attributes:
        lines: What the model answers, in order; the same request gets the same answer again.
        safe: Tools that may run again. All others must not.
        flawed: Typed answers that are not of the form asked for.
        letters: Mail that comes while a tool of that name first runs.
        late: Mail that comes once the agent waits for it; without any, the wait ends by itself.
    """

    lines: tuple[Line, ...]
    rules: Rules = field(default_factory=Rules)
    tasks: tuple[str, ...] = ("Count the words.",)
    safe: tuple[str, ...] = ()
    approval: tuple[str, ...] = ()
    allowed: bool = True
    flawed: tuple[str, ...] = ()
    tools: Callable[[ToolCall], Result] = done
    letters: Mapping[str, Mail] = field(default_factory=dict[str, Mail])
    late: tuple[Mail, ...] = ()
    directives: tuple[Directive, ...] = ()


class World:
    """What outlives a process."""

    def __init__(self, tale: Tale, *, checked: bool = True) -> None:
        """Accept the tale's runs; `checked`: at each commit, see that a new process would be where this one is."""
        self.tale = tale
        self.checked = checked
        self.records: list[Record] = []
        self.mailbox: list[Mail] = []
        self.came: set[MessageId] = set()
        self.taken: Counter[MessageId] = Counter()
        self.ran: Counter[str] = Counter()
        self.keys: dict[str, set[Op]] = {}
        self.outcomes: dict[RunId, list[Outcome]] = {}
        self.answers: dict[str, Line] = {}
        self.attempts: Counter[str] = Counter()
        self.lines = iter(tale.lines)
        self.directives = iter(tale.directives)
        self.late = list(tale.late)
        self.runs = tuple(RunId(f"ana.1.{number}") for number, _ in enumerate(tale.tasks, 1))
        for run, task in zip(self.runs, tale.tasks, strict=True):
            self.write(encode_record(Queued(Asked(run, task, 9.0))))

    def write(self, data: bytes) -> None:
        """Add a record."""
        self.records.append(Record(len(self.records) + 1, 1, data))

    def past(self) -> Past:
        """What a new process reads."""
        return replay(STREAM, self.records, AGENT, self.tale.rules)

    def answer(self, turns: tuple[Turn, ...]) -> Line:
        """What the model says to a request; to the same one it says the same, once the provider is not busy."""
        asked = repr(turns)
        self.attempts[asked] += 1
        line = self.answers.get(asked) or next(self.lines)
        if not isinstance(line, Failure):
            self.answers[asked] = line
        return line

    def run(self, call: ToolCall, key: Op) -> Result:
        """Run a tool, for good or ill."""
        self.ran[told(call)] += 1
        self.keys.setdefault(told(call), set()).add(key)
        if call.name in self.tale.letters:
            self.bring(self.tale.letters[call.name])
        return self.tale.tools(call)

    def bring(self, letter: Mail) -> None:
        """Put mail into the mailbox, once."""
        if letter.id not in self.came:
            self.came.add(letter.id)
            self.mailbox.append(letter)

    @property
    def over(self) -> bool:
        """All runs have ended."""
        return set(self.outcomes) == set(self.runs)


class Life:
    """One process. It dies before its `kill`-th effect."""

    def __init__(self, world: World, *, kill: int | None = None) -> None:
        """Read the journal; the mailbox forgets what is in the transcript already."""
        self.world = world
        self.past = past = world.past()
        self.effects: list[Effect] = []
        self.state: AgentState = past.state
        self._kill = kill
        self._new: list[Event] = []
        self._told = past.told
        self._timers: list[Event] = []
        taken = {each.message for each in past.taken}
        world.mailbox[:] = [letter for letter in world.mailbox if letter.id not in taken]
        # A stream that holds no more than accepted runs is of an agent that has not lived.
        lived = past.state != AgentState.begin(AGENT, world.tale.rules)
        self._events: deque[Event] = deque([past.revived(0.0)] if lived else [])

    def live(self) -> "Life":
        """Live until all runs have ended, and nothing more happens by itself."""
        while True:
            if not self._events and self.state.phase is Phase.IDLE and self.past.queue:
                self._events.append(self.past.queue[0])
            elif not self._events and self._timers:
                self._events.append(self._timers.pop())
            if not self._events:
                return self
            event = self._events.popleft()
            if getattr(event, "op", None) is None or self.state.awaits(event.op):  # type: ignore[union-attr]
                self.happen(event)

    def happen(self, event: Event) -> None:
        """Apply an event and perform what follows."""
        moved = advance(self.state, event)
        self._new.append(event)
        self.past = self.past.moved(event, moved, 0.0)
        self.state, effects = moved
        for effect in effects:
            if len(self.effects) == self._kill:
                raise Killed
            self.effects.append(effect)
            self.perform(effect)

    def perform(self, effect: Effect) -> None:
        """Do one thing; its answer comes later."""
        match effect:
            case Commit(consumed=ids):
                self.commit(ids)
            case Notify() | StartDeadline():
                pass
            case Cancel(ops=ops):
                self._timers = [event for event in self._timers if getattr(event, "op", None) not in ops]
            case Finish(op=op, outcome=outcome):
                self.world.outcomes.setdefault(outcome.run, []).append(outcome)
                self._events.append(Finished(op))
            case WaitForMail(op=op):
                for letter in self.world.late:
                    self.world.bring(letter)
                self._events.append(MailArrived() if self.world.mailbox else TimerFired(op))
            case _:
                self._events.append(self.answered(effect))

    def answered(  # noqa: PLR0911  one case for each effect
        self, effect: TakeMail | LookForMail | AskLeave | CallModel | RunTool | AskApproval | StartTimer
    ) -> Event:
        """What comes of an effect."""
        world = self.world
        match effect:
            case TakeMail(op=op):
                return MailTaken(op, tuple(world.mailbox))
            case LookForMail(op=op):
                return MailSeen(op, bool(world.mailbox))
            case AskLeave(op=op):
                return Directed(op, next(world.directives, grant()))
            case CallModel():
                return self.said(effect)
            case RunTool(op=op, call=call, approved=False) if call.name in world.tale.approval:
                return ToolHeld(op, "its tool is marked", call.arguments)
            case RunTool(op=op, call=call, key=key):
                result = world.run(call, key)
                return ToolEnded(op, result.output, result.output, wait=result.wait, mail_waits=bool(world.mailbox))
            case AskApproval(op=op):
                return Decided(op, world.tale.allowed)
            case StartTimer(op=op):
                return TimerFired(op)

    def said(self, effect: CallModel) -> Event:
        """What the model answers; its request must be one that providers take."""
        assert isinstance(self.state.doing, Asking)
        turns, tale = request(self.state, self.state.doing, (), 8000), self.world.tale
        assert flaw(turns) is None
        assert messages_flaw(turns) is None
        line = self.world.answer(turns)
        if isinstance(line, Failure):
            return ModelFailed(effect.op, line.kind, line.sentence, line.retryable)
        facts = tuple(CallFacts(told(one), safe=one.name in tale.safe) for one in line.message.calls)
        typed = effect.purpose is Purpose.THINK and line.message.content in tale.flawed
        return Replied(effect.op, line, facts, "It is wrong." if typed else "")

    def commit(self, ids: tuple[MessageId, ...]) -> None:
        """Write what happened since the last commit, then take out what it holds."""
        if self._new:
            self.world.write(encode_record(Happened(tuple(self._new), told=self._told)))
            self._new, self._told = [], self.past.told
        if self.world.checked:
            assert self.world.past() == self.past
            assert self.past.state == self.state
        self.world.taken.update(ids)
        self.world.mailbox[:] = [letter for letter in self.world.mailbox if letter.id not in ids]


def told(call: ToolCall) -> str:
    """A call by name and arguments."""
    return f"{call.name}{call.arguments}"
