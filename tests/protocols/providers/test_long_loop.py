"""Thirty rounds of tools in thinking mode, against a provider that forgives nothing."""

from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from amrita_fleet.protocols.messages import Finish, Message, Role, ToolResult, Turn
from amrita_fleet.protocols.presets import ModelConfig, ModelPreset, ThinkingConfig
from amrita_fleet.protocols.providers.base import ToolSchema
from amrita_fleet.protocols.providers.connection import connect
from amrita_fleet.runtime.simulator.scenario import Scenario, parse_scenario
from amrita_fleet.runtime.simulator.server import Simulator

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

ROUNDS = 30
TOOL = ToolSchema("look", "Looks.", {"type": "object", "properties": {"at": {"type": "string"}}})
BEGINNING: tuple[Turn, ...] = (Message(Role.SYSTEM, "Look around."), Message(Role.USER, "Begin."))


def scenario() -> Scenario:
    """A model that looks at two things a round, until it has done so often enough."""
    calls = [{"name": "look", "arguments": {"at": place}} for place in ("left", "right")]
    rules: list[dict[str, Any]] = [
        {"when": {"contains": f"result {ROUNDS - 1}"}, "say": "Done."},
        {"when": {}, "say": "On we go.", "calls": calls},
    ]
    return parse_scenario("looking", {"models": ["simulated-thinking"], "rules": rules})


@pytest.fixture(scope="module")
async def simulator() -> AsyncIterator[Simulator]:
    async with Simulator(scenarios=[scenario()]) as running:
        yield running


def ways() -> list[object]:
    """Every way to hold the loop; those that differ in everything are quick enough for each run of the tests."""
    often = {("openai", "by-tool", True), ("anthropic", "optional", False)}
    every = product(("openai", "anthropic"), ("by-tool", "optional"), (False, True))
    return [pytest.param(*way, marks=() if way in often else pytest.mark.slow) for way in every]


@pytest.mark.parametrize(("protocol", "mode", "stream"), ways())
async def test_no_request_of_a_long_thinking_loop_is_refused(
    simulator: Simulator,
    protocol: str,
    mode: Any,  # noqa: ANN401  one of two texts
    *,
    stream: bool,
) -> None:
    turns = BEGINNING
    preset = ModelPreset(
        model="simulated-thinking",
        base_url=simulator.base_url,
        protocol=protocol,
        config=ModelConfig(stream=stream, prompt_cache=True),
        thinking_config=ThinkingConfig(enabled=True, content_mode=mode),
    )
    provider = connect(preset)
    draft = None
    for number in range(ROUNDS):
        draft = provider.draft(turns, (TOOL,), draft)
        reply = await provider.call(draft, 4096)
        assert (reply.finish, len(reply.message.calls)) == (Finish.CALLS, 2)
        assert reply.message.reasoning_content
        results = (ToolResult(call.id, call.name, f"result {number}") for call in reply.message.calls)
        turns = (*turns, reply.message, *results)
        if number % 7 == 6:
            turns = (*turns, Message(Role.USER, f"A note from a peer, with result {number}."))
    last = await provider.call(provider.draft(turns, (TOOL,), draft), 4096)
    assert last.message.content == "Done."
    asked = provider.draft((*turns, last.message, Message(Role.USER, "Sum up, result 29.")), (), None)
    assert (await provider.call(asked, 300)).message.content == "Done."
    await provider.aclose()
    assert simulator.totals.shown()["refused"] == 0


@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
async def test_a_history_of_another_provider_is_taken_on(simulator: Simulator, protocol: str) -> None:
    preset = ModelPreset(
        model="simulated-thinking",
        base_url=simulator.base_url,
        protocol=protocol,
        thinking_config=ThinkingConfig(enabled=True),
    )
    provider = connect(preset)
    turns = BEGINNING
    for number in range(3):
        reply = await provider.call(provider.draft(turns, (TOOL,), None), 4096)
        results = (ToolResult(call.id, call.name, f"result {number}") for call in reply.message.calls)
        turns = (*turns, replace(reply.message, profile="another", extra={"odd": 1}), *results)
    await provider.aclose()
    assert simulator.totals.shown()["refused"] == 0
