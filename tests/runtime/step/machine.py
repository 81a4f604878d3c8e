"""Any event at any time: a Hypothesis state machine around `advance`, with its own books on what must hold."""

from collections import Counter
from dataclasses import dataclass, field, replace
from random import Random
from typing import ClassVar

from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from amrita_fleet.protocols.ids import AgentId, RunId
from amrita_fleet.protocols.messages import Finish as FinishReason
from amrita_fleet.protocols.messages import ToolResult
from amrita_fleet.runtime.errors import InvalidMove
from amrita_fleet.runtime.step.advance import advance
from amrita_fleet.runtime.step.effects import (
    AskLeave,
    CallModel,
    Cancel,
    Commit,
    Effect,
    Finish,
    Notify,
    RunTool,
    StartDeadline,
)
from amrita_fleet.runtime.step.events import Asked, Event, MailArrived, Replied, Resumed, ToolEnded, Woken
from amrita_fleet.runtime.step.phases import Acting, Op, Phase
from amrita_fleet.runtime.step.prompts import CANCELLED, CUT, INTERRUPTED
from amrita_fleet.runtime.step.rules import Rules
from amrita_fleet.runtime.step.state import AgentState

from .chance import ANSWERS, OUTPUTS, POLLING, Awaited, answer_to, anything, steering
from .pairing import flaw, says_something

__all__ = ("AgentMachine", "LongLivedMachine")

chances = st.randoms(use_true_random=False)
rules = st.builds(
    Rules,
    rounds=st.integers(1, 30),
    step_rounds=st.integers(1, 3),
    step_tokens=st.sampled_from([-1, -1, -1, 50]),
    repeats=st.integers(2, 4),
    retries=st.integers(0, 2),
    memory=st.sampled_from(["agent", "run"]),
    instructions=st.sampled_from(["", "You count."]),
)


@dataclass
class Books:
    """What the test knows by itself of the run it watches.

    Attributes:
        row: The newest signature and how often it came in a row; a round that waits begins a new row.
        given: What the calls of the open batch came to, by op.
    """

    row: tuple[str, int] = ("", 0)
    given: dict[Op, str] = field(default_factory=dict[Op, str])
    waited: bool = False


class AgentMachine(RuleBasedStateMachine):
    """One agent, and everything that may happen to it."""

    steps: ClassVar[Counter[str]] = Counter()
    """Steps that all machines have made."""

    @initialize(rules=rules)
    def live(self, rules: Rules) -> None:
        """Begin."""
        self.state = AgentState.begin(AgentId("ana"), rules)
        self.issued: dict[Op, Awaited] = {}
        self.finished: Counter[RunId] = Counter()
        self.begun: set[RunId] = set()
        self.books = Books()
        self.last_op = 0

    # --- what happens -------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.state.phase is Phase.IDLE)
    @rule(timeout=st.none() | st.just(9.0), woken=st.booleans())
    def begin_a_run(self, timeout: float | None, woken: bool) -> None:
        """Give the agent a task, or wake it."""
        self.happen(Woken(self.next_run, timeout) if woken else Asked(self.next_run, "Count.", timeout))

    @precondition(lambda self: self.issued)
    @rule(chance=chances)
    def answer(self, chance: Random) -> None:
        """Answer something that is awaited, in any order."""
        self.happen(answer_to(chance.choice([*self.issued.values()]), chance))

    @precondition(lambda self: self.state.phase is Phase.WAITING)
    @rule()
    def bring_mail(self) -> None:
        """Bring what the agent waits for."""
        self.happen(MailArrived())

    @rule(chance=chances)
    def steer(self, chance: Random) -> None:
        """Pause, resume or stop it."""
        self.happen(steering(chance))

    @rule(chance=chances)
    def disturb(self, chance: Random) -> None:
        """Have anything happen, whether it is awaited or not."""
        event = anything(chance, self.last_op + 2)
        before, shown = self.state, repr(self.state)
        self.happen(replace(event, run=self.next_run) if isinstance(event, Asked | Woken) else event)
        assert repr(before) == shown, "a state is a value: no move changes it"

    # --- what must hold -----------------------------------------------------------------------------------------------

    @property
    def next_run(self) -> RunId:
        """A name that no run has had."""
        return RunId(f"run {len(self.begun)}")

    def happen(self, event: Event) -> None:
        """Apply an event and check everything."""
        note(repr(event))
        before = self.state
        try:
            self.state, effects = advance(before, event)
        except InvalidMove:
            awaited = self.issued.get(getattr(event, "op", Op(-1)))
            assert awaited is None or not self.fits(event, awaited), "an answer that is awaited was refused"
            return
        self.book(event, before, effects)
        if self.state.transcript is not before.transcript or self.state.phase is not before.phase:
            self.check_history()
        self.check_numbers(before)
        self.check_open_ends()

    @staticmethod
    def fits(event: Event, effect: Awaited) -> bool:
        """Whether the event is one that answers the effect."""
        return isinstance(event, ANSWERS[type(effect)])

    def book(self, event: Event, before: AgentState, effects: tuple[Effect, ...]) -> None:
        """Write the event and its effects into the books."""
        op = getattr(event, "op", None)
        if op is not None:
            assert self.fits(event, self.issued.pop(op)), "an answer nobody awaited was taken"
        if isinstance(event, Asked | Woken):
            self.begun.add(event.run)
            self.books = Books()
        if isinstance(event, ToolEnded):
            self.books.given[event.op] = event.output
            self.books.waited |= event.wait is not None
        if isinstance(before.doing, Acting) and not isinstance(self.state.doing, Acting):
            self.check_outputs(before, before.doing)
        if isinstance(event, Replied) and before.phase is Phase.THINKING:
            self.check_calls(event, before, effects)
        for effect in effects:
            self.take(effect)

    def take(self, effect: Effect) -> None:
        """Write an effect into the books."""
        if isinstance(effect, Cancel):
            for op in effect.ops:
                del self.issued[op]
        elif not isinstance(effect, Commit | Notify):
            assert effect.op > self.last_op, "an op is never used twice"
            self.last_op = effect.op
            self.issued[effect.op] = effect
        if isinstance(effect, Finish):
            self.finished[effect.outcome.run] += 1
        if self.state.phase is Phase.PAUSED:
            assert not isinstance(effect, AskLeave | CallModel | RunTool), "nothing is begun in a pause"

    def check_calls(self, event: Replied, before: AgentState, effects: tuple[Effect, ...]) -> None:
        """The N-th identical call in a row does not run; calls that were cut do not run at all."""
        ran = [effect.call for effect in effects if isinstance(effect, RunTool)]
        if event.reply.finish is FinishReason.LENGTH:
            assert not ran
            return
        allowed: list[str] = []
        for one in event.reply.message.calls:
            name, times = self.books.row
            self.books.row = (one.name, times + 1 if name == one.name else 1)
            if one.name == POLLING or self.books.row[1] < before.rules.repeats:
                allowed.append(one.name)
        must = [name for name in allowed if name != POLLING]
        assert [one.name for one in ran if one.name != POLLING] == must
        assert all(one.name in allowed for one in ran)

    def check_outputs(self, before: AgentState, doing: Acting) -> None:
        """Each call of the closed batch has one output: its own, or the text that says why it has none."""
        end = len(before.transcript.turns)
        results = self.state.transcript.turns[end : end + len(doing.slots)]
        assert len(results) == len(doing.slots)
        for slot, result in zip(doing.slots, results, strict=True):
            assert isinstance(result, ToolResult)
            if slot.op is None:
                assert result.content == CANCELLED
            else:
                assert result.content == self.books.given.get(slot.op, INTERRUPTED)
        if self.books.waited:
            self.books.row = ("", 0)
        self.books.given.clear()
        self.books.waited = False

    def check_history(self) -> None:
        """Every provider would take the history."""
        transcript = self.state.transcript
        acting = self.state.phase is Phase.ACTING
        assert bool(transcript.open) == acting
        assert flaw(transcript.turns, batch_open=acting) is None
        assert all(says_something(turn) for turn in transcript.turns)
        known = {*OUTPUTS, CANCELLED, CUT, INTERRUPTED}
        assert {turn.content for turn in transcript.turns if isinstance(turn, ToolResult)} <= known

    def check_numbers(self, before: AgentState) -> None:
        """What is counted never falls, and every run ends once."""
        assert self.state.step >= before.step
        assert self.state.next_op >= before.next_op
        self.steps["all"] += self.state.step - before.step
        old, new = before.run, self.state.run
        if old and new and old.id == new.id:
            assert (new.rounds, new.tokens, new.steps) >= (old.rounds, old.tokens, old.steps)
            assert new.tokens >= old.tokens
            assert new.steps >= old.steps
            assert new.rounds <= self.state.rules.rounds + 1, "one last answer at most"
        going = {new.id} if new and self.state.phase is not Phase.DONE else set[RunId]()
        assert self.finished == Counter(dict.fromkeys(self.begun - going, 1))

    def check_open_ends(self) -> None:
        """What the state awaits is what was begun and neither answered nor cancelled, and an agent is never stuck."""
        assert sorted(self.state.open_ops) == sorted(self.issued)
        awaited = [effect for effect in self.issued.values() if not isinstance(effect, StartDeadline)]
        assert bool(awaited) == (self.state.phase not in {Phase.IDLE, Phase.PAUSED})
        assert (self.state.run is None) == (self.state.phase is Phase.IDLE)


class LongLivedMachine(AgentMachine):
    """An agent that lives through many events at a time; quick, but what it finds cannot be made small."""

    @rule(seed=st.integers(0, 2**32), times=st.integers(1, 300))
    def live_on(self, seed: int, times: int) -> None:
        """Live for a while, quietly most of the time."""
        chance = Random(seed)  # noqa: S311  no key is made of it
        for _ in range(times):
            due = [effect for effect in self.issued.values() if not isinstance(effect, StartDeadline)]
            if chance.randrange(50) == 0:
                self.disturb(chance)
            elif due:
                self.happen(answer_to(chance.choice(due), chance))
            elif self.state.phase is Phase.IDLE:
                self.happen(Asked(self.next_run, "Count.", chance.choice([None, 9.0])))
            else:
                self.happen(Resumed())
