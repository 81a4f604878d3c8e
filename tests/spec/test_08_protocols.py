"""Section 8: a protocol that nobody registered is refused when the preset is built."""

from dataclasses import dataclass
from typing import Any

import pytest

from amrita_fleet import Agent, Fleet, ModelPreset, PresetInvalid, UndefinedAdapter, create_agent
from amrita_fleet.protocols.providers.openai_chat import OpenAIChat

from .stage import Model, says, stage

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("name", ["deepseek", "azure", "klingon"])
def test_an_unknown_protocol_is_a_value_error_in_exactly_these_words(name: str) -> None:
    with pytest.raises(ValueError, match=f"^Undefined protocol adapter: {name}\\b") as caught:
        ModelPreset(model="m", base_url="http://h/v1", protocol=name)
    error = caught.value
    assert isinstance(error, UndefinedAdapter)
    assert (error.name, {"openai", "anthropic"} <= set(error.known)) == (name, True)


def test_a_misspelt_protocol_is_told_what_is_near() -> None:
    with pytest.raises(UndefinedAdapter, match="Did you mean 'anthropic'"):
        ModelPreset(model="m", protocol="antropic")


@pytest.mark.parametrize("protocol", ["openai", "__main__", "anthropic", "claude"])
async def test_what_ships_speaks_under_both_of_its_names(protocol: str) -> None:
    model = Model(says("Hello."))
    async with stage(model) as scene:
        preset = ModelPreset(protocol=protocol, base_url=scene.simulator.base_url, model=model.name)
        (ana,) = await scene.fleet.spawn(Agent(preset=preset), ["ana"])
        assert (await ana.run("Greet.")).text == "Hello."


def test_create_agent_has_no_protocol_and_makes_a_preset_of_the_default_one() -> None:
    unknown: dict[str, Any] = {"protocol": "anthropic"}
    with pytest.raises(PresetInvalid, match=r"no field 'protocol': .*ModelPreset"):
        create_agent(base_url="http://h/v1", model="m", **unknown)
    assert create_agent(base_url="http://h/v1", model="m").preset.protocol == "openai"


@pytest.mark.parametrize(
    ("base_url", "model"),
    [("https://api.deepseek.com/v1", "deepseek-chat"), ("https://r.openai.azure.com/openai/v1", "mine")],
    ids=["deepseek", "azure"],
)
def test_deepseek_and_azure_are_addresses_of_the_default_protocol(base_url: str, model: str) -> None:
    preset = create_agent(base_url=base_url, model=model).preset
    assert preset.protocol == "openai"
    assert preset.facts.name in base_url


async def test_an_adapter_of_ones_own_is_known_by_the_name_it_gives_itself() -> None:
    @dataclass(frozen=True)
    class Courteous(OpenAIChat):
        """Chat completions under another name."""

        @staticmethod
        def get_adapter_protocol() -> tuple[str, ...]:
            """The one name of the protocol."""
            return ("courteous",)

    model = Model(says("Good day."))
    async with stage(model) as scene:
        preset = ModelPreset(protocol="courteous", base_url=scene.simulator.base_url, model=model.name)
        (ana,) = await scene.fleet.spawn(Agent(preset=preset), ["ana"])
        assert (await ana.run("Greet.")).text == "Good day."


def test_the_error_is_one_of_a_preset_so_that_one_handler_is_enough() -> None:
    assert issubclass(UndefinedAdapter, PresetInvalid)
    with pytest.raises(PresetInvalid):
        Fleet(system="local", limit=0)
