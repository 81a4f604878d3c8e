"""Any event at any time: a Hypothesis state machine around `advance`, with its own books on what must hold."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import ClassVar, cast

from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from amrita_fleet.protocols.ids import AgentId, RunId
from amrita_fleet.protocols.messages import Finish as FinishReason
from amrita_fleet.protocols.messages import Json, Message, Role, ToolResult
from amrita_fleet.runtime.errors import InvalidMove
from amrita_fleet.runtime.step.advance import advance
from amrita_fleet.runtime.step.compacting import OVERFLOW
from amrita_fleet.runtime.step.compaction import CompactionRules
from amrita_fleet.runtime.step.effects import (
    AskApproval,
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
from amrita_fleet.runtime.step.events import (
    Asked,
    Decided,
    Directed,
    Event,
    MailArrived,
    MailTaken,
    ModelFailed,
    Replied,
    Resumed,
    Revived,
    ToolEnded,
    ToolHeld,
    WaitEnded,
    Woken,
)
from amrita_fleet.runtime.step.phases import Acting, Asking, Done, Op, Phase, Purpose
from amrita_fleet.runtime.step.plan import Plan
from amrita_fleet.runtime.step.prompts import CANCELLED, INTERRUPTED, NOT_RUN, REFUSED
from amrita_fleet.runtime.step.requests import request
from amrita_fleet.runtime.step.revision import UPDATE_STEP
from amrita_fleet.runtime.step.rules import Rules
from amrita_fleet.runtime.step.state import AgentState
from amrita_fleet.runtime.step.strategies import BuiltinStrategy

from .books import Books, notices
from .chance import POLLING, Awaited, Moody, answer_to, anything, fits, signature, steering
from .pairing import flaw, messages_flaw, says_something

__all__ = ("AgentMachine", "LongLivedMachine")

chances = st.randoms(use_true_random=False)
rules = st.builds(
    Rules,
    rounds=st.integers(1, 30),
    step_rounds=st.integers(1, 3),
    step_tokens=st.sampled_from([-1, -1, -1, 500]),
    repeats=st.integers(2, 4),
    retries=st.integers(0, 2),
    presets=st.integers(1, 2),
    side_input=st.sampled_from([4000, 48_000]),
    memory=st.sampled_from(["agent", "run"]),
    instructions=st.sampled_from(["", "You count."]),
    plan=st.sampled_from(["never", "auto", "always", "always"]),
    compaction=st.builds(
        CompactionRules,
        threshold=st.sampled_from([-1, -1, 1, 300]),
        window=st.sampled_from([50, 1000, 64_000]),
        messages=st.sampled_from([4, 12, 200]),
        strategy=st.sampled_from(["compact", "compact", "compact", "none"]),
    ),
    strategy=st.builds(BuiltinStrategy) | st.builds(Moody, st.integers(0, 99)),
)

SIDE = {Purpose.DECOMPOSE, Purpose.SUMMARISE, Purpose.COMPACT}
MOST_ASIDE = 4
"""Replies to side requests that may come one after another: a plan refused and made, or a summary, and one more."""

TASK = "Count the words."


class AgentMachine(RuleBasedStateMachine):
    """One agent, and everything that may happen to it."""

    steps: ClassVar[Counter[str]] = Counter()
    """Steps that all machines have made, under `all`; and how often watchers saw what."""

    @initialize(rules=rules)
    def live(self, rules: Rules) -> None:
        """Begin."""
        self.state = AgentState.begin(AgentId("ana"), rules)
        self.issued: dict[Op, Awaited] = {}
        self.finished: Counter[RunId] = Counter()
        self.begun: set[RunId] = set()
        self.books = Books()
        self.last_op = 0
        self.last_mail = ""

    # --- what happens -------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.state.phase is Phase.IDLE)
    @rule(timeout=st.none() | st.just(9.0), woken=st.booleans())
    def begin_a_run(self, timeout: float | None, woken: bool) -> None:
        """Give the agent a task, or wake it."""
        self.happen(Woken(self.next_run, timeout) if woken else Asked(self.next_run, TASK, timeout))

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

    # --- the books ----------------------------------------------------------------------------------------------------

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
            assert awaited is None or not fits(event, awaited), "an answer that is awaited was refused"
            return
        self.book(event, before, effects)
        if self.state.transcript is not before.transcript or self.state.phase is not before.phase:
            self.check_history()
            self.check_what_stays(before, event, effects)
        self.check_numbers(before)
        self.check_plan(before)
        self.check_open_ends()

    def book(self, event: Event, before: AgentState, effects: tuple[Effect, ...]) -> None:
        """Write the event and its effects into the books."""
        op, answered = getattr(event, "op", None), None
        if op is not None:
            # The end of a wait answers nothing: the timer that it cancels still runs.
            answered = self.issued[op] if isinstance(event, WaitEnded) else self.issued.pop(op)
            assert fits(event, answered), "an answer nobody awaited was taken"
        if isinstance(event, Asked | Woken):
            self.begun.add(event.run)
            self.books = Books()
        if isinstance(event, Revived):
            self.issued.clear()
        if isinstance(event, Revived) and isinstance(before.doing, Done):
            self.finished[before.doing.outcome.run] -= 1  # nobody knows whether it went out, so it does once more
        self.write_output(event)
        if isinstance(before.doing, Acting) and not isinstance(self.state.doing, Acting):
            self.check_outputs(before, before.doing)
        if isinstance(event, Replied) and before.phase is Phase.THINKING:
            self.check_calls(event, before, effects)
        self.check_approvals(event, answered, effects)
        self.check_patience(event, before)
        for effect in effects:
            self.take(effect)
        if before.run and self.state.run and before.run.node != self.state.run.node:
            self.books.row = ("", 0)

    def write_output(self, event: Event) -> None:
        """Write down what a call came to."""
        if isinstance(event, ToolEnded):
            self.books.given[event.op] = event.output
            self.books.waited |= event.wait is not None
        if isinstance(event, Decided) and not event.allowed:
            self.books.given[event.op] = REFUSED.format(reason=f": {event.reason}" if event.reason else "")

    def take(self, effect: Effect) -> None:
        """Write an effect into the books."""
        if isinstance(effect, Cancel):
            for op in effect.ops:
                del self.issued[op]
        elif isinstance(effect, Notify):
            self.steps[f"{effect.type}.{effect.extra_type}"] += 1
            self.books.overflows += effect.data.get("reason") == OVERFLOW
        elif not isinstance(effect, Commit):
            assert effect.op > self.last_op, "an op is never used twice"
            self.last_op = effect.op
            self.issued[effect.op] = effect
        if isinstance(effect, AskApproval):
            self.books.asked.add(effect.op)
        if isinstance(effect, Finish):
            self.finished[effect.outcome.run] += 1
        if self.state.phase is Phase.PAUSED:
            assert not isinstance(effect, AskLeave | CallModel | RunTool), "nothing is begun in a pause"
        if isinstance(effect, CallModel):
            self.check_request(effect)

    # --- what must hold: calls ----------------------------------------------------------------------------------------

    def check_calls(self, event: Replied, before: AgentState, effects: tuple[Effect, ...]) -> None:
        """The N-th identical call in a row does not run; calls that were cut count, and do not run at all."""
        begun = [effect.call for effect in effects if isinstance(effect, RunTool | AskApproval)]
        cut = event.reply.finish is FinishReason.LENGTH
        at_node = before.current.node is not None
        allowed: list[str] = []
        for one in event.reply.message.calls:
            name, times = self.books.row
            self.books.row = (signature(one), times + 1 if name == signature(one) else 1)
            repeated = self.books.row[1] >= before.rules.repeats
            if not cut and (one.name == POLLING or not (repeated or (one.name == UPDATE_STEP and at_node))):
                allowed.append(signature(one))
        must = [one for one in allowed if not one.startswith(POLLING)]
        assert [signature(one) for one in begun if one.name != POLLING] == must
        assert all(signature(one) in allowed for one in begun)

    def check_approvals(self, event: Event, answered: Awaited | None, effects: tuple[Effect, ...]) -> None:
        """A call that a person must allow runs only when one has, then once, and just as the person saw it."""
        ran = [effect for effect in effects if isinstance(effect, RunTool)]
        if isinstance(event, ToolHeld):
            assert isinstance(answered, RunTool)
            shown = [effect.call for effect in effects if isinstance(effect, AskApproval)]
            assert shown == [replace(answered.call, arguments=event.arguments)]
        if isinstance(event, Decided):
            assert isinstance(answered, AskApproval)
            assert [one.call for one in ran] == [answered.call] * event.allowed
            self.books.allowed |= {one.key for one in ran}
        assert all(one.approved == (one.key in self.books.allowed) for one in ran)

    def check_outputs(self, before: AgentState, doing: Acting) -> None:
        """Each call of the closed batch has one output: its own, or the text that says why it has none."""
        end = len(before.transcript.turns)
        results = self.state.transcript.turns[end : end + len(doing.slots)]
        assert len(results) == len(doing.slots)
        for slot, result in zip(doing.slots, results, strict=True):
            assert isinstance(result, ToolResult)
            if slot.op is not None:
                missing = NOT_RUN if slot.op in self.books.asked else INTERRUPTED
                assert result.content == self.books.given.get(slot.op, missing)
            elif result.content != CANCELLED:
                assert slot.call.name == UPDATE_STEP
                assert result.content.startswith("ERROR: ") or "[Plan status]" in result.content
        if self.books.waited:
            self.books.row = ("", 0)
        self.books.given.clear()
        self.books.waited = False

    # --- what must hold: the history ----------------------------------------------------------------------------------

    def check_history(self) -> None:
        """Every provider would take the history."""
        transcript = self.state.transcript
        acting = self.state.phase is Phase.ACTING
        assert bool(transcript.open) == acting
        assert flaw(transcript.turns, batch_open=acting) is None
        assert messages_flaw(transcript.turns, batch_open=acting) is None
        assert all(says_something(turn) for turn in transcript.turns)

    def check_what_stays(self, before: AgentState, event: Event, effects: tuple[Effect, ...]) -> None:
        """A history only grows, but for its last note; where it is folded, what counts stays."""
        old, new = before.transcript.turns, self.state.transcript.turns
        if isinstance(event, MailTaken) and event.mails and event.refused is None:
            self.last_mail = event.mails[-1].id
        if isinstance(event, Asked | Woken):
            self.last_mail = "" if before.rules.memory == "run" else self.last_mail
        elif forgotten := notices(effects, "forgotten"):
            self.check_what_is_forgotten(before, forgotten[0])
        elif not (told := notices(effects, "compress")):
            assert new[: max(0, len(old) - 1)] == old[:-1]
        else:
            assert all((one["to_messages"], one["to"]) < (one["from_messages"], one["from"]) for one in told)
            kept = [turn for turn in new if isinstance(turn, Message) and turn.role is Role.ASSISTANT]
            said = [turn for turn in old if isinstance(turn, Message) and turn.role is Role.ASSISTANT]
            newest = said[len(said) - len(kept) :]
            assert all(one is other for one, other in zip(kept, newest, strict=True)), "as it came"
            assert any(before.current.task in turn.content for turn in new if isinstance(turn, Message))
        assert any(self.last_mail in turn.content for turn in new) or not new

    def check_what_is_forgotten(self, before: AgentState, data: Mapping[str, Json]) -> None:
        """Of a run that failed nothing stays but a note that names the messages it had read."""
        transcript = self.state.transcript
        assert before.rules.memory == "agent"
        assert self.state.phase is Phase.DONE
        assert transcript.size <= before.transcript.size or data["mails"]
        heads = cast("list[str]", data["mails"])
        assert all(head in transcript.turns[-1].content for head in heads[-20:])
        if any(self.last_mail in turn.content for turn in before.transcript.turns[before.transcript.since :]):
            self.last_mail = self.last_mail if heads else ""

    def check_request(self, effect: CallModel) -> None:
        """A request ends with what is to be answered; one beside the conversation is of two short texts."""
        assert isinstance(self.state.doing, Asking)
        assert effect.purpose is self.state.doing.purpose
        turns = request(self.state, self.state.doing, (), 8000)
        last = turns[-1]
        assert isinstance(last, ToolResult) or last.role is Role.USER
        if effect.purpose in SIDE:
            assert [turn.role for turn in turns if isinstance(turn, Message)] == [Role.SYSTEM, Role.USER]
            assert len(last.content.encode()) <= self.state.rules.side_input + 1000

    # --- what must hold: the rest -------------------------------------------------------------------------------------

    def check_patience(self, event: Event, before: AgentState) -> None:
        """Nothing is asked for again and again: between two rounds few side requests are answered, few calls fail."""
        books = self.books
        books.aside += isinstance(event, Replied) and before.phase is not Phase.THINKING
        books.failed += isinstance(event, ModelFailed)
        if isinstance(event, Directed) or (isinstance(event, Replied) and before.phase is Phase.THINKING):
            books.aside *= isinstance(event, Directed) and self.state.phase is before.phase
            books.overflows *= isinstance(event, Directed)
        if isinstance(event, Replied) or not isinstance(before.doing, Asking):
            books.failed = 0
        assert books.overflows <= 1
        assert books.aside <= MOST_ASIDE
        assert books.failed <= MOST_ASIDE * (before.rules.retries + 1) + before.rules.presets

    def check_numbers(self, before: AgentState) -> None:
        """What is counted never falls, and every run ends once."""
        assert self.state.step >= before.step
        self.steps["all"] += self.state.step - before.step
        old, new = before.run, self.state.run
        if old and new and old.id == new.id:
            counts = ((one.rounds, one.extra, one.tokens, one.steps) for one in (old, new))
            assert all(was <= now for was, now in zip(*counts, strict=True))
            assert new.rounds <= self.state.rules.rounds + new.extra
            assert new.corrections <= 2
        going = {new.id} if new and self.state.phase is not Phase.DONE else set[RunId]()
        assert self.finished == Counter(dict.fromkeys(self.begun - going, 1))

    def check_plan(self, before: AgentState) -> None:
        """A plan is valid whatever was done to it, and is worked on while there is something to do."""
        run = self.state.run
        if run is None or run.plan is None:
            return
        if before.run is None or run.plan is not before.run.plan:
            assert replace(run.plan) == Plan(run.plan.nodes, run.plan.current, run.plan.revision)
        if self.state.phase in {Phase.THINKING, Phase.SUMMARISING}:
            assert run.node is not None or not run.plan.ready
            assert self.state.rules.plan != "never"

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
            rare = chance.randrange(100)
            if rare == 0:
                self.steer(chance)
            elif rare == 1 and self.issued:
                self.answer(chance)
            elif rare < 4:
                self.disturb(chance)
            elif due:
                self.happen(answer_to(chance.choice(due), chance))
            elif self.state.phase is Phase.IDLE:
                self.happen(Asked(self.next_run, TASK, chance.choice([None, 9.0])))
            else:
                self.happen(Resumed())
