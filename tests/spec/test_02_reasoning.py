"""Section 2: reasoning goes back word for word to the providers that refuse requests without it."""

import json
from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from amrita_fleet import (
    AmritaConfig,
    Ending,
    LLMConfig,
    Message,
    ModelConfig,
    ModelPreset,
    PresetInvalid,
    create_agent,
    tool,
)
from amrita_fleet.protocols.messages import Json, Role
from amrita_fleet.runtime.simulator.conversation import Answer, Conversation
from amrita_fleet.runtime.simulator.errors import Refused

from ..protocols.providers.server import Server, completion, http
from .stage import Model, calls, of_kind, says, stage, together

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

BUDGET = {"enabled": True, "budget_tokens": 1024}


@tool
async def look(path: str) -> str:
    """Look at a path."""
    return f"nothing at {path}"


def thinker(*, rounds: int = 5, name: str) -> Model:
    """A thinking model that makes so many rounds of calls, some of them two together, and then answers."""
    several = [
        together(*[calls("look", path=f"/{place}/{half}") for half in range(1 + place % 2)]) for place in range(rounds)
    ]
    return Model(*several, says("Nothing is there."), name=name)


def thoughts(conversation: Conversation) -> list[str | None]:
    return [said.reasoning for said in conversation.messages if said.role == "assistant"]


PROVIDERS = pytest.mark.parametrize(
    ("protocol", "name", "fields"),
    [
        pytest.param("openai", "deepseek-thinking", {}, id="deepseek, though it speaks like openai"),
        pytest.param("openai", "kimi-thinking", {"thinking_config": {"enabled": True}}, id="kimi"),
        pytest.param("anthropic", "claude-sonnet-4-5-thinking", {"thinking_config": BUDGET}, id="anthropic"),
        pytest.param("anthropic", "claude-thinking", {"thinking_config": {"enabled": True}}, id="anthropic, adaptive"),
    ],
)
MODES = pytest.mark.parametrize("mode", ["by-tool", "optional"])


@PROVIDERS
@MODES
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_no_round_of_a_thinking_agent_is_refused(
    protocol: str, name: str, fields: dict[str, Any], mode: str, *, stream: bool
) -> None:
    model = thinker(name=name)
    fields = {"thinking_config": {"content_mode": mode, **fields.get("thinking_config", {})}}
    async with stage(model) as scene:
        outcome, _ = await scene.play(
            model, protocol=protocol, tools=[look], model_config=ModelConfig(stream=stream), **fields
        )
        assert scene.refused == 0
    assert (outcome.ending, outcome.text, outcome.rounds) == (Ending.ANSWERED, "Nothing is there.", 6)
    assert len(model.read) == 6


@PROVIDERS
async def test_it_goes_back_in_later_runs_too(protocol: str, name: str, fields: dict[str, Any]) -> None:
    model = Model(calls("look", path="/"), says("Empty."), calls("look", path="/a"), says("Empty too."), name=name)
    async with stage(model) as scene:
        ana = await scene.spawn(model, protocol=protocol, tools=[look], **fields)
        assert [(await ana.run(task)).text for task in ("Look.", "Look again.")] == ["Empty.", "Empty too."]
        assert scene.refused == 0


async def test_what_goes_back_is_what_came_word_for_word_and_once_for_each_reply() -> None:
    model = thinker(name="deepseek-thinking")
    async with stage(model) as scene:
        await scene.play(model, tools=[look])
    last = thoughts(model.read[-1])
    assert all(last)
    assert len(last) == 5
    assert [thoughts(asked) for asked in model.read] == [last[:place] for place in range(6)]


async def test_whatever_else_came_beside_the_reasoning_goes_back_word_for_word_too() -> None:
    function: Json = {"name": "look", "arguments": '{"path": "/"}'}
    signed: Json = {"google": {"thought_signature": "c2ln"}}
    message: dict[str, Any] = {
        "role": "assistant",
        "content": None,
        "reasoning_content": "I will look.",
        "reasoning_details": [{"type": "reasoning.encrypted", "data": "4c6f6f6b", "index": 0}],
        "tool_calls": [{"id": "call_1", "type": "function", "function": function, "extra_content": signed}],
    }
    first = completion("", choices=[{"index": 0, "message": message, "finish_reason": "tool_calls"}])
    async with Server() as server, stage() as scene:
        server.answers = [http(200, first), http(200, completion("Empty."))]
        (ana,) = await scene.fleet.spawn(create_agent(base_url=server.url, model="m", tools=[look]), ["ana"])
        assert (await ana.run("Look.")).text == "Empty."
        _, asked, _ = json.loads(server.requests[1][1])["messages"]
    assert asked == message


def test_a_message_cannot_be_changed_in_place() -> None:
    message = Message(Role.ASSISTANT, "Empty.", reasoning_content="I looked.")
    with pytest.raises(FrozenInstanceError):
        message.reasoning_content = None  # type: ignore[misc]


@pytest.mark.parametrize(("protocol", "model"), [("openai", "deepseek-chat"), ("anthropic", "claude-sonnet-4-5")])
def test_a_filter_that_drops_what_the_provider_demands_is_refused_when_the_preset_is_built(
    protocol: str, model: str
) -> None:
    thinking = {"enabled": True, "content_mode": "never"}
    with pytest.raises(PresetInvalid, match=r"content_mode 'never' cannot work: .* refuses requests without") as caught:
        ModelPreset.parse(
            {"protocol": protocol, "base_url": "http://h/v1", "model": model, "thinking_config": thinking}
        )
    assert caught.value.field == "thinking_config.content_mode"


async def test_where_nobody_could_know_that_the_filter_is_wrong_the_run_ends_with_the_words_of_the_provider() -> None:
    model = thinker(name="unheard-of-thinking")
    async with stage(model) as scene:
        fields: dict[str, Any] = {"thinking_config": {"content_mode": "never"}}
        outcome, notices = await scene.play(model, tools=[look], **fields)
    assert outcome.ending is Ending.FAILED
    assert "The reasoning_content in the thinking mode must be passed back" in outcome.reason
    assert "(request_id=req_2)" in outcome.reason
    assert [notice.get("error") for notice in of_kind(notices, "model.failed")] == ["BadRequest"]


async def test_a_fallback_at_another_provider_gets_no_foreign_reasoning_and_refuses_nothing() -> None:
    def broken(_: Conversation) -> Answer:
        raise Refused(message="Internal server error", status=500)

    first = Model(calls("look", path="/"), broken, name="deepseek-thinking")
    second = Model(calls("look", path="/a"), says("Empty."), name="claude-sonnet-4-5-thinking")
    async with stage(first, second) as scene:
        backup = scene.agent(second, protocol="anthropic", thinking_config=BUDGET).preset
        outcome, notices = await scene.play(
            first, tools=[look], fallbacks=[backup], config=AmritaConfig(llm=LLMConfig(max_retries=0))
        )
        assert scene.refused == 1
    assert (outcome.text, len(of_kind(notices, "model.fallback"))) == ("Empty.", 1)
