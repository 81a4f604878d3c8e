"""A tool call between the hooks: what runs, what is held, and what the model reads."""

import asyncio
import json
from collections.abc import Callable
from itertools import count
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator

from amrita_fleet import Tool, tool
from amrita_fleet.protocols.checkin import AgentStatus
from amrita_fleet.protocols.codec import encode
from amrita_fleet.protocols.ids import AgentId, Incarnation, MessageId, RunId
from amrita_fleet.protocols.mail import Kind, Receipt
from amrita_fleet.protocols.messages import Json, ToolCall
from amrita_fleet.runtime.config import AmritaConfig
from amrita_fleet.runtime.errors import AgentUnknown
from amrita_fleet.runtime.hook_chain import HookChain
from amrita_fleet.runtime.hooks import (
    Hooks,
    NeedsApproval,
    RefuseCall,
    ReplaceOutput,
    RewriteArguments,
    ToolAsked,
    ToolDone,
)
from amrita_fleet.runtime.tools.executor import Executor
from amrita_fleet.runtime.tools.output import ToolContext, ToolOutput, WaitAsked
from amrita_fleet.runtime.tools.registry import Toolbox
from amrita_fleet.runtime.workbench import Held, Workbench

pytestmark = pytest.mark.anyio


class LoneChannel:
    """The channel of an agent without peers."""

    async def send(
        self,
        recipient: AgentId,
        body: str,  # noqa: ARG002
        reply_to: str = "",  # noqa: ARG002
        message: MessageId | None = None,  # noqa: ARG002
        kind: Kind = Kind.PEER,  # noqa: ARG002
    ) -> Receipt:
        raise AgentUnknown(name=recipient)

    async def receipt(self, message: MessageId) -> Receipt | None: ...

    async def peers(self) -> tuple[AgentStatus, ...]:
        return ()


CONTEXT = ToolContext(AgentId("ana"), Incarnation(1), RunId("ana.1.1"), 3, 7, LoneChannel())


@tool
async def add(a: int, b: int = 1) -> int:
    return a + b


@tool(approval=True)
async def delete(path: str) -> str:
    return f"deleted {path}"


@tool(parameters={"type": "object", "properties": {"a": {"type": "integer"}}})
async def raw(**given: Json) -> str:
    return f"{given}"


class Around(Hooks):
    """Decides before and after a call, and keeps what it saw."""

    def __init__(
        self, before: Callable[[ToolAsked], Any] | None = None, after: Callable[[ToolDone], Any] | None = None
    ) -> None:
        self.before = before
        self.after = after
        self.asked: list[ToolAsked] = []
        self.done: list[ToolDone] = []

    async def before_tool(self, call: ToolAsked) -> RewriteArguments | RefuseCall | NeedsApproval | None:
        self.asked.append(call)
        return self.before(call) if self.before else None

    async def after_tool(self, result: ToolDone) -> ReplaceOutput | None:
        self.done.append(result)
        return self.after(result) if self.after else None


def bench(*hooks: Hooks, tools: tuple[Tool, ...] = (add, delete, raw), output_bytes: int = 1024) -> Workbench:
    chain = HookChain(hooks, lambda _kind, _extra, _text, _data: None)
    return Workbench(Toolbox(tools, AmritaConfig()), Executor(output_bytes=output_bytes), chain)


def call(name: str, arguments: str) -> ToolCall:
    return ToolCall("c1", name, arguments)


async def run(workbench: Workbench, name: str, arguments: str, *, approved: bool = False) -> ToolOutput | Held:
    return await workbench.run(call(name, arguments), CONTEXT, approved=approved)


async def test_a_call_runs() -> None:
    assert await run(bench(), "add", '{"a": 2}') == ToolOutput("3")


async def test_an_unknown_tool_is_an_output_that_names_those_near() -> None:
    output = await run(bench(), "ad", "{}")
    assert output == ToolOutput.failure("There is no tool named 'ad'. Near: add.")


async def test_hooks_see_a_call_and_its_output_as_data() -> None:
    hook = Around()
    assert await run(bench(hook), "add", ' {"a": "2"} ') == ToolOutput("3")
    assert hook.asked == [
        ToolAsked(agent=AgentId("ana"), run=RunId("ana.1.1"), step=3, tool="add", arguments={"a": "2"})
    ]
    assert [(done.output, done.failed) for done in hook.done] == [("3", False)]


async def test_arguments_that_the_tool_does_not_take_are_no_question_for_hooks_or_people() -> None:
    hook = Around()
    output = await run(bench(hook), "add", '{"a": "two"}')
    assert isinstance(output, ToolOutput)
    assert output.content.startswith("ERROR: The arguments of add are wrong: 'a'")
    assert hook.asked == []
    refused = await run(bench(), "delete", '{"file": "x"}')
    assert isinstance(refused, ToolOutput)
    assert refused.failed


async def test_a_validator_that_breaks_is_an_output() -> None:
    class Picky:
        @classmethod
        def __get_pydantic_core_schema__(cls, _source: object, _handler: object) -> object:
            from pydantic_core import core_schema

            def check(_value: object) -> object:
                raise KeyError("picky")

            return core_schema.no_info_plain_validator_function(check)

        @classmethod
        def __get_pydantic_json_schema__(cls, _schema: object, _handler: object) -> dict[str, Json]:
            return {"type": "string"}

    @tool(approval=True)
    async def pick(a: Picky) -> str:
        return str(a)

    output = await run(bench(tools=(pick,)), "pick", '{"a": "x"}')
    assert output == ToolOutput.failure("KeyError: 'picky'")


async def test_a_hook_rewrites_what_runs() -> None:
    hook = Around(before=lambda _call: RewriteArguments({"a": 10}))
    assert await run(bench(hook), "add", '{"a": 2}') == ToolOutput("11")
    assert hook.done[0].arguments == {"a": 10}


async def test_a_rewritten_call_is_validated_as_the_models_own_is() -> None:
    output = await run(bench(Around(before=lambda _call: RewriteArguments({"b": 1}))), "add", '{"a": 2}')
    assert isinstance(output, ToolOutput)
    assert output.failed
    assert output.content.startswith("ERROR: A hook rewrote the call. The arguments of add are wrong: 'a' is missing")


async def test_what_runs_is_what_the_hooks_have_seen() -> None:
    hook = Around()
    output = await run(bench(hook), "raw", '{"a": 1, "a": 2}')
    assert hook.asked[0].arguments == {"a": 2}
    assert output == ToolOutput("{'a': 2}")


async def test_changing_the_arguments_in_place_changes_nothing() -> None:
    def spoil(asked: ToolAsked) -> None:
        assert isinstance(asked.arguments, dict)
        asked.arguments["a"] = 100

    after = Around()
    assert await run(bench(Around(before=spoil), after), "add", '{"a": 2}') == ToolOutput("3")
    assert after.asked[0].arguments == {"a": 2}


async def test_a_refused_call_does_not_run_and_says_so() -> None:
    hook = Around(before=lambda _call: RefuseCall("not on Sundays"))
    assert await run(bench(hook), "add", '{"a": 2}') == ToolOutput("Cancelled: not on Sundays")
    assert hook.done == []


async def test_a_hook_that_fails_keeps_the_call_from_running() -> None:
    def fail(_call: ToolAsked) -> None:
        raise ValueError("no policy")

    hook = Around(before=fail)
    output = await run(bench(hook), "add", '{"a": 2}')
    sentence = "add was not run. The hook Around.before_tool failed: ValueError: no policy."
    assert output == ToolOutput.failure(sentence)
    assert hook.done == []


@pytest.mark.parametrize("hooks", [(), (Around(),)], ids=["without hooks", "with hooks"])
async def test_a_marked_tool_is_held_until_a_person_allows_it(hooks: tuple[Hooks, ...]) -> None:
    held = await run(bench(*hooks), "delete", ' {"path": "a", "path": "x"}')
    assert isinstance(held, Held)
    assert held == Held("delete is marked as needing approval", '{"path":"x"}')
    assert await run(bench(*hooks), "delete", held.arguments, approved=True) == ToolOutput("deleted x")


async def test_what_a_hook_refuses_no_person_is_asked_about() -> None:
    hook = Around(before=lambda _call: RefuseCall("never"))
    assert await run(bench(hook), "delete", '{"path": "x"}') == ToolOutput("Cancelled: never")


async def test_what_a_person_has_seen_is_what_runs_though_a_hook_would_rewrite_it_anew() -> None:
    numbers = count(10)
    rewrite = Around(before=lambda _call: RewriteArguments({"a": next(numbers)}))
    ask = Around(before=lambda _call: NeedsApproval("it costs"))
    workbench = bench(rewrite, ask)
    held = await run(workbench, "add", '{"a": 2}')
    assert isinstance(held, Held)
    assert held == Held("it costs", '{"a":10}')
    assert ask.done == []
    assert await run(workbench, "add", held.arguments, approved=True) == ToolOutput("11")
    assert next(numbers) == 12, "the hook was asked twice"
    assert [asked.arguments for asked in ask.asked] == [{"a": 10}, {"a": 10}]
    assert ask.done[0].arguments == {"a": 10}


async def test_what_a_person_sees_can_be_recorded_whatever_it_holds() -> None:
    asking = bench(Around(before=lambda _call: NeedsApproval("it is odd")))
    held = await run(asking, "raw", '{"word": "\\ud800", "name": "Ö"}')
    assert isinstance(held, Held)
    assert encode(held.arguments)
    assert json.loads(held.arguments) == {"word": "\ud800", "name": "Ö"}
    assert isinstance(await run(asking, "raw", held.arguments, approved=True), ToolOutput)


async def test_an_approved_call_may_still_be_refused() -> None:
    hook = Around(before=lambda _call: RefuseCall("too late"))
    assert await run(bench(hook), "delete", '{"path": "x"}', approved=True) == ToolOutput("Cancelled: too late")


async def test_what_a_hook_writes_is_bounded_and_cleaned_and_the_wait_is_kept() -> None:
    @tool
    async def wait() -> ToolOutput:
        return ToolOutput("ERROR: no news", failed=True, wait=WaitAsked(seconds=5))

    hook = Around(after=lambda _done: ReplaceOutput("\ud800" + "x" * 5000))
    output = await run(bench(hook, tools=(wait,)), "wait", "")
    assert isinstance(output, ToolOutput)
    assert (output.failed, output.wait) == (False, WaitAsked(seconds=5))
    assert output.content.startswith("\ufffdxxx")
    assert len(output.content.encode()) <= 1024
    assert hook.done[0].failed
    worse = await run(bench(Around(after=lambda _done: ReplaceOutput("ERROR: so there"))), "add", '{"a": 1}')
    assert worse == ToolOutput("ERROR: so there", failed=True)


async def test_a_tool_that_cancels_its_own_task_has_failed() -> None:
    @tool
    async def give_up() -> str:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)
        return "never"

    output = await run(bench(tools=(give_up,)), "give_up", "")
    assert output == ToolOutput.failure("give_up cancelled itself.")


async def test_a_validator_that_cancels_the_task_it_runs_in_fails_its_call_alone() -> None:
    def give_up(value: int) -> int:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        return value

    @tool
    async def double(a: Annotated[int, AfterValidator(give_up)]) -> int:
        return 2 * a

    for hooks in ((), (Around(),)):
        output = await run(bench(*hooks, tools=(double,)), "double", '{"a": 1}')
        assert output == ToolOutput.failure("double cancelled itself.")


async def test_the_drivers_cancellation_comes_out_and_reaches_the_tool() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    @tool
    async def hold() -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "never"

    task = asyncio.create_task(run(bench(tools=(hold,)), "hold", ""))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


def test_the_facts_of_a_call_are_its_signature_and_its_tools_marks() -> None:
    @tool(polling=True)
    async def poll(a: int) -> int:
        return a

    workbench = bench(tools=(poll,))
    known = workbench.facts(call("poll", '{"a": 1}'))
    assert known.polling
    assert known.signature == workbench.facts(call("poll", '{ "a":1.0 }')).signature
    assert not workbench.facts(call("nix", "{}")).polling
