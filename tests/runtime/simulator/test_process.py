"""The simulator as a process: it says where it listens, and it does not outlive whoever started it."""

import asyncio
import json
import signal
import socket
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path

import httpx
import pytest

from amrita_fleet.runtime.errors import SystemUnavailable
from amrita_fleet.runtime.simulator.process import COMMAND, SimulatorProcess

from .client import client_of

# What stays quick is the demo's test, which has such a process.
pytestmark = [pytest.mark.anyio, pytest.mark.slow]

ECHO = {"models": ["echo"], "rules": [{"when": {"user": "^Say (?P<what>.*)$"}, "say": "{what}"}]}
ASKED = {"model": "echo", "messages": [{"role": "user", "content": "Say hello"}]}
KEY = "planted-key"
SETTINGS = {"port": 0, "scenario_files": [], "key": "", "faults": {}}
SERVE = (sys.executable, "-c", "from amrita_fleet.runtime.simulator.server import serve; serve()")


async def started(monkeypatch: pytest.MonkeyPatch, *command: str) -> Process:
    monkeypatch.setenv("PYTHONPATH", ":".join(sys.path))
    return await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE)


async def first_line(child: Process) -> str:
    assert child.stdout
    return (await child.stdout.readline()).decode()


async def test_a_process_serves_the_shipped_scenarios_and_the_users(tmp_path: Path) -> None:
    file = tmp_path / "echo.yaml"
    file.write_text(json.dumps(ECHO), encoding="utf-8")
    async with client_of(authorization=f"Bearer {KEY}") as client:
        async with SimulatorProcess(scenario_files=[file], key=KEY) as simulator:
            answer = await client.post(f"{simulator.base_url}/chat/completions", json=ASKED)
            listed = await client.get(f"{simulator.base_url}/models")
        with pytest.raises(httpx.ConnectError):
            await client.get(f"{simulator.base_url}/models")
    assert answer.json()["choices"][0]["message"]["content"] == "hello"
    assert {"echo", "simulated-census"} <= {model["id"] for model in listed.json()["data"]}


async def test_a_process_that_cannot_start_says_why(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SystemUnavailable, match=rf"cannot be used: port {port} of 127\.0\.0\.1 is taken"):
            async with SimulatorProcess(port=port):
                pass
    with pytest.raises(SystemUnavailable, match=r"The scenario 'none\.yaml' cannot be used"):
        async with SimulatorProcess(scenario_files=[tmp_path / "none.yaml"]):
            pass


async def test_a_process_ends_when_its_parents_end_of_the_pipe_closes(monkeypatch: pytest.MonkeyPatch) -> None:
    child = await started(monkeypatch, *COMMAND)
    assert child.stdin
    child.stdin.write(json.dumps(SETTINGS).encode() + b"\n")
    assert (await first_line(child)).startswith("http://127.0.0.1:")
    child.stdin.close()
    assert await child.wait() == 0


async def test_serving_prints_the_base_url_first_and_ends_in_peace_when_interrupted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    child = await started(monkeypatch, *SERVE)
    base_url = (await first_line(child)).strip()
    async with client_of() as client:
        assert (await client.get(f"{base_url}/models")).status_code == 200
    child.send_signal(signal.SIGINT)
    assert await child.wait() == 0
