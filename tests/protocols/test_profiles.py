"""Which provider a preset means, and what is refused because that provider would refuse it."""

import re
from typing import Any

import pytest

from amrita_fleet.protocols.errors import PresetInvalid
from amrita_fleet.protocols.presets import ContentMode, ModelConfig, ModelPreset, ThinkingConfig
from amrita_fleet.protocols.profiles import PROFILES

THINKING = ThinkingConfig(enabled=True)
NEVER = ContentMode.NEVER


def preset(base_url: str = "http://10.0.0.1:8000/v1", model: str = "m", **fields: Any) -> ModelPreset:  # noqa: ANN401
    return ModelPreset(model=model, base_url=base_url, **fields)


@pytest.mark.parametrize(
    ("base_url", "model", "name"),
    [
        ("https://api.openai.com/v1", "gpt-5", "openai"),
        ("https://me.openai.azure.com/openai/v1", "gpt-5", "azure"),
        ("https://me.services.ai.azure.com/models?api-version=1", "grok-4-1-fast", "azure-models"),
        ("https://api.deepseek.com", "deepseek-chat", "deepseek"),
        ("https://api.moonshot.ai/v1", "kimi-k2.5", "kimi"),
        ("https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "qwen3-max", "qwen"),
        ("https://api.groq.com/openai/v1", "deepseek-r1-distill-llama-70b", "groq"),
        ("https://api.mistral.ai/v1", "mistral-small-latest", "mistral"),
        ("https://openrouter.ai/api/v1", "moonshotai/kimi-k2", "openrouter"),
        ("https://generativelanguage.googleapis.com/v1beta/openai", "gemini-3-pro", "gemini"),
        ("https://api.x.ai/v1", "grok-4", "xai"),
        ("https://api.perplexity.ai", "sonar", "perplexity"),
        ("https://api.together.xyz/v1", "Qwen/Qwen3-235B", "together"),
        ("http://localhost:11434/v1", "qwen3", "ollama"),
        ("http://10.0.0.1:8000/v1", "Qwen/Qwen3-32B", "vllm"),
        ("http://10.0.0.1:8000/v1", "deepseek-ai/DeepSeek-V3.2", "deepseek"),
        ("http://10.0.0.1:8000/v1", "mistralai/Ministral-8B", "mistral-model"),
        ("http://10.0.0.1:8000/v1", "m", "unknown"),
        ("http://api.openai.com.example/v1", "o1-mini", "openai"),
        ("http://10.0.0.1:8000/api.deepseek.com", "m", "unknown"),
    ],
)
def test_the_host_means_a_provider_and_else_the_model(base_url: str, model: str, name: str) -> None:
    assert preset(base_url, model).facts.name == name


@pytest.mark.parametrize("protocol", ["anthropic", "claude"])
def test_a_protocol_of_one_provider_means_it_at_any_host(protocol: str) -> None:
    assert preset("https://api.deepseek.com/anthropic/v1", protocol=protocol).facts.name == "anthropic"


@pytest.mark.parametrize("name", [profile.name for profile in PROFILES])
def test_each_profile_can_be_named(name: str) -> None:
    assert preset(profile=name).facts.name == name


def test_names_are_unique_and_patterns_are_patterns() -> None:
    assert len({profile.name for profile in PROFILES}) == len(PROFILES)
    assert all(re.compile(profile.ids) for profile in PROFILES)


def test_single_facts_can_differ_from_those_of_the_family() -> None:
    facts = preset(profile={"like": "vllm", "blank": "", "hidden_prompt": 7}).facts
    assert (facts.name, facts.blank, facts.hidden_prompt) == ("vllm", "", 7)
    assert preset(model="kimi-k2", profile={"thinks": False}).facts.name == "kimi"


@pytest.mark.parametrize(
    ("profile", "said"),
    [
        ("deepsek", "There is no profile 'deepsek': did you mean 'deepseek'?"),
        ("zzz", "There is no profile 'zzz': known are anthropic, "),
        ({"blnk": ""}, "Profile has no field 'blnk': did you mean 'blank'?"),
        ({"like": "opnai"}, "There is no profile 'opnai': did you mean 'openai'?"),
        ({"hidden_prompt": "much"}, "Profile.hidden_prompt: "),
    ],
)
def test_a_profile_that_is_none_is_an_error_when_the_preset_is_built(profile: object, said: str) -> None:
    with pytest.raises(PresetInvalid, match=re.escape(said)):
        preset(profile=profile)


@pytest.mark.parametrize("model", ["deepseek-chat", "kimi-k2.5"])
def test_reasoning_that_must_go_back_cannot_be_switched_off(model: str) -> None:
    with pytest.raises(PresetInvalid, match="content_mode 'never' cannot work") as caught:
        preset(model=model, thinking_config=ThinkingConfig(content_mode=NEVER))
    assert caught.value.field == "thinking_config.content_mode"


def test_where_it_need_not_or_nothing_is_thought_it_can() -> None:
    never = ThinkingConfig(content_mode=NEVER)
    assert preset(model="m", thinking_config=never).thinking_config is never
    assert preset(protocol="anthropic", thinking_config=never).thinking_config is never
    with pytest.raises(PresetInvalid, match="anthropic refuses requests without its reasoning"):
        preset(protocol="anthropic", thinking_config=ThinkingConfig(enabled=True, content_mode=NEVER))


def test_thinking_must_leave_room_for_an_answer_where_both_share_the_cap() -> None:
    much = ThinkingConfig(enabled=True, budget_tokens=4096)
    with pytest.raises(PresetInvalid, match=r"budget_tokens must be below max_tokens \(4096\)"):
        preset(thinking_config=much)
    assert preset(thinking_config=much, config=ModelConfig(max_tokens=4097)).config.max_tokens == 4097
    assert preset("https://dashscope.aliyuncs.com/v1", thinking_config=much).facts.name == "qwen"


@pytest.mark.parametrize("choice", ["required", "any", {"type": "function", "function": {"name": "f"}}])
@pytest.mark.parametrize("model", ["kimi-k2.5", "deepseek-chat"])
def test_a_call_that_is_forced_while_the_model_thinks_is_refused(model: str, choice: object) -> None:
    with pytest.raises(PresetInvalid, match="tool_choice can only be 'auto' or 'none' while"):
        preset(model=model, thinking_config=THINKING, extra_body={"tool_choice": choice})


@pytest.mark.parametrize("choice", ["auto", "none", {"type": "auto"}])
def test_a_choice_that_is_left_to_the_model_is_not(choice: object) -> None:
    assert preset(model="kimi-k2.5", thinking_config=THINKING, extra_body={"tool_choice": choice})
    assert preset(model="m", thinking_config=THINKING, extra_body={"tool_choice": "required"})


def test_only_anthropic_has_an_address_of_its_own() -> None:
    assert ModelPreset(model="claude-sonnet-4-5", protocol="claude").base_url == "https://api.anthropic.com/v1"
    with pytest.raises(PresetInvalid, match="base_url must begin with http"):
        ModelPreset(model="m")
