"""`amrita-fleet run` on a model that cannot be asked: one sentence, and a status that says whose mistake it is."""

import json
from collections.abc import AsyncIterator

import pytest
from anyio import to_thread

from amrita_fleet.runtime.cli import app
from amrita_fleet.runtime.cli.status import Status
from amrita_fleet.runtime.simulator.server import Simulator

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

KEY = "right"


@pytest.fixture(scope="module")
async def simulator() -> AsyncIterator[Simulator]:
    async with Simulator(key=KEY) as running:
        yield running


async def typed(*arguments: str) -> int:
    """Runs the command beside the simulator, which has this thread's loop."""
    return await to_thread.run_sync(app.run_command, ("run", "Hello.", "--system", "local", "--json", *arguments))


@pytest.mark.parametrize(
    ("more", "sentence", "see"),
    [
        (("simulated-doctor", "--api-key", "sk-planted"), "The provider refused the key (401)", "AuthRefused"),
        (
            ("simulated-doctor", "--api-key", "env:NO_SUCH_KEY"),
            "The environment variable NO_SUCH_KEY is",
            "AuthRefused",
        ),
        (("nobody", "--api-key", KEY), "The provider refused the request (404)", "BadRequest"),
    ],
    ids=["key", "variable", "model"],
)
async def test_a_model_that_was_named_wrongly_is_told_with_status_2(
    simulator: Simulator, capsys: pytest.CaptureFixture[str], more: tuple[str, ...], sentence: str, see: str
) -> None:
    assert await typed("--base-url", simulator.base_url, "--model", *more) == Status.BAD_INPUT
    err = capsys.readouterr().err
    assert err.startswith(f"amrita-fleet: agent-1 did not answer: failed. {sentence}")
    assert err.endswith(f"\nSee amrita-fleet explain {see}\n")
    assert err.count("\n") == 2


async def test_a_model_that_was_reached_and_said_nothing_is_told_with_status_1(
    simulator: Simulator, capsys: pytest.CaptureFixture[str]
) -> None:
    status = await typed("--base-url", simulator.base_url, "--api-key", KEY, "--model", "simulated-doctor+empty")
    out, err = capsys.readouterr()
    end = json.loads(out)["runs"][0]
    assert (status, end["outcome"], end["error"]) == (Status.FAILED, "failed", "")
    assert err.startswith("amrita-fleet: agent-1 did not answer: failed.")
    assert err.count("\n") == 1


async def test_the_family_of_a_provider_can_be_named(simulator: Simulator, capsys: pytest.CaptureFixture[str]) -> None:
    model = ("--model", "simulated-doctor-thinking", "--profile", "deepseek", "--api-key", KEY)
    assert await typed("--base-url", simulator.base_url, *model) == Status.OK
    out, err = capsys.readouterr()
    assert (json.loads(out)["runs"][0]["text"], err) == ("Ready.", "")
