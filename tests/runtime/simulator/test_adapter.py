"""The project's own adapters, over HTTP, satisfy the strict provider through whole conversations."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from amrita_fleet.protocols.errors import BadRequest
from amrita_fleet.protocols.messages import Finish, Message, Role, ToolResult, Turn
from amrita_fleet.protocols.presets import ModelConfig, ModelPreset
from amrita_fleet.protocols.providers.base import ToolSchema
from amrita_fleet.protocols.providers.connection import connect
from amrita_fleet.runtime.simulator.server import Simulator

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

TOOLS = tuple(
    ToolSchema(name, name, {"type": "object", "properties": {}})
    for name in ("count_files", "count_lines", "top_words", "send_message")
)
BEGINNING: tuple[Turn, ...] = (
    Message(Role.SYSTEM, "You are a census worker."),
    Message(Role.USER, "[Message m-1 from lead]\nPlease take files 0 to 9 of the census."),
)


PROTOCOL = pytest.mark.parametrize("protocol", ["openai", "anthropic"])
STREAM = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


@pytest.fixture(scope="module")
async def simulator() -> AsyncIterator[Simulator]:
    async with Simulator() as running:
        yield running


def preset(simulator: Simulator, model: str, protocol: str = "openai", *, stream: bool = False) -> ModelPreset:
    config = ModelConfig(stream=stream)
    return ModelPreset(model=model, base_url=simulator.base_url, protocol=protocol, config=config)


def counted(simulator: Simulator) -> int:
    """All tokens so far."""
    answered = simulator.totals.answered
    return answered.prompt_tokens + answered.completion_tokens


@PROTOCOL
@STREAM
@pytest.mark.parametrize("model", ["simulated-census", "simulated-census-thinking"])
async def test_a_worker_comes_to_its_end(simulator: Simulator, protocol: str, model: str, *, stream: bool) -> None:
    turns, before = BEGINNING, counted(simulator)
    provider = connect(preset(simulator, model, protocol, stream=stream))
    draft, spent = None, 0
    while turns[-1] is BEGINNING[-1] or isinstance(turns[-1], ToolResult):
        draft = provider.draft(turns, TOOLS, draft)
        reply = await provider.call(draft, 500)
        spent += reply.usage.total
        results = (ToolResult(call.id, call.name, json.dumps({"first": 0, "last": 9})) for call in reply.message.calls)
        turns = (*turns, reply.message, *results)
    await provider.aclose()
    assert before + spent == counted(simulator)
    final = turns[-1]
    assert isinstance(final, Message)
    assert final.content == "Reported files 0 to 9 to lead."
    assert bool(final.reasoning_content) == ("thinking" in model)


async def test_reasoning_that_is_lost_on_the_way_is_a_bad_request(simulator: Simulator) -> None:
    provider = connect(preset(simulator, "simulated-census-thinking"))
    reply = await provider.call(provider.draft(BEGINNING, TOOLS, None), 500)
    results = (ToolResult(call.id, call.name, "{}") for call in reply.message.calls)
    forgetful = (*BEGINNING, replace(reply.message, reasoning_content=None), *results)
    with pytest.raises(BadRequest, match="The reasoning_content in the thinking mode must be passed back"):
        await provider.call(provider.draft(forgetful, TOOLS, None), 500)
    await provider.aclose()


async def test_an_answer_that_is_cut_says_so_and_can_go_back(simulator: Simulator) -> None:
    provider = connect(preset(simulator, "simulated-census"))
    reply = await provider.call(provider.draft(BEGINNING, TOOLS, None), 8)
    assert reply.finish is Finish.LENGTH
    assert reply.usage.completion == 8
    results = (ToolResult(call.id, call.name, "ERROR: cut") for call in reply.message.calls)
    again = await provider.call(provider.draft((*BEGINNING, reply.message, *results), TOOLS, None), 500)
    assert [call.name for call in again.message.calls] == ["count_files", "count_lines", "top_words"]
    await provider.aclose()


@pytest.mark.slow
@PROTOCOL
@STREAM
async def test_thirty_rounds_of_thinking_and_a_last_answer_meet_no_refusal(
    simulator: Simulator, protocol: str, *, stream: bool
) -> None:
    refused = simulator.totals.refused
    stuck = Message(Role.SYSTEM, "You are a census worker. You are stuck.")
    turns: tuple[Turn, ...] = (stuck, BEGINNING[1])
    provider = connect(preset(simulator, "simulated-census-thinking", protocol, stream=stream))
    draft = None
    for _ in range(30):
        draft = provider.draft(turns, TOOLS, draft)
        reply = await provider.call(draft, 500)
        turns = (*turns, reply.message, *(ToolResult(call.id, call.name, "{}") for call in reply.message.calls))
    last = provider.draft((*turns, Message(Role.USER, "Give your final answer.")), (), draft)
    final = await provider.call(last, 500)
    await provider.aclose()
    assert final.message.content == "I kept counting the same files and could not finish."
    assert simulator.totals.refused == refused
