"""How each provider is asked to think."""

import json
from typing import Any

import pytest

from amrita_fleet.protocols.messages import Message, Role
from amrita_fleet.protocols.presets import ModelPreset, ThinkingConfig
from amrita_fleet.protocols.profiles import PROFILES
from amrita_fleet.protocols.providers.openai_chat import OpenAIChat

PLAIN = {"model", "messages", "max_tokens", "max_completion_tokens"}


def added(profile: str, thinking: ThinkingConfig) -> dict[str, Any]:
    """The fields of a request that are there because of thinking."""
    preset = ModelPreset(model="m", base_url="http://127.0.0.1/v1", profile=profile, thinking_config=thinking)
    draft = OpenAIChat(preset).draft((Message(Role.USER, "hi"),), (), None)
    return {name: value for name, value in json.loads(draft.body(9)).items() if name not in PLAIN}


@pytest.mark.parametrize(
    ("profile", "unbounded", "bounded"),
    [
        ("openai", {"reasoning_effort": "medium"}, {"reasoning_effort": "low"}),
        ("openai-o1", {}, {}),
        ("azure", {"reasoning_effort": "medium"}, {"reasoning_effort": "low"}),
        ("deepseek", {"thinking": {"type": "enabled"}}, {"thinking": {"type": "enabled"}}),
        ("kimi", {"thinking": {"type": "enabled"}}, {"thinking": {"type": "enabled"}}),
        ("zai", {"thinking": {"type": "enabled"}}, {"thinking": {"type": "enabled"}}),
        ("qwen", {"enable_thinking": True}, {"enable_thinking": True, "thinking_budget": 2000}),
        ("groq", {"include_reasoning": True}, {"include_reasoning": True, "reasoning_effort": "low"}),
        ("mistral", {"reasoning_effort": "high"}, {"reasoning_effort": "high"}),
        ("openrouter", {"reasoning": {"enabled": True}}, {"reasoning": {"max_tokens": 2000}}),
        ("gemini", {"reasoning_effort": "medium"}, {"reasoning_effort": "low"}),
        ("xai", {}, {}),
        ("perplexity", {}, {}),
        ("vllm", *[{"chat_template_kwargs": {"enable_thinking": True}}] * 2),
        ("unknown", {"thinking": {"type": "enabled"}}, {"thinking": {"type": "enabled", "budget_tokens": 2000}}),
    ],
)
def test_each_provider_is_asked_in_its_own_words(
    profile: str, unbounded: dict[str, object], bounded: dict[str, object]
) -> None:
    assert added(profile, ThinkingConfig(enabled=True)) == unbounded
    assert added(profile, ThinkingConfig(enabled=True, budget_tokens=2000)) == bounded


@pytest.mark.parametrize("profile", [profile.name for profile in PROFILES])
def test_nobody_is_asked_who_was_not_to_be(profile: str) -> None:
    assert added(profile, ThinkingConfig()) == {}


@pytest.mark.parametrize(("budget", "effort"), [(1, "low"), (4095, "low"), (4096, "medium"), (16384, "high")])
def test_a_larger_budget_is_a_higher_effort(budget: int, effort: str) -> None:
    preset = ModelPreset(
        model="gpt-5",
        base_url="https://api.openai.com/v1",
        profile={"reasoning_in_cap": False},
        thinking_config=ThinkingConfig(enabled=True, budget_tokens=budget),
    )
    draft = OpenAIChat(preset).draft((Message(Role.USER, "hi"),), (), None)
    assert json.loads(draft.body(9))["reasoning_effort"] == effort
