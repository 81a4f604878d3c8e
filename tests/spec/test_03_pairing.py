"""Section 3: every call has its output directly behind it, whatever happens while the tools run."""

import asyncio
from typing import Any

import pytest

from amrita_fleet import AmritaConfig, BuiltinConfig, Ending, ModelConfig, Tool, tool
from amrita_fleet.runtime.simulator.conversation import Answer, Call, Conversation

from .stage import Model, Stage, calls, kinds, notes, of_kind, outputs, says, stage, together

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

PROTOCOLS = pytest.mark.parametrize("protocol", ["openai", "anthropic"])


def roles(conversation: Conversation) -> list[str]:
    return [said.role for said in conversation.messages if said.role != "system"]


def look_tool() -> Tool:
    @tool
    async def look(path: str) -> str:
        """Look at a path."""
        return f"nothing at {path}"

    return look


def writing_tool(scene: Stage) -> Tool:
    @tool
    async def ring(text: str) -> str:
        """Have somebody write to this very agent while it acts."""
        receipt = await scene.fleet.send("ana", text)
        return f"the message is {receipt.state.value}"

    return ring


@PROTOCOLS
async def test_all_calls_of_one_reply_stand_in_one_message_and_their_outputs_follow_in_call_order(
    protocol: str,
) -> None:
    ended = {link: asyncio.Event() for link in "abcd"}

    @tool
    async def chain(link: str, after: str) -> str:
        """End after another call has ended."""
        if after:
            await ended[after].wait()
        ended[link].set()
        return link

    order = [calls("chain", link=link, after=after) for link, after in (("a", "b"), ("b", "c"), ("c", "d"), ("d", ""))]
    model = Model(together(*order), says("Done."), name="simulated-thinking")
    async with stage(model) as scene:
        outcome, _ = await scene.play(model, protocol=protocol, tools=[chain])
        assert (outcome.answered, scene.refused) == (True, 0)
    assert roles(model.read[-1]) == ["user", "assistant", "tool", "tool", "tool", "tool"]
    assert outputs(model.read[-1]) == ["a", "b", "c", "d"]


@PROTOCOLS
async def test_reasoning_stands_once_for_each_reply_however_many_calls_it_makes(protocol: str) -> None:
    three = together(*[calls("look", path=path) for path in "abc"])
    model = Model(three, three, says("Done."), name="simulated-thinking")
    async with stage(model) as scene:
        await scene.play(model, protocol=protocol, tools=[look_tool()])
    replies = [said for said in model.read[-1].messages if said.role == "assistant"]
    assert [len(said.calls) for said in replies] == [3, 3]
    assert len({said.reasoning for said in replies}) == 2


@PROTOCOLS
async def test_mail_that_comes_while_tools_run_stands_behind_their_outputs(protocol: str) -> None:
    model = Model(together(calls("ring", text="One."), calls("look", path="/"), calls("ring", text="Two.")), says("ok"))
    async with stage(model) as scene:
        tools = [writing_tool(scene), look_tool()]
        outcome, notices = await scene.play(model, protocol=protocol, tools=tools)
        assert (outcome.answered, scene.refused) == (True, 0)
    assert roles(model.read[-1]) == ["user", "assistant", "tool", "tool", "tool", "user"]
    last = notes(model.read[-1])[-1]
    assert "One." in last
    assert "Two." in last
    seen = kinds(notices)
    assert seen[seen.index("mail.consumed") - 2 : seen.index("mail.consumed")] == ["step.leave", "step.intro"]


@PROTOCOLS
async def test_calls_that_fail_are_cancelled_or_name_no_tool_have_outputs_like_any_other(protocol: str) -> None:
    @tool
    async def burn() -> str:
        """Fail."""
        raise OSError("the disk is full")

    twice = [calls("look", path="/")] * 2
    wrong = together(calls("burn"), calls("lok", path="/"), calls("look", path=["no", "text"]), *twice)
    model = Model(wrong, says("Much went wrong."))
    config = AmritaConfig(builtin=BuiltinConfig(loop_reasoning_trigger=2))
    async with stage(model) as scene:
        outcome, _ = await scene.play(model, protocol=protocol, tools=[burn, look_tool()], config=config)
        assert (outcome.ending, scene.refused) == (Ending.STALLED, 0)
    failed, unknown, misread, fine, cancelled = outputs(model.read[-1])
    for output, reason in ((failed, "the disk is full"), (unknown, "look"), (misread, "path")):
        assert output.startswith("ERROR: ")
        assert reason in output
    assert (fine, cancelled) == ("nothing at /", "Cancelled: Reach the max limit of repeatly calling tool.")


@PROTOCOLS
async def test_calls_that_were_cut_off_at_the_output_limit_are_not_run_and_are_answered(protocol: str) -> None:
    ran: list[str] = []

    @tool
    async def write(text: str) -> str:
        """Write a text."""
        ran.append(text)
        return "written"

    long = Answer(calls=(Call("write", {"text": "word " * 200}),))
    model = Model(long, calls("write", text="short"), says("Written."))
    async with stage(model) as scene:
        fields: dict[str, Any] = {"protocol": protocol, "model_config": ModelConfig(max_tokens=64)}
        outcome, _ = await scene.play(model, tools=[write], **fields)
        assert (outcome.text, scene.refused) == ("Written.", 0)
    assert ran == ["short"]
    assert outputs(model.read[1])[0].startswith("ERROR: Your reply was cut at the output limit")


@PROTOCOLS
async def test_a_run_whose_time_is_over_while_a_tool_runs_closes_the_batch_before_its_last_answer(
    protocol: str,
) -> None:
    @tool
    async def hang() -> str:
        """Never end."""
        await asyncio.Event().wait()
        return ""

    model = Model(together(calls("look", path="/"), calls("hang")), says("It hangs."))
    async with stage(model) as scene:
        ana = await scene.spawn(model, protocol=protocol, tools=[hang, look_tool()])
        outcome = await ana.run("Go.", time_limit=0.1)
        assert (str(outcome), outcome.text, scene.refused) == ("limit:time", "It hangs.", 0)
    assert outputs(model.read[-1]) == ["nothing at /", "This call was interrupted; it may have run."]


@PROTOCOLS
async def test_an_agent_with_a_history_of_calls_is_asked_for_a_last_answer_with_tools_off(protocol: str) -> None:
    model = Model(lambda asked: calls("look", path="/") if asked.tools else says("I give up."))
    async with stage(model) as scene:
        outcome, notices = await scene.play(model, protocol=protocol, tools=[look_tool()])
        assert (outcome.ending, scene.refused) == (Ending.STALLED, 0)
    assert of_kind(notices, "step.stall")
    assert roles(model.read[-1])[-2:] == ["tool", "user"]
