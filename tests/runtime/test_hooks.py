"""Hooks decide in order, and one that fails is told and spreads no further than its point."""

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import pytest

from amrita_fleet.protocols.ids import AgentId, RunId
from amrita_fleet.protocols.messages import Json
from amrita_fleet.protocols.notices import NoticeType
from amrita_fleet.protocols.outcome import Limit
from amrita_fleet.runtime.errors import HookFailed
from amrita_fleet.runtime.hook_chain import HookChain, Ruling
from amrita_fleet.runtime.hooks import (
    AddNote,
    EndRun,
    ExtendRounds,
    Hooks,
    LimitReached,
    NeedsApproval,
    RefuseCall,
    ReplaceOutput,
    ReplaceSummary,
    RewriteArguments,
    StepBegun,
    StepEnded,
    ToolAsked,
    ToolDone,
)
from amrita_fleet.runtime.tools.threads import Threads

pytestmark = pytest.mark.anyio

ANA, RUN = AgentId("ana"), RunId("ana.1.1")
BEGINS = StepBegun(agent=ANA, run=RUN, step=1)
ENDED = StepEnded(agent=ANA, run=RUN, step=1, node="a", summary="Read a")
DONE = ToolDone(agent=ANA, run=RUN, step=1, tool="add", arguments={"a": 1}, output="2")
SPENT = LimitReached(agent=ANA, run=RUN, step=1, limit=Limit.ROUNDS)

Decide = Callable[[Any], Any]


def asked(**arguments: Json) -> ToolAsked:
    return ToolAsked(agent=ANA, run=RUN, step=1, tool="add", arguments=arguments)


class Say(Hooks):
    """Decides at each point what it is told, and keeps what it was asked about."""

    def __init__(self, decide: Decide) -> None:
        self.decide = decide
        self.seen: list[Any] = []

    async def _say(self, point: object) -> Any:  # noqa: ANN401
        self.seen.append(point)
        return self.decide(point)

    before_step = after_step = before_tool = after_tool = on_limit = _say


def always(decision: object) -> Say:
    return Say(lambda _point: decision)


class Told:
    """The watchers' end."""

    def __init__(self) -> None:
        self.notices: list[tuple[str, Mapping[str, str]]] = []

    def __call__(self, kind: NoticeType, extra: str, text: str, data: dict[str, str]) -> None:
        assert text
        self.notices.append((f"{kind}.{extra}", data))

    @property
    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.notices]


def chain(*hooks: Hooks) -> HookChain:
    return HookChain(hooks, Told())


async def test_hooks_that_override_nothing_decide_nothing_and_count_as_none() -> None:
    assert not chain(Hooks())
    assert await chain(Hooks()).before_step(BEGINS) is None
    assert await chain(Hooks()).before_tool(asked(a=1)) == Ruling()
    assert chain(Hooks(), always(None))


async def test_a_sync_hook_runs_in_a_thread_and_an_async_one_on_the_loop() -> None:
    class Where(Hooks):
        def before_step(self, step: StepBegun) -> AddNote:
            return AddNote(f"{step.step} {threading.current_thread() is threading.main_thread()}")

        async def after_step(self, step: StepEnded) -> ReplaceSummary:
            return ReplaceSummary(f"{step.node} {threading.current_thread() is threading.main_thread()}")

    assert await chain(Where()).before_step(BEGINS) == AddNote("1 False")
    assert await chain(Where()).after_step(ENDED) == ReplaceSummary("a True")


@pytest.mark.parametrize("decision", [AddNote("mind the gap"), EndRun("it is late")])
async def test_the_first_decision_before_a_step_stands(decision: object) -> None:
    silent, after = always(None), always(AddNote("too late"))
    assert await chain(silent, always(decision), after).before_step(BEGINS) == decision
    assert (silent.seen, after.seen) == ([BEGINS], [])


async def test_rewrites_of_arguments_chain() -> None:
    def plus_one(call: ToolAsked) -> RewriteArguments:
        number = call.arguments["a"]
        assert isinstance(number, int)
        return RewriteArguments({"a": number + 1})

    last = always(None)
    assert await chain(Say(plus_one), Say(plus_one), last).before_tool(asked(a=1)) == Ruling({"a": 3})
    assert last.seen == [asked(a=3)]


async def test_a_refusal_ends_the_asking_and_keeps_the_rewrites_before_it() -> None:
    after = always(NeedsApproval("it costs"))
    ruling = await chain(always(RewriteArguments({"a": 2})), always(RefuseCall("not today")), after).before_tool(
        asked(a=1)
    )
    assert ruling == Ruling({"a": 2}, RefuseCall("not today"))
    assert after.seen == []


async def test_nobody_is_asked_for_leave_that_a_later_hook_refuses() -> None:
    hooks = (always(NeedsApproval("it costs")), always(RefuseCall("never")))
    assert await chain(*hooks).before_tool(asked(a=1)) == Ruling(None, RefuseCall("never"))


async def test_the_first_wish_for_a_persons_leave_is_the_one_that_is_told() -> None:
    hooks = (always(NeedsApproval("it costs")), always(RewriteArguments({"a": 2})), always(NeedsApproval("it is late")))
    assert await chain(*hooks).before_tool(asked(a=1)) == Ruling({"a": 2}, NeedsApproval("it costs"))


async def test_a_call_that_is_approved_may_be_refused_and_nothing_else() -> None:
    wish, rewrite, last = always(NeedsApproval("it costs")), always(RewriteArguments({"a": 2})), always(None)
    assert await chain(wish, rewrite, last).before_tool(asked(a=1), approved=True) == Ruling()
    assert last.seen == [asked(a=1)]
    refusing = chain(wish, rewrite, always(RefuseCall("never")))
    assert await refusing.before_tool(asked(a=1), approved=True) == Ruling(None, RefuseCall("never"))


async def test_outputs_and_summaries_chain() -> None:
    outputs = chain(
        Say(lambda done: ReplaceOutput(f"{done.output}!")),
        always(None),
        Say(lambda done: ReplaceOutput(f"<{done.output}>")),
    )
    assert await outputs.after_tool(DONE) == ReplaceOutput("<2!>")
    summaries = chain(
        Say(lambda step: ReplaceSummary(f"{step.summary}.")), Say(lambda step: ReplaceSummary(step.summary.upper()))
    )
    assert await summaries.after_step(ENDED) == ReplaceSummary("READ A.")


@pytest.mark.parametrize("limit", Limit)
async def test_the_first_extension_of_a_limit_stands_whichever_limit_it_is(limit: Limit) -> None:
    silent, after = always(None), always(ExtendRounds(5))
    reached = LimitReached(agent=ANA, run=RUN, step=1, limit=limit)
    assert await chain(silent, always(ExtendRounds(3)), after).on_limit(reached) == ExtendRounds(3)
    assert (silent.seen, after.seen) == ([reached], [])


class Broken(Hooks):
    """Fails at every point, in a way of its own."""

    async def before_step(self, step: StepBegun) -> None:
        raise ValueError(f"no step {step.step}")

    def after_step(self, step: StepEnded) -> None:
        raise SystemExit(step.step)

    async def before_tool(self, call: ToolAsked) -> None:
        assert call.arguments
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)

    async def after_tool(self, result: ToolDone) -> ReplaceSummary:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        return ReplaceSummary(f"of {result.tool}")

    async def on_limit(self, limit: LimitReached) -> ExtendRounds:
        return ExtendRounds(limit.step - 1)


async def test_a_hook_that_fails_is_told_and_logged_and_the_others_still_count(
    caplog: pytest.LogCaptureFixture,
) -> None:
    told = Told()
    hooks = HookChain([Broken(), always(None)], told)
    with caplog.at_level(logging.WARNING):
        assert await hooks.before_step(BEGINS) == EndRun("The hook Broken.before_step failed: ValueError: no step 1.")
        with pytest.raises(HookFailed, match="it cancelled the task that it ran in") as failure:
            await hooks.before_tool(asked(a=1))
        assert await HookChain([Broken(), always(ReplaceSummary("S"))], told).after_step(ENDED) == ReplaceSummary("S")
        assert await HookChain([Broken(), always(ReplaceOutput("O"))], told).after_tool(DONE) == ReplaceOutput("O")
        assert await HookChain([Broken(), always(ExtendRounds(1))], told).on_limit(SPENT) == ExtendRounds(1)
    assert (failure.value.hook, failure.value.point) == ("Broken", "before_tool")
    assert told.kinds == ["agent.hook_failed"] * 5
    reasons = {data["point"]: data["reason"] for _, data in told.notices}
    assert reasons["after_step"] == "SystemExit: 1"
    assert reasons["after_tool"] == "TypeError: it gave a ReplaceSummary, not ReplaceOutput or None"
    assert reasons["on_limit"] == "ValueError: ExtendRounds.rounds must be a whole number of at least 1, not 0"
    assert len(caplog.records) == 5


async def test_a_hook_has_only_so_much_time() -> None:
    class Slow(Hooks):
        async def before_step(self, step: StepBegun) -> None:
            while step:
                await asyncio.Event().wait()

    ended = await HookChain([Slow()], Told(), patience=0.001).before_step(BEGINS)
    assert ended == EndRun("The hook Slow.before_step failed: it took longer than 0.001 seconds and was stopped.")


async def test_a_hook_that_ignores_its_cancellation_is_broken_off(caplog: pytest.LogCaptureFixture) -> None:
    class Deaf(Hooks):
        async def before_step(self, step: StepBegun) -> None:
            while step:
                with suppress(asyncio.CancelledError):
                    await asyncio.Event().wait()

    ended = await HookChain([Deaf()], Told(), patience=0.001, grace=0.001).before_step(BEGINS)
    late = "it took longer than 0.001 seconds and was broken off, since it ignored its cancellation"
    assert ended == EndRun(f"The hook Deaf.before_step failed: {late}.")
    assert "The hook Deaf.before_step ignored its cancellation" in caplog.text


async def test_a_generator_exit_that_a_hook_raises_is_its_own() -> None:
    class Closing(Hooks):
        async def before_step(self, step: StepBegun) -> None:
            raise GeneratorExit(step.step)

        def before_tool(self, call: ToolAsked) -> None:
            raise GeneratorExit(call.tool)

    assert await chain(Closing()).before_step(BEGINS) == EndRun(
        "The hook Closing.before_step failed: GeneratorExit: 1."
    )
    with pytest.raises(HookFailed, match="GeneratorExit: add"):
        await chain(Closing()).before_tool(asked(a=1))


async def test_a_sync_hook_that_never_ends_is_left_behind_and_there_are_only_so_many_threads_for_that() -> None:
    go = threading.Event()

    class Stuck(Hooks):
        def before_step(self, step: StepBegun) -> None:
            go.wait(10 * step.step)

    hooks = HookChain([Stuck()], Told(), patience=0.05, threads=Threads(most=1))
    try:
        ends = [await hooks.before_step(BEGINS) for _ in range(2)]
    finally:
        go.set()
    reasons = [
        "it took longer than 0.05 seconds and was left behind: it may still be running",
        "RuntimeError: too many earlier hooks are stuck in their threads",
    ]
    assert ends == [EndRun(f"The hook Stuck.before_step failed: {reason}.") for reason in reasons]


async def test_a_time_out_of_the_hooks_own_is_named_as_one() -> None:
    class Hasty(Hooks):
        async def before_step(self, step: StepBegun) -> None:
            raise TimeoutError(f"the policy of Step {step.step} is slow")

    ended = await chain(Hasty()).before_step(BEGINS)
    assert ended == EndRun("The hook Hasty.before_step failed: TimeoutError: the policy of Step 1 is slow.")


async def test_the_end_of_the_caller_is_no_failure_of_the_hook() -> None:
    begun, told = asyncio.Event(), Told()

    class Waiting(Hooks):
        async def before_step(self, step: StepBegun) -> None:
            begun.set()
            while step:
                await asyncio.Event().wait()

    task = asyncio.create_task(HookChain([Waiting()], told).before_step(BEGINS))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert told.notices == []


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: AddNote(3), "AddNote.text must be a text, not a int"),  # type: ignore[arg-type]
        (lambda: RefuseCall(" "), "RefuseCall.reason must say something"),
        (lambda: NeedsApproval(""), "NeedsApproval.reason must say something"),
        (lambda: RewriteArguments("a"), "RewriteArguments.arguments must be a mapping, not a str"),  # type: ignore[arg-type]
        (lambda: RewriteArguments({"a": object()}), "not JSON serializable"),  # type: ignore[dict-item]
        (lambda: ExtendRounds(1.0), "ExtendRounds.rounds must be a whole number"),  # type: ignore[arg-type]
    ],
)
def test_a_decision_that_cannot_be_carried_out_is_refused_where_it_is_made(
    make: Callable[[], object], sentence: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=sentence):
        make()


def test_a_decision_holds_what_a_request_can_carry_and_no_one_can_change_it() -> None:
    arguments: dict[str, Json] = {"paths": ["a"]}
    rewrite = RewriteArguments(arguments)
    paths = arguments["paths"]
    assert isinstance(paths, list)
    paths.append("b")
    assert rewrite.arguments == {"paths": ["a"]}
    assert AddNote("a\ud800b").text == "a\ufffdb"
    assert ReplaceOutput("").text == ""
