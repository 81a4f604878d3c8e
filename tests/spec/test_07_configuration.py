"""Section 7: reading the configuration before there is one is an error that says what to do."""

from collections.abc import Iterator

import pytest

from amrita_fleet import (
    AmritaConfig,
    BuiltinConfig,
    ConfigMissing,
    FunctionConfig,
    get_config,
    minimal_init,
    set_config,
    tool,
)
from amrita_fleet.runtime.config import Facade

from .stage import Model, calls, outputs, says, stage

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def unset(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process in which nobody has set a configuration."""
    monkeypatch.setattr(Facade, "config", None)
    yield
    monkeypatch.undo()


def test_reading_it_too_early_is_a_runtime_error_in_exactly_these_words() -> None:
    with pytest.raises(RuntimeError, match=r"^Global AmritaConfig is not initialized\b") as caught:
        get_config()
    assert isinstance(caught.value, ConfigMissing)
    assert "minimal_init" in str(caught.value)


async def test_minimal_init_sets_it() -> None:
    config = AmritaConfig(builtin=BuiltinConfig(loop_reasoning_trigger=7))
    await minimal_init(config)
    assert get_config() is config


async def test_minimal_init_without_one_sets_the_defaults() -> None:
    await minimal_init()
    assert get_config() == AmritaConfig()


def test_set_config_sets_it() -> None:
    config = AmritaConfig(function_config=FunctionConfig(agent_tool_call_limit=3))
    set_config(config)
    assert get_config() is config


def test_agents_and_tools_are_made_without_it() -> None:
    @tool(enable_if=lambda: get_config().function_config.agent_tool_call_limit > 3)
    async def look() -> str:
        """Look."""
        return "nothing"

    assert look.name == "look"


async def test_inside_an_agent_a_condition_of_a_tool_and_its_body_read_the_configuration_of_that_agent() -> None:
    def many_rounds() -> bool:
        return get_config().function_config.agent_tool_call_limit > 3

    @tool(enable_if=many_rounds)
    async def look() -> str:
        """Look."""
        return str(get_config().function_config.agent_tool_call_limit)

    long, short = Model(calls("look"), says("Seen."), name="simulated-long"), Model(says("No."), name="simulated-short")
    async with stage(long, short) as scene:
        for name, model, rounds in (("ana", long, 8), ("bob", short, 2)):
            config = AmritaConfig(function_config=FunctionConfig(agent_tool_call_limit=rounds))
            await (await scene.spawn(model, name, tools=[look], config=config)).run("Look.")
    assert outputs(long.read[-1]) == ["8"]
    assert "look" in long.read[0].tools
    assert "look" not in short.read[0].tools
