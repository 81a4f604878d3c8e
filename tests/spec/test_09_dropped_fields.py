"""Section 9: no field is dropped in silence: what is misplaced is refused, with the place where it belongs."""

from typing import Any

import pytest

from amrita_fleet import Agent, AmritaConfig, ModelConfig, ModelPreset, PresetInvalid, ThinkingConfig, create_agent

from .stage import Model, Stage, calls, says, stage

pytestmark = pytest.mark.anyio

HOME: dict[str, Any] = {"model": "m", "base_url": "http://h/v1"}


@pytest.mark.parametrize(
    ("misplaced", "hint"),
    [
        ({"model_config": {"stream": True}}, r"use config=ModelConfig\(...\), or create_agent\(model_config="),
        ({"thinking": {"enabled": True}}, r"use thinking_config=ThinkingConfig\(...\)"),
        ({"stream": True}, "stream"),
        ({"temprature": 0.1}, "temprature"),
    ],
    ids=["model_config", "thinking", "a field of a part", "a misspelt one"],
)
def test_a_field_that_a_preset_does_not_have_is_refused_with_where_it_belongs(
    misplaced: dict[str, Any], hint: str
) -> None:
    with pytest.raises(PresetInvalid, match=hint):
        ModelPreset(**HOME, **misplaced)
    with pytest.raises(PresetInvalid, match=hint):
        ModelPreset.parse(HOME | misplaced)


@pytest.mark.parametrize(
    "fields",
    [{"model_config": {"streem": True}}, {"thinking_config": {"content-mode": "never"}}],
    ids=["model_config", "thinking_config"],
)
def test_a_misspelt_field_inside_a_part_is_refused_too(fields: dict[str, Any]) -> None:
    with pytest.raises(PresetInvalid, match=next(iter(next(iter(fields.values()))))):
        create_agent(**HOME, **fields)


def test_a_misspelt_setting_is_refused() -> None:
    with pytest.raises(PresetInvalid, match="agent_tool_calls_limit"):
        AmritaConfig.parse({"function_config": {"agent_tool_calls_limit": 3}})


def test_a_plain_mapping_where_a_part_is_meant_is_refused() -> None:
    fields: dict[str, Any] = {"config": {"stream": True}}
    with pytest.raises(PresetInvalid, match=r"ModelPreset\.config must be a ModelConfig"):
        ModelPreset(**HOME, **fields)


def test_create_agent_puts_both_mappings_where_they_belong() -> None:
    agent = create_agent(
        **HOME, model_config={"stream": True, "max_tokens": 77}, thinking_config={"enabled": True, "budget_tokens": 50}
    )
    assert agent.preset.config == ModelConfig(stream=True, max_tokens=77)
    assert agent.preset.thinking_config == ThinkingConfig(enabled=True, budget_tokens=50)


async def test_what_was_asked_for_reaches_the_provider() -> None:
    thinking, cut = Model(calls("list_peers"), says("Done.")), Model(says("word " * 200), name="simulated-short")
    async with stage(thinking, cut) as scene:
        await thought(scene, thinking)
        outcome, _ = await scene.play(cut, model_config={"max_tokens": 16})
    assert thinking.read[-1].messages[-2].reasoning
    assert 0 < len(outcome.text) < 200


async def thought(scene: Stage, model: Model) -> None:
    """Run a model that thinks only when it is asked to."""
    preset = ModelPreset(
        protocol="anthropic",
        base_url=scene.simulator.base_url,
        model=model.name,
        thinking_config=ThinkingConfig(enabled=True, budget_tokens=1024),
    )
    (bob,) = await scene.fleet.spawn(Agent(preset=preset), ["bob"])
    assert (await bob.run("Who is there?")).text == "Done."
