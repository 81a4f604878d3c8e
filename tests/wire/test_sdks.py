"""The providers' own Python packages talk to the simulator: it is not only our adapter that understands it."""

import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest

from amrita_fleet.runtime.simulator.scenario import parse_scenario
from amrita_fleet.runtime.simulator.server import Simulator

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic
    from anthropic.types import (
        Message,
        MessageParam,
        TextBlockParam,
        ToolParam,
        ToolResultBlockParam,
        ToolUseBlock,
        ToolUseBlockParam,
    )
    from openai import AsyncOpenAI
    from openai.types.chat import ChatCompletion, ChatCompletionMessageParam, ChatCompletionToolParam

pytestmark = [pytest.mark.anyio, pytest.mark.slow]  # importing the two takes seconds

KEY = "sk-simulated"
ASKED = "weather in Oslo and Rome"
SCENARIO = parse_scenario(
    "weather",
    {
        "models": ["weatherman"],
        "rules": [
            {"when": {"last_role": "tool"}, "say": "Rain in one, sun in the other."},
            {
                "when": {"user": r"weather in (?P<one>\w+) and (?P<two>\w+)", "tools_include": ["look"]},
                "say": "Looking.",
                "calls": [
                    {"name": "look", "arguments": {"city": "{one}"}},
                    {"name": "look", "arguments": {"city": "{two}"}},
                ],
            },
            {"when": {"user": "hello"}, "say": "Hello 🙂 to you, too."},
        ],
    },
)
PARAMETERS: dict[str, object] = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}


@pytest.fixture
async def simulator() -> AsyncIterator[Simulator]:
    async with Simulator(scenarios=[SCENARIO], key=KEY) as running:
        yield running


@pytest.fixture
async def openai(simulator: Simulator) -> AsyncIterator["AsyncOpenAI"]:
    from openai import AsyncOpenAI

    async with AsyncOpenAI(base_url=simulator.base_url, api_key=KEY, max_retries=0) as client:
        yield client


@pytest.fixture
async def anthropic(simulator: Simulator) -> AsyncIterator["AsyncAnthropic"]:
    from anthropic import AsyncAnthropic

    base_url = simulator.base_url.removesuffix("/v1")
    async with AsyncAnthropic(base_url=base_url, api_key=KEY, max_retries=0) as client:
        yield client


async def complete(
    client: "AsyncOpenAI", messages: list["ChatCompletionMessageParam"], *, streamed: bool
) -> "ChatCompletion":
    """One answer of chat completions; a stream is put together by the package itself."""
    look: ChatCompletionToolParam = {"type": "function", "function": {"name": "look", "parameters": PARAMETERS}}
    if not streamed:
        return await client.chat.completions.create(model="weatherman", messages=messages, tools=[look])
    async with client.chat.completions.stream(
        model="weatherman", messages=messages, tools=[look], stream_options={"include_usage": True}
    ) as stream:
        return await stream.get_final_completion()


async def converse(client: "AsyncAnthropic", messages: list["MessageParam"], *, streamed: bool) -> "Message":
    """One answer of Messages; a stream is put together by the package itself."""
    look: ToolParam = {"name": "look", "input_schema": PARAMETERS}
    if not streamed:
        return await client.messages.create(model="weatherman", max_tokens=500, messages=messages, tools=[look])
    async with client.messages.stream(model="weatherman", max_tokens=500, messages=messages, tools=[look]) as stream:
        return await stream.get_final_message()


def as_asked(call: "ToolUseBlock") -> "ToolUseBlockParam":
    """A call as it goes back."""
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": call.input}


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_the_openai_package_holds_a_conversation_with_tools(openai: "AsyncOpenAI", streamed: bool) -> None:
    messages: list[ChatCompletionMessageParam] = [{"role": "user", "content": ASKED}]
    asked = await complete(openai, messages, streamed=streamed)
    choice = asked.choices[0]
    assert (choice.finish_reason, choice.message.content) == ("tool_calls", "Looking.")
    calls = [call for call in choice.message.tool_calls or [] if call.type == "function"]
    assert [(call.function.name, json.loads(call.function.arguments)["city"]) for call in calls] == [
        ("look", "Oslo"),
        ("look", "Rome"),
    ]
    messages.append(
        {
            "role": "assistant",
            "content": choice.message.content,
            "tool_calls": [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.function.name, "arguments": call.function.arguments},
                }
                for call in calls
            ],
        }
    )
    given: list[ChatCompletionMessageParam] = [
        {"role": "tool", "tool_call_id": call.id, "content": "rain"} for call in calls
    ]
    messages += given
    told = await complete(openai, messages, streamed=streamed)
    assert (told.choices[0].finish_reason, told.choices[0].message.content) == (
        "stop",
        "Rain in one, sun in the other.",
    )
    assert told.usage is not None
    assert told.usage.total_tokens == told.usage.prompt_tokens + told.usage.completion_tokens > 0


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_the_anthropic_package_holds_a_conversation_with_tools(
    anthropic: "AsyncAnthropic", streamed: bool
) -> None:
    messages: list[MessageParam] = [{"role": "user", "content": ASKED}]
    asked = await converse(anthropic, messages, streamed=streamed)
    assert asked.stop_reason == "tool_use"
    assert [block.text for block in asked.content if block.type == "text"] == ["Looking."]
    calls = [block for block in asked.content if block.type == "tool_use"]
    assert [(call.name, call.input) for call in calls] == [("look", {"city": "Oslo"}), ("look", {"city": "Rome"})]
    spoken: TextBlockParam = {"type": "text", "text": "Looking."}
    given: list[ToolResultBlockParam] = [
        {"type": "tool_result", "tool_use_id": call.id, "content": "rain"} for call in calls
    ]
    messages.append({"role": "assistant", "content": [spoken, *map(as_asked, calls)]})
    messages.append({"role": "user", "content": given})
    told = await converse(anthropic, messages, streamed=streamed)
    assert told.stop_reason == "end_turn"
    assert [block.text for block in told.content if block.type == "text"] == ["Rain in one, sun in the other."]
    assert told.usage.input_tokens > 0
    assert told.usage.output_tokens > 0
