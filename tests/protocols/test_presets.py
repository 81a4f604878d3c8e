"""A preset that cannot work is refused when it is built, and a key is never shown."""

import pickle
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import pytest

from amrita_fleet.protocols.errors import PresetInvalid, UndefinedAdapter
from amrita_fleet.protocols.presets import ContentMode, ModelConfig, ModelPreset, ThinkingConfig
from amrita_fleet.protocols.secret import Secret

KEY = "sk-planted-0123456789"
URL = "https://host.example:8443/v1"


def preset(**given: object) -> ModelPreset:
    fields: dict[str, Any] = {"model": "m", "base_url": URL, **given}
    return ModelPreset(**fields)


def parse(**given: object) -> ModelPreset:
    return ModelPreset.parse({"model": "m", "base_url": URL, **given})


def test_a_model_config_that_would_be_dropped_is_an_error_that_says_what_to_write() -> None:
    with pytest.raises(PresetInvalid, match=r"ModelPreset has no field 'model_config': use config=ModelConfig\(...\)"):
        preset(model_config={"stream": True})


@pytest.mark.parametrize("build", [preset, parse], ids=["built", "parsed"])
@pytest.mark.parametrize(
    ("name", "said"),
    [("thinking", "use thinking_config="), ("modle", "did you mean 'model'"), ("zzz", "it has model, base_url")],
)
def test_an_unknown_field_is_an_error_that_names_a_near_one(
    build: Callable[..., ModelPreset], name: str, said: str
) -> None:
    with pytest.raises(PresetInvalid, match=said) as caught:
        build(**{name: 1})

    assert caught.value.field == name


def test_an_unknown_field_of_a_part_is_one_too() -> None:
    with pytest.raises(
        PresetInvalid, match="ModelConfig has no field 'max_token': did you mean 'max_tokens'"
    ) as caught:
        parse(config={"max_token": 3})

    assert caught.value.field == "config.max_token"


@pytest.mark.parametrize("name", ["config", "thinking_config"])
def test_a_part_given_as_a_mapping_is_never_half_read(name: str) -> None:
    parts: dict[str, object] = {name: {}}

    with pytest.raises(PresetInvalid, match=f"ModelPreset.{name} must be a"):
        preset(**parts)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"config": {"max_tokens": 0}}, "config.max_tokens"),
        ({"config": {"max_tokens": "many"}}, "config.max_tokens"),
        ({"config": {"timeout": -1}}, "config.timeout"),
        ({"thinking_config": {"content_mode": "sometimes"}}, "thinking_config.content_mode"),
        ({"thinking_config": {"budget_tokens": 0}}, "thinking_config.budget_tokens"),
        ({"base_url": "host.example"}, "base_url"),
        ({"api_key": 7}, "api_key"),
        ({"protocol": "smoke"}, "protocol"),
        ({"model": None}, "model"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_plain_data_that_cannot_work_is_refused_with_its_place(given: dict[str, Any], field: str) -> None:
    with pytest.raises(PresetInvalid) as caught:
        parse(**given)

    assert caught.value.field == field


def test_an_unknown_protocol_keeps_its_own_error_when_parsed() -> None:
    with pytest.raises(UndefinedAdapter, match=r"^Undefined protocol adapter: opnai\. Did you mean 'openai'\?$"):
        parse(protocol="opnai")


def test_plain_data_is_read_with_its_parts() -> None:
    found = parse(
        api_key="env:KEY",
        config={"stream": True, "max_tokens": 100},
        thinking_config={"content_mode": "by-tool"},
        extra_body={"seed": 1},
    )

    assert found == preset(
        api_key=Secret.from_env("KEY"),
        config=ModelConfig(stream=True, max_tokens=100),
        thinking_config=ThinkingConfig(content_mode=ContentMode.BY_TOOL),
        extra_body={"seed": 1},
    )


@pytest.mark.parametrize("mode", ["never", "by-tool", "optional"])
def test_a_mode_may_be_given_by_its_name(mode: str) -> None:
    given: dict[str, Any] = {"content_mode": mode}

    assert ThinkingConfig(**given).content_mode is ContentMode(mode)


def test_a_mode_that_is_none_is_refused() -> None:
    given: dict[str, Any] = {"content_mode": "sometimes"}

    with pytest.raises(PresetInvalid, match="one of never, by-tool, optional, not 'sometimes'"):
        ThinkingConfig(**given)


@pytest.mark.parametrize("key", [KEY, Secret(KEY)], ids=["as a text", "as a secret"])
def test_a_planted_key_is_shown_nowhere(key: object) -> None:
    shown = preset(api_key=key)

    for text in (repr(shown), str(shown), f"{shown}", repr(shown.api_key), str(asdict(shown)), repr(replace(shown))):
        assert KEY not in text
    assert shown.api_key.reveal({}) == KEY


def test_a_key_in_a_preset_that_is_refused_is_not_shown_either() -> None:
    for broken in ({"base_url": "nowhere"}, {"protocol": "smoke"}, {"config": {"max_tokens": "many"}}, {"zzz": 1}):
        with pytest.raises(PresetInvalid) as caught:
            parse(api_key=KEY, **broken)
        assert KEY not in f"{caught.value!r} {caught.value}"


def test_a_preset_survives_a_process_border() -> None:
    before = preset(api_key=KEY, config=ModelConfig(stream=True))

    assert pickle.loads(pickle.dumps(before)) == before


@pytest.mark.parametrize(
    ("url", "key"),
    [(URL, "https://host.example:8443"), ("http://h/v1/deep", "http://h"), ("http://h", "http://h")],
)
def test_models_at_one_address_share_its_limits(url: str, key: str) -> None:
    assert preset(base_url=url).provider_key == key


def test_a_provider_without_an_address_is_its_protocol() -> None:
    assert ModelPreset(model="m", protocol="scripted").provider_key == "scripted"


def test_a_provider_is_known_by_its_protocol_then_its_address_then_its_model() -> None:
    assert preset(protocol="anthropic", base_url="https://api.openai.com/v1").facts.name == "anthropic"
    assert preset(base_url="https://api.openai.com/v1", model="qwen3").facts.name == "openai"
    assert preset(model="qwen/Qwen3-8b").facts.name == "vllm"
    assert preset().facts.name == "unknown"


def test_a_profile_can_be_named_and_its_facts_replaced() -> None:
    assert preset(profile="openai").facts.name == "openai"
    found = preset(profile={"like": "openai", "hidden_prompt": 9}).facts
    assert (found.cap, found.hidden_prompt) == ("max_completion_tokens", 9)
    assert preset(profile={"hidden_prompt": 9}).facts.hidden_prompt == 9


@pytest.mark.parametrize(
    ("profile", "said"),
    [("opnai", "did you mean 'openai'"), ("zzz", "known are anthropic"), ({"hiden_prompt": 1}, "hidden_prompt")],
    ids=["nearly right", "unknown", "an unknown fact"],
)
def test_a_profile_that_is_none_is_refused(profile: object, said: str) -> None:
    with pytest.raises(PresetInvalid, match=said):
        preset(profile=profile)


THINKING = ThinkingConfig(enabled=True, budget_tokens=100)


def test_reasoning_that_a_provider_demands_cannot_be_withheld() -> None:
    never = ThinkingConfig(enabled=True, content_mode=ContentMode.NEVER)

    with pytest.raises(PresetInvalid, match="content_mode 'never' cannot work: anthropic") as caught:
        preset(protocol="anthropic", thinking_config=never)

    assert caught.value.field == "thinking_config.content_mode"
    assert preset(thinking_config=never).thinking_config is never


def test_thoughts_leave_room_for_an_answer() -> None:
    with pytest.raises(PresetInvalid, match=r"budget_tokens must be below max_tokens \(100\)"):
        preset(protocol="anthropic", thinking_config=THINKING, config=ModelConfig(max_tokens=100))


@pytest.mark.parametrize("choice", ["required", {"type": "tool", "name": "look"}], ids=["a word", "an object"])
def test_a_model_that_thinks_cannot_be_forced_to_call_where_the_provider_refuses_it(choice: object) -> None:
    with pytest.raises(PresetInvalid, match="tool_choice can only be 'auto' or 'none' while anthropic thinks"):
        preset(protocol="anthropic", thinking_config=THINKING, extra_body={"tool_choice": choice})


def test_anthropics_address_may_be_left_out() -> None:
    assert ModelPreset(model="m", protocol="claude").base_url == "https://api.anthropic.com/v1"


@pytest.mark.parametrize("url", ["http://", "http://:80/v1", "http://127.0.0.1:999999/v1", "http://[::1/v1"])
def test_an_address_without_a_usable_host_and_port_is_refused(url: str) -> None:
    with pytest.raises(PresetInvalid) as caught:
        ModelPreset(model="m", base_url=url)
    assert caught.value.field == "base_url"


def test_a_field_that_must_be_given_is_named() -> None:
    with pytest.raises(PresetInvalid, match=r"ModelPreset needs model=\.\.\."):
        ModelPreset(protocol="anthropic")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


@pytest.mark.parametrize("key", ["env:", "env: "])
def test_a_key_that_names_no_variable_is_refused(key: str) -> None:
    with pytest.raises(PresetInvalid, match="needs a variable's name"):
        preset(api_key=key)


def test_a_preset_names_a_model() -> None:
    with pytest.raises(PresetInvalid, match="must name a model"):
        ModelPreset(model="", base_url="http://127.0.0.1:9/v1")
