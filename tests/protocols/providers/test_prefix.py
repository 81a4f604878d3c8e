"""A request begins with the bytes of the one before it, on every provider: that is what prompt caches go by."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.protocols.messages import Message, Role, ToolCall, ToolResult, Turn
from amrita_fleet.protocols.presets import ModelConfig, ModelPreset
from amrita_fleet.protocols.providers.anthropic import Anthropic
from amrita_fleet.protocols.providers.base import Adapter, Draft, ToolSchema
from amrita_fleet.protocols.providers.openai_chat import OpenAIChat

pytestmark = pytest.mark.slow

TOOL = ToolSchema("f", "Does it.", {"type": "object", "properties": {}})
Make = Callable[[], Adapter]


def chat(profile: str) -> Make:
    return lambda: OpenAIChat(ModelPreset(model="m", base_url="http://127.0.0.1/v1", profile=profile))


def messages(*, cache: bool) -> Make:
    config = ModelConfig(prompt_cache=cache)
    return lambda: Anthropic(ModelPreset(model="claude-sonnet-4-5", protocol="anthropic", config=config))


CHATS = ("openai", "unknown")
MORE_CHATS = ("kimi", "mistral", "ollama")
MAKERS = [
    *(pytest.param(chat(name), id=name) for name in CHATS),
    *(pytest.param(chat(name), id=name, marks=pytest.mark.slow) for name in MORE_CHATS),
    pytest.param(messages(cache=False), id="messages"),
    pytest.param(messages(cache=True), id="messages-cached"),
]

TEXT = st.sampled_from(["", " ", "a", "é\ud83d", '"'])
ORIGIN = st.sampled_from(["", "openai", "anthropic"])
BLOCK = st.sampled_from(
    [
        {"type": "thinking", "thinking": "t", "signature": "s"},
        {"type": "redacted_thinking", "data": "d"},
        {"type": "text", "text": "x"},
        {"type": "text", "text": "\n"},
        {"type": "tool_use"},
    ]
)


@st.composite
def rounds(draw: st.DrawFn) -> tuple[Turn, ...]:
    """One answer, its results and perhaps notes, in the order in which a transcript has them."""
    ids = draw(st.lists(st.sampled_from(["a", "b", "x:0"]), max_size=3, unique=True))
    calls = tuple(ToolCall(each, "f", draw(st.sampled_from(["{}", '{"a":1}', "no"]))) for each in ids)
    blocks = [block for block in draw(st.lists(BLOCK, max_size=3)) if block["type"] != "tool_use"]
    extra: dict[str, Any] = {"blocks": [*blocks, *({"type": "tool_use"} for _ in ids)]} if draw(st.booleans()) else {}
    thought = draw(st.sampled_from([None, "t"]))
    answer = Message(Role.ASSISTANT, draw(TEXT), calls, thought, thought, extra=extra, profile=draw(ORIGIN))
    results = (ToolResult(each, "f", draw(TEXT)) for each in ids)
    notes = draw(st.lists(st.builds(Message, st.sampled_from([Role.USER, Role.SYSTEM]), TEXT), max_size=2))
    return (answer, *results, *notes)


BEGINNING = st.lists(st.builds(Message, st.sampled_from([Role.SYSTEM, Role.USER]), TEXT), min_size=1, max_size=3)
HISTORY = st.tuples(BEGINNING, st.lists(rounds(), min_size=1, max_size=4))


def prefix(draft: Draft) -> bytes:
    return draft.head + b"".join(draft.fragments)


@pytest.mark.parametrize("make", MAKERS)
@given(history=HISTORY)
def test_each_request_begins_with_the_bytes_of_the_one_before(
    make: Make, history: tuple[list[Message], list[tuple[Turn, ...]]]
) -> None:
    beginning, later = history
    adapter = make()
    # Instructions that come later would belong to the head; a conversation has them all from its start.
    turns: tuple[Turn, ...] = (*beginning, Message(Role.USER, "go"))
    draft = adapter.draft(turns, (TOOL,), None)
    for added in later:
        turns = (*turns, *added)
        following = adapter.draft(turns, (TOOL,), draft)
        assert prefix(following).startswith(prefix(draft))
        assert following.body(5000).startswith(prefix(draft))
        assert following == adapter.draft(turns, (TOOL,), None)
        assert len(following.fragments) == len(turns)
        json.loads(following.body(5000))
        draft = following
