"""Whatever people give to a public method is valid or an error of our tree: nothing else comes out, nothing hangs."""

import asyncio
import math
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from amrita_fleet import (
    Agent,
    ArgumentInvalid,
    ChannelClosed,
    Course,
    Deadlines,
    Fleet,
    FleetError,
    NameInvalid,
    NumberInvalid,
    Run,
    Rung,
    Stage,
    SuspendObjectStream,
    TaskInvalid,
    Trouble,
    WatchPolicy,
    create_agent,
)
from amrita_fleet.protocols.providers.scripted import say, scripted
from amrita_fleet.runtime.clock import settle

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

GIVEN: dict[str, object] = {
    "none": None,
    "empty": "",
    "number": 5,
    "huge": 10**400,
    "long": "x" * 10**6,
    "surrogate": "half \ud800",
    "nan": math.nan,
    "inf": math.inf,
    "true": True,
    "object": object(),
    "list": [[]],
    "bytes": b"ana",
}
"""What has no place where it is given, most of it."""

given = pytest.mark.parametrize("value", GIVEN.values(), ids=GIVEN)

AGENT = Agent(preset=scripted(*[say("x")] * 99))

Door = Callable[[Fleet, Any], object]

DOORS: dict[str, Door] = {
    "agent": lambda fleet, value: fleet.agent(value),
    "start agent": lambda fleet, value: fleet.start(value, "go"),
    "start task": lambda fleet, value: fleet.start("ana", value),
    "start time": lambda fleet, value: fleet.start("ana", "go", value),
    "start stream": lambda fleet, value: fleet.start("ana", "go", stream=value),
    "send agent": lambda fleet, value: fleet.send(value, "hello"),
    "send body": lambda fleet, value: fleet.send("ana", value),
    "receipt": lambda fleet, value: fleet.receipt(value),
    "stop agent": lambda fleet, value: fleet.stop("bob", value),
    "stop reason": lambda fleet, value: fleet.stop("bob", reason=value),
    "stop all": lambda fleet, value: fleet.stop_all(value),
    "pause agent": lambda fleet, value: fleet.pause(value),
    "pause reason": lambda fleet, value: fleet.pause("bob", value),
    "resume": lambda fleet, value: fleet.resume(value),
    "notices": lambda fleet, value: fleet.notices(value),
    "spawn agent": lambda fleet, value: fleet.spawn(value, ["new"]),
    "spawn names": lambda fleet, value: fleet.spawn(AGENT, value),
    "spawn name": lambda fleet, value: fleet.spawn(AGENT, [value]),
    "spawn parent": lambda fleet, value: fleet.spawn(AGENT, ["new"], parent=value),
    "spawn limit": lambda fleet, value: fleet.spawn(AGENT, ["new"], limit=value),
    "spawn progress": lambda fleet, value: fleet.spawn(AGENT, ["new"], progress=value),
    "allow": lambda fleet, value: fleet.approvals.allow(value),
    "refuse": lambda fleet, value: fleet.approvals.refuse(value, "no"),
    "refuse reason": lambda fleet, value: fleet.approvals.refuse("ana.1.1.1", value),
    "ref start": lambda fleet, value: fleet.agent("ana").start(value, value),
    "ref run": lambda fleet, value: fleet.agent("ana").run(value),
    "ref send": lambda fleet, value: fleet.agent("ana").send(value),
    "ref stop": lambda fleet, value: fleet.agent("bob").stop(value),
    "ref pause": lambda fleet, value: fleet.agent("bob").pause(value),
}


def tried(call: Callable[[], object]) -> object:
    """What a call gives; None where it is refused as it should be."""
    with suppress(FleetError):
        return call()
    return None


async def settled(call: Callable[[], object]) -> None:
    """Wait for what a call gives, and for the run that it begins."""
    answer = tried(call)
    with suppress(FleetError):
        async with asyncio.timeout(10):
            if isinstance(answer, Awaitable):
                answer = await answer
            if isinstance(answer, Run):
                await answer.outcome()


@given
async def test_of_a_fleet(value: object) -> None:
    async with Fleet(system="local") as fleet:
        await fleet.spawn(AGENT, ["ana", "bob"])
        for door in DOORS.values():
            await settled(partial(door, fleet, value))
        assert {row.agent for row in await fleet.statuses()} >= {"ana", "bob"}


@given
@pytest.mark.parametrize("argument", ["name", "limit", "teams", "journal", "system", "address", "restarts", "watch"])
def test_of_a_fleet_that_is_made(argument: str, value: object) -> None:
    made = tried(partial(cast("Any", Fleet), **{"system": "local", argument: value}))
    assert made is None or isinstance(made, Fleet)


@given
def test_of_a_watch(value: object) -> None:
    wrong = cast("Any", value)
    doors: tuple[Callable[[], object], ...] = (
        *(partial(Deadlines, **{field: wrong}) for field in Deadlines.__dataclass_fields__),
        *(partial(WatchPolicy, **{field: wrong}) for field in WatchPolicy.__dataclass_fields__),
        lambda: WatchPolicy(courses={str(wrong): Course(())}),  # type: ignore[dict-item]
        lambda: WatchPolicy(courses={Trouble.TOOL: wrong}),
        lambda: WatchPolicy(courses={Trouble.TOOL: Course(wrong)}),
        lambda: WatchPolicy(courses={Trouble.TOOL: Course((), wrong)}),
        lambda: WatchPolicy(courses={Trouble.TOOL: Course((wrong,))}),
        lambda: WatchPolicy(courses={Trouble.TOOL: Course((Stage(wrong),))}),
        lambda: WatchPolicy(courses={Trouble.TOOL: Course((Stage(Rung.KILL, wrong),))}),
    )
    for door in doors:
        tried(door)


@given
async def test_of_a_stream(value: object) -> None:
    wrong = cast("Any", value)
    doors: tuple[Callable[[], object], ...] = (
        lambda: SuspendObjectStream(queue_size=wrong),
        lambda: SuspendObjectStream(queue_timeout=wrong),
        lambda: SuspendObjectStream().set_callback_func(wrong),
        lambda: SuspendObjectStream().yield_response(wrong),
        lambda: SuspendObjectStream().send_to_producer(wrong),
        lambda: SuspendObjectStream().point(wrong),
        lambda: suspended(wrong, 0.001),
        lambda: suspended("tag", wrong),
    )
    for door in doors:
        await settled(door)


async def suspended(tag: str, seconds: float) -> None:
    """Ask for a suspension, which may wait for ever where that is what was asked for."""
    stream = SuspendObjectStream()
    asked = asyncio.create_task(stream.wait_to_suspend(tag, timeout=seconds))
    await settle()
    stream.set_queue_done()
    await asked


@given
@pytest.mark.parametrize(
    "argument",
    [
        *("preset", "base_url", "model", "api_key", "model_config", "thinking_config", "extra_body"),
        *("fallbacks", "instructions", "tools", "servers", "config", "limit", "memory", "run_timeout"),
        *("plan", "output", "hooks", "strategy", "restart"),
    ],
)
def test_of_an_agent(argument: str, value: object) -> None:
    for model in ({"base_url": "http://h/v1", "model": "m"}, {"preset": AGENT.preset}):
        made = tried(partial(cast("Any", create_agent), **{**model, argument: value}))
        assert made is None or isinstance(made, Agent)


@pytest.mark.parametrize("limit", ["5", True, math.nan, 0, -1, [5]], ids=repr)
async def test_a_time_limit_is_a_number_of_seconds(limit: float) -> None:
    async with Fleet(system="local") as fleet:
        (ana,) = await fleet.spawn(AGENT, ["ana"])
        with pytest.raises(TaskInvalid, match="a time limit is a number of seconds above 0"):
            await ana.start("go", limit)


@pytest.mark.parametrize("task", ["", "  ", "\n\t\u2003"], ids=repr)
async def test_a_task_must_say_something_though_a_stream_adds_to_it(task: str) -> None:
    async with Fleet(system="local") as fleet:
        (ana,) = await fleet.spawn(AGENT, ["ana"])
        with pytest.raises(TaskInvalid, match="a task must say something, and this one is blank"):
            await ana.run(task)
        stream = SuspendObjectStream()
        await stream.send_to_producer("Say hello.")
        with pytest.raises(TaskInvalid, match="must say something"):
            await ana.start(task, stream=stream)


async def test_who_was_stopped_for_good_is_neither_paused_nor_resumed_and_its_row_says_so_later_too(
    tmp_path: Path,
) -> None:
    async with Fleet("f", system="local", journal=tmp_path / "j") as fleet:
        (ana,) = await fleet.spawn(AGENT, ["ana"])
        await fleet.spawn(AGENT, ["bob"], parent=ana)
        await ana.stop("enough")
        for act in (ana.pause, ana.resume, partial(fleet.resume, "bob")):
            with pytest.raises(ChannelClosed, match="it was stopped for good: enough"):
                await act()
    async with Fleet("f", system="local", journal=tmp_path / "j") as fleet:
        rows = {row.agent: (row.stopped, row.note) for row in await fleet.statuses()}
        assert rows == {"ana": ("enough", "enough"), "bob": ("enough", "enough")}


async def test_no_more_of_a_limit_is_granted_only_where_there_is_one() -> None:
    async with Fleet("orchard", system="local") as fleet:
        await fleet.spawn(AGENT, ["ana"])
        for of, whose in ((None, "orchard"), ("ana", "ana")):
            with pytest.raises(ArgumentInvalid, match=f"{whose} has no limit of its own: name the account that is"):
                await fleet.grant_no_more(of=of)
        await fleet.limit(50_000, of="ana")
        await fleet.grant_no_more(of="ana")


async def test_what_is_no_text_is_named() -> None:
    wrong: Any = 5
    async with Fleet(system="local") as fleet:
        (ana,) = await fleet.spawn(AGENT, ["ana"])
        with pytest.raises(TaskInvalid, match="a task is a text, not int"):
            await ana.start(wrong)
        with pytest.raises(ArgumentInvalid, match="'body' cannot be used: it is a text, not int") as caught:
            await ana.send(wrong)
        assert caught.value.name == "body"
        with pytest.raises(ArgumentInvalid, match="half a surrogate pair"):
            await ana.stop("half \ud800")
        with pytest.raises(NameInvalid, match="a name is a text, not int"):
            await fleet.send(wrong, "hello")
        with pytest.raises(NameInvalid, match="a name is a text, not int"):
            await fleet.spawn(AGENT, [wrong])
        with pytest.raises(ArgumentInvalid, match="must be of type Agent, not str"):
            await fleet.spawn("ana")  # type: ignore[arg-type]
        with pytest.raises(NumberInvalid, match="after='x' cannot be used"):
            fleet.notices("x")  # type: ignore[arg-type]


@pytest.mark.parametrize("of", ["", 5, b"ana", "\ud800"], ids=repr)
async def test_a_limit_is_that_of_somebody_who_has_a_name(of: Any) -> None:  # noqa: ANN401  what people give
    async with Fleet(system="local") as fleet:
        for change in (fleet.limit(1_000, of=of), fleet.grant_no_more(of=of)):
            with pytest.raises(NameInvalid):
                await change
        assert [account.limit for account in await fleet.accounts()] == [None]
