"""Every recorded answer goes over a socket, through the real sender, and comes out as it was read to mean."""

import os
import secrets
from pathlib import Path

import pytest

from amrita_fleet.protocols.errors import ProviderError
from amrita_fleet.protocols.messages import Message, Reply, Role
from amrita_fleet.protocols.presets import ModelPreset
from amrita_fleet.protocols.providers.connection import connect

from .expectation import Expectation, expectations, seen
from .recording import ABSENT, WIRE, Recording, preset_for, recordings
from .replay import ReplayServer

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SEED = int(os.environ.get("WIRE_SEED") or secrets.randbits(32))
"""Decides where bodies are cut; a failing test prints it."""


@pytest.fixture(scope="module")
def wanted() -> dict[str, dict[str, Expectation]]:
    return expectations()


async def ask(preset: ModelPreset) -> Reply | ProviderError:
    provider = connect(preset)
    draft = provider.draft((Message(Role.SYSTEM, "Be brief."), Message(Role.USER, "Go on.")), (), None)
    try:
        return await provider.call(draft, 4096)
    except ProviderError as error:
        return error
    finally:
        await provider.aclose()


@pytest.mark.slow
@pytest.mark.parametrize("path", recordings())
async def test_a_recorded_answer_means_what_it_was_read_to_mean(
    path: Path, wanted: dict[str, dict[str, Expectation]]
) -> None:
    print(f"WIRE_SEED={SEED}")
    recording = Recording.load(path)
    expected = wanted[recording.folder][recording.number]
    async with ReplayServer(recording, SEED) as server:
        outcome = await ask(preset_for(recording, server.url))
    assert seen(outcome, expected) == expected
    assert len(server.requests) == 1


def test_each_recorded_exchange_has_one_expectation(wanted: dict[str, dict[str, Expectation]]) -> None:
    if not WIRE.exists():
        pytest.skip(ABSENT)
    recorded = {(path.parent.name, path.name[:2]) for path in WIRE.glob("*/*.meta.json")}
    assert {(folder, number) for folder, numbers in wanted.items() for number in numbers} == recorded
