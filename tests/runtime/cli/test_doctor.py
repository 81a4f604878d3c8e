"""`amrita-fleet doctor`: what works with a model, told before a fleet meets what does not."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from anyio import to_thread

from amrita_fleet.runtime.cli import app
from amrita_fleet.runtime.cli.status import Status
from amrita_fleet.runtime.simulator.scenario import Scenario, parse_scenario
from amrita_fleet.runtime.simulator.server import Simulator

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

KEY = "sk-planted-and-refused"
MODEL = "simulated-doctor"
EVERY_MODE = {"plain": True, "stream": True, "tool": True, "thinking": True}


@pytest.fixture(scope="module")
async def simulator() -> AsyncIterator[Simulator]:
    async with Simulator() as running:
        yield running


def talker() -> Scenario:
    """A model that talks and never calls a tool."""
    return parse_scenario("talker", {"models": ["talker"], "rules": [{"say": "I would rather talk."}]})


async def typed(*arguments: str) -> int:
    """Runs the command beside the simulator, which has this thread's loop."""
    return await to_thread.run_sync(app.run_command, ("doctor", *arguments))


async def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    """The exit status and the JSON object."""
    status = await typed("--json", *arguments)
    out, err = capsys.readouterr()
    assert err == ""
    return status, json.loads(out)


async def complaint(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one sentence of a command that ends with status 2."""
    status = await typed(*arguments)
    out, err = capsys.readouterr()
    said, see = err.splitlines()
    assert (status, out) == (Status.BAD_INPUT, "")
    assert see.startswith("See amrita-fleet explain ")
    return said.removeprefix("amrita-fleet: ")


def counted(simulator: Simulator) -> int:
    """All tokens so far."""
    answered = simulator.totals.answered
    return answered.prompt_tokens + answered.completion_tokens


def works(answer: dict[str, Any]) -> dict[str, bool]:
    return {mode["mode"]: mode["works"] for mode in answer["modes"]}


@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
async def test_every_mode_of_a_model_that_thinks_is_tried(
    simulator: Simulator, capsys: pytest.CaptureFixture[str], protocol: str
) -> None:
    like = ("--profile", "simulator") if protocol == "openai" else ()
    refused, before = simulator.totals.refused, counted(simulator)
    model = ("--base-url", simulator.base_url, "--model", f"{MODEL}-thinking", "--protocol", protocol)
    status, answer = await told(capsys, *model, *like)
    assert status == Status.OK
    assert works(answer) == (EVERY_MODE if like else {"plain": True, "stream": True, "tool": True})
    assert simulator.totals.refused == refused
    assert sum(mode["tokens"] for mode in answer["modes"]) == counted(simulator) - before
    assert all(mode["request_id"] and mode["meaning"] for mode in answer["modes"])


async def test_a_preset_file_can_ask_for_thinking(
    simulator: Simulator, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "preset.yaml"
    file.write_text("model: replaced\nprotocol: anthropic\nthinking_config: {enabled: true}\n")
    where = ("--base-url", simulator.base_url, "--model", f"{MODEL}-thinking")
    status, answer = await told(capsys, "--preset", str(file), *where)
    assert (status, works(answer), answer["profile"]) == (Status.OK, EVERY_MODE, "anthropic")


async def test_the_table_tells_the_profile_and_what_each_mode_means(
    simulator: Simulator, capsys: pytest.CaptureFixture[str]
) -> None:
    status = await typed("--base-url", simulator.base_url, "--model", MODEL)
    out, err = capsys.readouterr()
    assert (status, err) == (Status.OK, "")
    assert out.startswith(f"{MODEL} at {simulator.base_url}, protocol openai, profile simulator\n")
    assert "Agents can use tools and write to each other." in out


async def test_a_mode_that_fails_gives_status_1_and_what_it_means(capsys: pytest.CaptureFixture[str]) -> None:
    async with Simulator(scenarios=[talker()]) as simulator:
        status, answer = await told(capsys, "--base-url", simulator.base_url, "--model", "talker")
    assert (status, works(answer)) == (Status.FAILED, {"plain": True, "stream": True, "tool": False})
    assert answer["modes"][2]["problem"] == "The model did not call the tool that it was asked to call."
    assert answer["modes"][2]["meaning"] == "Agents can use no tools and send no mail."


async def test_an_error_that_passes_says_when_to_try_again(
    simulator: Simulator, capsys: pytest.CaptureFixture[str]
) -> None:
    model = ("--base-url", simulator.base_url, "--model", f"{MODEL}+429=7*1", "--profile", "unknown")
    status, answer = await told(capsys, *model)
    assert (status, works(answer)) == (Status.FAILED, {"plain": False, "stream": True, "tool": True})
    first = answer["modes"][0]
    assert (first["error"], first["retryable"], first["after"]) == ("ProviderBusy", True, 7.0)
    assert first["meaning"] == "Nothing yet: try again in 7 s."
    assert first["request_id"].startswith("req_")


@pytest.mark.parametrize(
    ("fault", "problem"),
    [("empty", "The answer holds no text (finish: stop)."), ("cut=9", "closed the connection"), ("500", "(500)")],
)
async def test_answers_that_are_none_are_told(
    simulator: Simulator, capsys: pytest.CaptureFixture[str], fault: str, problem: str
) -> None:
    model = ("--base-url", simulator.base_url, "--model", f"{MODEL}+{fault}", "--profile", "unknown")
    status, answer = await told(capsys, *model)
    assert (status, any(works(answer).values())) == (Status.FAILED, False)
    assert problem in answer["modes"][0]["problem"]


async def test_an_output_cap_that_is_too_small_is_told(
    simulator: Simulator, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "preset.yaml"
    file.write_text("config: {max_tokens: 1}\n")
    model = ("--base-url", simulator.base_url, "--model", MODEL, "--preset", str(file))
    status, answer = await told(capsys, *model)
    assert status == Status.FAILED
    assert "raise ModelConfig.max_tokens" in answer["modes"][2]["problem"]


async def test_an_address_where_nobody_answers_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    said = await complaint(capsys, "--base-url", "http://127.0.0.1:9/v1", "--model", "m")
    assert said.startswith("The base_url cannot be used: http://127.0.0.1:9/v1 refused the connection.")


async def test_a_key_that_is_refused_is_bad_input_and_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    async with Simulator(key="another") as simulator:
        said = await complaint(capsys, "--base-url", simulator.base_url, "--model", MODEL, "--api-key", KEY)
    assert said.startswith("The api_key cannot be used: The provider refused the key (401)")
    assert KEY not in said
    assert simulator.totals.refused == 1


async def test_a_key_whose_variable_is_not_set_is_bad_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    said = await complaint(
        capsys, "--base-url", "http://127.0.0.1:9/v1", "--model", "m", "--api-key", "env:NO_SUCH_KEY"
    )
    assert said.startswith("The api_key cannot be used: The environment variable NO_SUCH_KEY is not set.")


@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
async def test_a_model_that_does_not_exist_is_bad_input(
    simulator: Simulator, capsys: pytest.CaptureFixture[str], protocol: str
) -> None:
    said = await complaint(capsys, "--base-url", simulator.base_url, "--model", "nobody", "--protocol", protocol)
    assert said.startswith("The model, or the base_url, cannot be used: The provider refused the request (404)")
    assert "nobody" in said


async def test_a_path_where_no_provider_is_is_bad_input(
    simulator: Simulator, capsys: pytest.CaptureFixture[str]
) -> None:
    said = await complaint(capsys, "--base-url", f"{simulator.base_url}/v9", "--model", MODEL)
    assert said.startswith("The model, or the base_url, cannot be used:")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("modle: m", "ModelPreset has no field 'modle': did you mean 'model'?"),
        ("model: m\nconfig: {steam: true}", "ModelConfig has no field 'steam': did you mean 'stream'?"),
        ("model: m\nprotocol: antropic", "Undefined protocol adapter: antropic. Did you mean 'anthropic'?"),
        ("model: m\nbase_url: http://h\nprofile: deepsek", "There is no profile 'deepsek': did you mean 'deepseek'?"),
        ("model: m\nbase_url: host/v1", "ModelPreset.base_url must begin with http:// or https://"),
        ("- model", "The preset file"),
        ("1: model", "The preset file"),
        ("model: [", "The preset file"),
        ("base_url: http://127.0.0.1:9/v1", "ModelPreset needs model=... to be given."),
    ],
)
@pytest.mark.parametrize(
    "command", [pytest.param(("doctor",), id="doctor"), pytest.param(("run", "task"), id="run", marks=pytest.mark.slow)]
)
def test_a_preset_file_that_cannot_work_is_told_with_status_2(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: tuple[str, ...], content: str, sentence: str
) -> None:
    file = tmp_path / "preset.yaml"
    file.write_text(content)
    assert app.run_command([*command, "--preset", str(file)]) == Status.BAD_INPUT
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 2)
    assert err.startswith(f"amrita-fleet: {sentence}")
    assert err.splitlines()[-1].startswith("See amrita-fleet explain ")


def test_a_preset_file_that_does_not_exist_is_told_with_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run_command(["doctor", "--preset", "no/such/preset.yaml"]) == Status.BAD_INPUT
    said, see = capsys.readouterr().err.splitlines()
    assert said == "amrita-fleet: The preset file 'no/such/preset.yaml' cannot be used: No such file or directory."
    assert see == "See amrita-fleet explain PresetFileInvalid"
