"""An agent's records: what they hold comes back, and a new process is where the dead one was."""

import json
from contextlib import suppress
from dataclasses import fields, replace
from random import Random
from typing import cast, get_args

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amrita_fleet.protocols.checkin import EndStep, Pause, Stop, Wait, WindDown
from amrita_fleet.protocols.codec import encode
from amrita_fleet.protocols.errors import DecodeError, VersionMismatch
from amrita_fleet.protocols.ids import AgentId, RunId
from amrita_fleet.protocols.messages import Finish as FinishReason
from amrita_fleet.protocols.messages import Json, Message, Reply, Role, ToolCall, Usage
from amrita_fleet.protocols.notices import Notice
from amrita_fleet.protocols.outcome import Ending
from amrita_fleet.protocols.presets import ModelPreset
from amrita_fleet.protocols.providers.openai_chat import OpenAIChat
from amrita_fleet.runtime.journal_errors import RecordInvalid
from amrita_fleet.runtime.ports import Record
from amrita_fleet.runtime.records import (
    KEPT_OUTCOMES,
    VERSION,
    AgentRecord,
    Dropped,
    Happened,
    Past,
    Queued,
    Snapshot,
    Taken,
    decode_record,
    encode_record,
    replay,
    snapshot_of,
    state_from,
)
from amrita_fleet.runtime.step.advance import advance
from amrita_fleet.runtime.step.compaction import CompactionRules
from amrita_fleet.runtime.step.effects import Cancel, Commit, Effect, Notify, StartDeadline
from amrita_fleet.runtime.step.events import (
    Asked,
    CallFacts,
    Directed,
    Event,
    MailArrived,
    Replied,
    Resumed,
    Revived,
    Woken,
)
from amrita_fleet.runtime.step.phases import Doing, Op, Paused, Phase, WaitFor
from amrita_fleet.runtime.step.rules import Rules
from amrita_fleet.runtime.step.state import AgentState

from .step.chance import Awaited, answer_to, anything, steering
from .step.lives import Life, Tale, World
from .step.play import Play, Result, call, calls, mail, says

pytestmark = pytest.mark.slow

ANA = AgentId("ana")
STREAM = "fleet/agent/ana"
RUN = RunId("ana.1.1")

chances = st.randoms(use_true_random=False)
rules = st.builds(
    Rules,
    step_rounds=st.integers(1, 3),
    presets=st.integers(1, 2),
    memory=st.sampled_from(["agent", "run"]),
    plan=st.sampled_from(["never", "auto", "always"]),
    compaction=st.builds(CompactionRules, messages=st.sampled_from([4, 200])),
)


class Chronicle:
    """An agent that lives by chance, and its journal."""

    def __init__(self, rules: Rules, random: Random) -> None:
        self.state = AgentState.begin(ANA, rules)
        self.past = Past(self.state)
        self.records: list[Record] = []
        self.random = random
        self.issued: dict[Op, Awaited] = {}
        self.new: list[Event] = []
        self.runs = 0

    def write(self, record: AgentRecord, *, snapshot: bool = False) -> None:
        self.records.append(Record(len(self.records) + 1, 1, encode_record(record), snapshot))
        self.past = self.past.after(decode_record(self.records[-1].data))

    def next_event(self) -> Event:
        due = [effect for effect in self.issued.values() if not isinstance(effect, StartDeadline)]
        if self.random.randrange(30) == 0:
            self.issued.clear()
            return Revived(3.0, 4.0)
        if self.random.randrange(30) == 0:
            return steering(self.random)
        if self.state.phase is Phase.WAITING and self.random.randrange(2):
            return MailArrived()
        if due:
            return answer_to(self.random.choice(due), self.random)
        if self.state.phase is not Phase.IDLE:
            return Resumed()
        self.runs += 1
        run, timeout = RunId(f"ana.1.{self.runs}"), self.random.choice([None, 9.0])
        return Woken(run, timeout) if self.random.randrange(2) else Asked(run, "Count.", timeout, ("All.",))

    def happen(self) -> tuple[Effect, ...]:
        """One more event; at a commit it is written, and the records must come to where the agent is."""
        event = self.next_event()
        self.issued.pop(getattr(event, "op", Op(0)), None)
        self.state, effects = advance(self.state, event)
        self.new.append(event)
        for effect in effects:
            if isinstance(effect, Cancel):
                for op in effect.ops:
                    self.issued.pop(op, None)
            elif isinstance(effect, Commit):
                self.commit()
            elif not isinstance(effect, Notify):
                self.issued[effect.op] = effect
        return effects

    def commit(self) -> None:
        if self.new:
            self.write(Happened(tuple(self.new), 1000.0 + len(self.records)))
            self.new = []
        assert self.past.state == self.state


@settings(deadline=None, max_examples=15)
@given(rules, chances, st.integers(1, 120))
def test_the_records_of_any_life_come_to_its_state(rules: Rules, random: Random, length: int) -> None:
    life = Chronicle(rules, random)
    for _ in range(length):
        life.happen()
    life.commit()

    assert replay(STREAM, life.records, ANA, rules) == life.past


@settings(deadline=None, max_examples=15)
@given(rules, chances, st.integers(1, 120))
def test_a_snapshot_of_any_state_comes_back_and_stands_for_all_before_it(
    rules: Rules, random: Random, length: int
) -> None:
    life = Chronicle(rules, random)
    for _ in range(length):
        life.happen()
    life.commit()
    snapshot = snapshot_of(life.past)

    assert decode_record(encode_record(snapshot)) == snapshot
    assert state_from(snapshot, rules) == life.state

    before, whole = len(life.records), life.past
    life.write(snapshot, snapshot=True)
    assert life.past == whole
    for _ in range(9):
        life.happen()
    life.commit()
    assert replay(STREAM, life.records[before:], ANA, rules) == replay(STREAM, life.records, ANA, rules)


@given(chances)
def test_any_event_comes_back(random: Random) -> None:
    events = tuple(anything(random, 9) for _ in range(20))

    assert decode_record(encode_record(Happened(events, 5.0))) == Happened(events, 5.0)


@pytest.mark.parametrize("seed", range(3))
def test_chance_has_events_of_every_kind(seed: int) -> None:
    random = Random(seed)  # noqa: S311  no key is made of it

    assert {type(anything(random, 9)) for _ in range(2000)} == set(get_args(Event))


@pytest.mark.slow
def test_lives_by_chance_come_to_every_phase() -> None:
    random, seen = Random(1), set[type[Doing]]()  # noqa: S311  no key is made of it
    for number in range(30):
        mode = Rules(plan="always" if number % 2 else "never", compaction=CompactionRules(messages=4))
        life = Chronicle(mode, random)
        for _ in range(60):
            life.happen()
            seen.add(type(life.state.doing))

    assert {each.phase for each in seen} == set(Phase)


@pytest.mark.parametrize(
    "directive",
    [
        EndStep("no"),
        WindDown("tokens", "none left"),
        Pause("a look"),
        Stop("enough"),
        Wait(1.5, "held"),
        Wait(1.5, "3rd of 9", queued=True),
    ],
    ids=lambda one: type(one).__name__,
)
def test_a_directive_within_an_event_comes_back(directive: EndStep | WindDown | Pause | Stop | Wait) -> None:
    record = Happened((Directed(Op(1), directive),))

    assert decode_record(encode_record(record)) == record


def test_what_a_provider_sent_beside_the_text_comes_back_word_for_word() -> None:
    extra: dict[str, Json] = {"seal": ["a", {"b": None, "c": 1.5}], "empty": {}}
    asked = ToolCall("c", "count", '{"a": "\ud800"}', extra)
    message = Message(Role.ASSISTANT, "", (asked,), "Hm.", "sealed", extra, "deepseek")
    usage = Usage(5, 1, raw={"details": {"cached": [0]}})
    reply = Reply(message, usage, FinishReason.CALLS, "r")
    record = Happened((Replied(Op(1), reply, (CallFacts("s", safe=True),), output={"words": [1, None]}),))

    found = decode_record(encode_record(record))

    assert found == record
    assert isinstance(found, Happened)
    assert isinstance(found.events[0], Replied)
    assert found.events[0].reply.usage.raw == usage.raw


def test_a_pause_keeps_what_was_paused() -> None:
    play = Play(directives=[Pause("a look")]).ask()
    assert isinstance(play.state.doing, Paused)
    snapshot = snapshot_of(Past(play.state))

    assert decode_record(encode_record(snapshot)) == snapshot


def test_a_snapshot_holds_everything_but_the_rules() -> None:
    held = {one.name for one in fields(Snapshot)}

    assert {one.name for one in fields(AgentState)} - {"rules"} <= held
    assert {one.name for one in fields(Past)} - {"state"} <= held
    assert "rules" not in held


def test_the_rules_are_those_of_the_description_but_the_run_goes_on_with_its_own_numbers() -> None:
    play = Play([calls("a")], Rules(repeats=3, rounds=5)).ask()

    described = Rules(repeats=7, rounds=9)

    state = state_from(snapshot_of(Past(play.state)), described)

    assert state.rules is described
    assert state.current.window.limit == 3


# --- runs -------------------------------------------------------------------------------------------------------------


def stream(*records: AgentRecord) -> list[Record]:
    return [Record(number, 1, encode_record(record)) for number, record in enumerate(records, 1)]


def come_to(*records: AgentRecord, rules: Rules | None = None) -> Past:
    return replay(STREAM, stream(*records), ANA, rules or Rules())


def asked(number: int) -> Asked:
    return Asked(RunId(f"ana.1.{number}"), f"Task {number}.", 60.0, ("Be quick.",))


def test_an_empty_stream_is_an_agent_that_has_not_lived() -> None:
    rules = Rules(instructions="You count.")

    assert come_to(rules=rules) == Past(AgentState.begin(ANA, rules))


def test_an_accepted_run_waits_until_it_begins() -> None:
    waiting = come_to(Queued(asked(1)), Queued(asked(2)))
    assert waiting.queue == (asked(1), asked(2))

    begun = come_to(Queued(asked(1)), Queued(asked(2)), Happened((asked(1),), 500.0))

    assert begun.queue == (asked(2),)
    assert begun.state.current.id == asked(1).run
    assert begun.began == 500.0


def test_a_run_that_was_dropped_has_an_outcome_and_waits_no_more() -> None:
    past = come_to(Queued(asked(1)), Queued(asked(2)), Dropped(asked(1).run, "the agent was stopped"))

    assert past.queue == (asked(2),)
    [outcome] = past.outcomes
    assert (outcome.run, outcome.ending, outcome.reason) == (asked(1).run, Ending.STOPPED, "the agent was stopped")


def test_the_newest_outcomes_are_kept() -> None:
    dropped = [Dropped(RunId(f"ana.1.{number}"), "no") for number in range(KEPT_OUTCOMES + 3)]

    past = come_to(*dropped)

    assert [outcome.run for outcome in past.outcomes] == [each.run for each in dropped[3:]]


def recorded(tale: Tale) -> list[Happened]:
    """What is recorded of a tale's runs."""
    world = World(tale, checked=False)
    Life(world).live()
    found = [decode_record(record.data) for record in world.records]
    return [record for record in found if isinstance(record, Happened)]


def test_an_outcome_stands_once_however_often_it_is_handed_out() -> None:
    happened = recorded(Tale((says("Done."),)))

    past = come_to(*happened, Happened((Revived(),)), Happened((Revived(),)))

    [outcome] = past.outcomes
    assert (outcome.run, outcome.text) == (RUN, "Done.")


def test_mail_that_was_taken_in_is_told_with_run_and_step() -> None:
    letter = mail("Hello.")

    past = come_to(*recorded(Tale((calls("count"), says("Done."), says("Done.")), letters={"count": letter})))

    assert past.taken == (Taken(letter.id, RUN, 2),)


def test_the_next_life_knows_how_long_a_run_and_a_wait_have_lasted() -> None:
    wait = Result("Coming.", WaitFor((), 60.0))
    happened = recorded(Tale((calls("wait"), says("Done.")), tools=lambda _: wait))
    past, last = come_to(), 0
    for number, record in enumerate(happened):
        if past.state.phase is not Phase.WAITING:
            past = past.after(Happened(record.events, 1000.0 + 10 * number))
            last = number
    assert past.state.phase is Phase.WAITING

    assert past.revived(1100.0) == Revived(ran=100.0, waited=100.0 - 10 * last)
    again = past.after(Happened((past.revived(1100.0),), 1100.0))
    assert again.revived(1105.0) == Revived(ran=105.0, waited=105.0 - 10 * last), "a life in between changes nothing"
    assert past.revived(10.0) == Revived(), "another node's clock may be behind"


# --- size -------------------------------------------------------------------------------------------------------------


def test_a_round_takes_as_many_bytes_however_long_the_history_is() -> None:
    rounds = [call("count", f'{{"file": {number:04}}}') for number in range(200)]
    rules = Rules(rounds=300, step_rounds=300, compaction=CompactionRules(strategy="none"))

    happened = recorded(Tale((*(calls(one) for one in rounds), says("Done.")), rules))

    sizes = [len(encode_record(record)) for record in happened[2:-2]]
    assert len(sizes) >= 390, "a reply and a batch for each round"
    assert max(sizes[-20:]) <= max(sizes[:20]) + 20


# --- what is no record of ours ----------------------------------------------------------------------------------------


def refusal(data: bytes) -> RecordInvalid:
    fine = Record(7, 1, encode_record(Queued(asked(1))))
    with pytest.raises(RecordInvalid) as caught:
        replay(STREAM, [fine, Record(8, 1, data)], ANA, Rules())
    error = caught.value
    assert (error.stream, error.number) == (STREAM, 8)
    assert "Record 8 of the stream 'fleet/agent/ana'" in str(error)
    return error


def test_a_record_of_a_newer_version_is_refused() -> None:
    newer = bytes([VERSION + 1]) + encode_record(Queued(asked(1)))[1:]

    with pytest.raises(VersionMismatch):
        decode_record(newer)
    assert f"version {VERSION + 1}" in refusal(newer).reason


@pytest.mark.parametrize(
    "data",
    [b"", b"\x01", b"\x01\x01", b"nonsense", bytes([VERSION]) + encode(asked(1)), encode_record(Queued(asked(1)))[:-3]],
    ids=["nothing", "no value", "half", "words", "no record", "cut"],
)
def test_a_damaged_record_is_refused(data: bytes) -> None:
    with pytest.raises((DecodeError, VersionMismatch)):
        decode_record(data)
    refusal(data)


@given(st.binary(max_size=40))
def test_bytes_of_any_kind_are_a_record_or_refused(data: bytes) -> None:
    with suppress(DecodeError, VersionMismatch):
        decode_record(bytes([VERSION, VERSION]) + data)


def test_events_that_cannot_have_happened_are_refused() -> None:
    error = refusal(encode_record(Happened((MailArrived(),))))

    assert "no move for MailArrived" in error.reason


def test_the_record_of_another_agent_is_refused() -> None:
    other = snapshot_of(Past(AgentState.begin(AgentId("bob"), Rules())))

    assert "of the agent 'bob', not of 'ana'" in refusal(encode_record(other)).reason


def test_fields_of_a_later_program_are_ignored_and_those_an_earlier_one_did_not_know_have_defaults() -> None:
    plain = msgpack.unpackb(encode_record(Happened((Resumed(),), 5.0))[2:])
    later = {**plain, "mood": "good"}
    earlier = {name: value for name, value in plain.items() if name != "at"}

    assert decode_record(bytes([VERSION, 1]) + msgpack.packb(later)) == Happened((Resumed(),), 5.0)
    assert decode_record(bytes([VERSION, 1]) + msgpack.packb(earlier)) == Happened((Resumed(),))


def without(value: object, names: set[str]) -> object:
    """Plain data of a program that had no fields of these names yet."""
    if isinstance(value, dict):
        items = cast("dict[str, object]", value).items()
        return {name: without(each, names) for name, each in items if name not in names}
    return [without(each, names) for each in cast("list[object]", value)] if isinstance(value, list) else value


def test_records_of_a_program_that_knew_neither_hops_nor_open_questions_are_read() -> None:
    answers = {"count": replace(mail("So it is."), hops=3, question=True)}
    happened = recorded(Tale((calls("count"), says("Done.")), letters=answers))
    records: list[AgentRecord] = [*happened, snapshot_of(come_to(*happened))]
    later = {"hops", "question", "questions", "wrote", "chains"}

    earlier = [without(msgpack.unpackb(encode_record(record)[2:]), later) for record in records]
    past = come_to(*(decode_record(bytes([VERSION, 1]) + msgpack.packb(each)) for each in earlier))

    assert records[-1] != snapshot_of(past), "what was not written is not known"
    assert past.state.hops_after("bob.1.ana.1") == 1
    assert past.state.transcript == come_to(*records).state.transcript


def test_what_is_to_be_told_is_numbered_in_the_record_and_a_snapshot_keeps_the_numbers() -> None:
    happened = counted(recorded(Tale((calls("count"), says("Done.")))))
    whole = come_to(*happened)

    assert [notice.recorded for notice in whole.untold] == [*range(1, whole.told + 1)]
    assert {"run.started", "model.replied", "run.finished"} <= {kind(notice) for notice in whole.untold}
    for place in range(len(happened)):
        again = come_to(snapshot_of(come_to(*happened[:place])), *happened[place:])
        assert (again.told, again.untold) == (whole.told, whole.untold)


def test_records_of_a_program_that_did_not_count_notices_have_nothing_told_again() -> None:
    happened = counted(recorded(Tale((calls("count"), says("Done.")))))
    earlier = [without(msgpack.unpackb(encode_record(record)[2:]), {"told"}) for record in happened]

    past = come_to(*(decode_record(bytes([VERSION, 1]) + msgpack.packb(each)) for each in earlier))

    assert (past.told, past.untold) == (0, ())
    assert past.state.transcript == come_to(*happened).state.transcript


def counted(happened: list[Happened]) -> list[Happened]:
    """Records that say how many notices those before them do."""
    found = list[Happened]()
    for record in happened:
        found.append(replace(record, told=come_to(*found).told))
    return found


def kind(notice: Notice) -> str:
    return f"{notice.type}.{notice.extra_type}"


# --- what providers send beside an answer -----------------------------------------------------------------------------


def test_whatever_a_provider_says_beside_its_answer_can_be_recorded() -> None:
    odd = {"content": "Hi.", "x_id": 2**70, "x_deep": json.loads("[" * 100 + "]" * 100), "x_half": "\ud83d"}
    usage = {"prompt_tokens": 2**70, "completion_tokens": 3, "x_nanos": 10**400}
    body = json.dumps({"choices": [{"message": odd, "finish_reason": "stop"}], "usage": usage}).encode()
    adapter = OpenAIChat(ModelPreset(model="m", base_url="http://localhost/v1"))
    reply = adapter.reply({}, body, adapter.draft((Message(Role.USER, "Hello."),), (), None))
    assert "x_id" in reply.message.extra
    assert "x_nanos" in reply.usage.raw

    record = Happened((Replied(Op(1), reply, ()),))

    assert decode_record(encode_record(record)) == record
