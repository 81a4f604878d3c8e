"""What a fleet's notices count as."""

from collections import Counter

import pytest

from amrita_fleet import Agent, Fleet, tool
from amrita_fleet.protocols.ids import AgentId
from amrita_fleet.protocols.messages import Json
from amrita_fleet.protocols.notices import Notice, NoticeType
from amrita_fleet.protocols.providers.script import call, calls, fail, repeat, say
from amrita_fleet.protocols.providers.scripted import scripted
from amrita_fleet.runtime.metrics import catalogue
from amrita_fleet.runtime.metrics.meter import MemoryMeter
from amrita_fleet.runtime.metrics.tally import MOST_KEPT, NoticeTally

pytestmark = pytest.mark.anyio


@tool
async def add(left: int, right: int) -> int:
    """Add."""
    return left + right


@tool
async def divide(left: int, right: int) -> float:
    """Divide."""
    return left / right


def tallied(notices: list[Notice]) -> MemoryMeter:
    """What these notices come to."""
    meter, tally = MemoryMeter(), NoticeTally()
    for notice in notices:
        for metric, labels, value in tally.read(notice):
            put = meter.add if metric.kind is catalogue.Kind.COUNTER else meter.observe
            put(metric, labels, value)
    return meter


async def told(fleet: Fleet, *awaited: str) -> list[Notice]:
    """What a fleet has told until each of these kinds of notices has come."""
    found: list[Notice] = []
    missing = Counter(awaited)
    async for notice in fleet.notices():
        found.append(notice)
        missing[f"{notice.type}.{notice.extra_type}"] -= 1
        if not +missing:
            break
    return found


async def test_a_run_counts_its_rounds_tokens_tools_and_outcome() -> None:
    model = scripted(
        fail("ProviderOverloaded"), calls(call("add", left=1, right=2), call("divide", left=1, right=0)), say("Done.")
    )
    async with Fleet("t", system="local") as fleet:
        (ana,) = await fleet.spawn(Agent(preset=model, tools=(add, divide)), ["ana"])
        outcome = await ana.run("Reckon.")
        counted = tallied(await told(fleet, "run.finished"))
    values = counted.values
    name = model.model
    assert values[catalogue.RUNS.name, "answered"] == 1
    assert (values[catalogue.STEPS.name,], values[catalogue.ROUNDS.name,]) == (1, 2)
    assert values[catalogue.TOOL_CALLS.name, "ended"] == values[catalogue.TOOL_CALLS.name, "failed"] == 1
    assert values[catalogue.MODEL_CALLS.name, "replied"] == 2
    assert values[catalogue.MODEL_CALLS.name, "ProviderOverloaded"] == 1
    tokens = [values[catalogue.MODEL_TOKENS.name, name, kind] for kind in ("prompt", "completion")]
    assert min(tokens) > 0
    assert sum(tokens) == outcome.tokens


async def test_mail_counts_when_it_is_read_and_a_loop_when_it_is_left() -> None:
    async with Fleet("t", system="local") as fleet:
        looping = Agent(preset=scripted(repeat(call("add", left=1, right=2))), tools=(add,))
        (ana,) = await fleet.spawn(Agent(preset=scripted(say("Heard."))), ["ana"])
        (bob,) = await fleet.spawn(looping, ["bob"])
        await ana.send("Hello.")
        await bob.run("Go.")
        counted = tallied(await told(fleet, "run.finished", "run.finished"))
    assert counted.values[catalogue.MAIL_READ.name,] == 1
    assert counted.observed.keys() == {(catalogue.MODEL_SECONDS.name, "scripted")}  # a person's mail has no age
    assert counted.values[catalogue.STALLS.name, "loop"] == 1
    assert counted.values[catalogue.RUNS.name, "stalled"] == 1


def mail(event: str, number: int, at: float, **facts: str) -> Notice:
    return Notice(NoticeType.MAIL, event, AgentId("ana"), "", data={"id": f"m{number}", **facts}, at=at)


@pytest.mark.parametrize(
    ("kind", "event", "facts", "key"),
    [
        (NoticeType.AGENT, "died", {"restarts": True}, (catalogue.DEATHS.name,)),
        (NoticeType.AGENT, "revived", {}, (catalogue.RESTARTS.name,)),
        (NoticeType.WATCH, "found", {"trouble": "wedged"}, (catalogue.STALLS.name, "wedged")),
    ],
)
def test_deaths_restarts_and_troubles_are_counted(
    kind: NoticeType, event: str, facts: dict[str, Json], key: tuple[str, ...]
) -> None:
    assert tallied([Notice(kind, event, AgentId("ana"), "", data=facts)]).values == {key: 1}


def test_the_oldest_unread_message_is_known_until_it_is_read_or_dead() -> None:
    tally = NoticeTally()
    for notice in (mail("sent", 1, 10.0), mail("sent", 2, 20.0), mail("sent", 3, 30.0)):
        assert list(tally.read(notice)) == []
    assert tally.oldest() == 10.0
    assert [change.value for change in tally.read(mail("consumed", 1, 12.5))] == [1, 2.5]
    assert tally.oldest() == 20.0
    (dead,) = tally.read(mail("dead", 2, 40.0, refusal="stopped"))
    assert (dead.metric, dead.labels) == (catalogue.DEAD_LETTERS, {"reason": "stopped"})
    assert tally.oldest() == 30.0
    assert [change.value for change in tally.read(mail("consumed", 3, 29.0))] == [1, 0.0]  # another node's clock
    assert tally.oldest() is None


def test_a_message_may_be_read_before_its_sender_tells_of_it() -> None:
    tally = NoticeTally()
    assert [change.metric for change in tally.read(mail("consumed", 1, 12.0))] == [catalogue.MAIL_READ]
    assert [change.value for change in tally.read(mail("sent", 1, 10.0))] == [2.0]
    assert [change.metric for change in tally.read(mail("dead", 2, 12.0))] == [catalogue.DEAD_LETTERS]
    assert list(tally.read(mail("sent", 2, 10.0))) == []
    assert tally.oldest() is None


def test_only_so_many_unread_messages_are_known() -> None:
    tally = NoticeTally()
    for number in range(MOST_KEPT + 5):
        assert list(tally.read(mail("sent", number, float(number)))) == []
    assert tally.oldest() == 5.0


def test_an_answer_that_was_recorded_before_its_model_was_told_counts_as_unknown() -> None:
    facts: dict[str, Json] = {"prompt": 10, "completion": 2, "purpose": "think"}
    counted = tallied([Notice(NoticeType.MODEL, "replied", AgentId("ana"), "", data=facts)])
    assert counted.values[catalogue.MODEL_TOKENS.name, "unknown", "prompt"] == 10
    assert counted.observed == {}
