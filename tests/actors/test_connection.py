"""How this process finds Ray, and what it says when it cannot."""

import os
import socket
import stat
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from amrita_fleet import ArgumentInvalid, SystemUnavailable
from amrita_fleet.actors.connection import LOCAL, RUNNING, check_single, choose, ensure_token, probe

pytestmark = pytest.mark.ray

SOURCE = Path(__file__).resolve().parents[2] / "src"


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def address(server: socket.socket) -> str:
    return f"127.0.0.1:{server.getsockname()[1]}"


def answer(server: socket.socket, said: bytes) -> threading.Thread:
    """Let a server take one caller and say something."""

    def serve() -> None:
        line, _ = server.accept()
        with line:
            line.recv(1000)
            line.sendall(said)

    thread = threading.Thread(target=serve)
    thread.start()
    return thread


def test_a_port_where_nobody_listens_is_named_at_once(listener: socket.socket) -> None:
    closed = address(listener)
    listener.close()
    with pytest.raises(SystemUnavailable, match=f"nothing answers at {closed}: .*refused"):
        probe(closed)


def test_a_server_that_is_no_ray_is_told_from_one_that_is(listener: socket.socket) -> None:
    serving = answer(listener, b"HTTP/1.1 400 Bad Request\r\n\r\n")
    with pytest.raises(SystemUnavailable, match="is no Ray"):
        probe(address(listener))
    serving.join()
    serving = answer(listener, b"\0\0\0\4\0\0\0\0\0")
    probe(address(listener))
    serving.join()


@pytest.mark.parametrize("given", ["nonsense", "host", "host:port", ":6379", "ray://host:10001", "http://host:8265"])
def test_an_address_that_is_none_is_answered_with_one_that_would_be(
    given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ArgumentInvalid, match=r"'address' cannot be used: .* as in 10\.0\.0\.1:6379"):
        choose(given, LOCAL)
    monkeypatch.setenv("RAY_ADDRESS", given)
    with pytest.raises(ArgumentInvalid, match="'RAY_ADDRESS' cannot be used"):
        choose(None, LOCAL)


def test_nobody_chooses_between_several_clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ray._private.services.find_gcs_addresses", lambda: {"10.0.0.1:2", "10.0.0.1:1"})
    with pytest.raises(SystemUnavailable, match=r"several clusters .* 10\.0\.0\.1:1, 10\.0\.0\.1:2: name one"):
        check_single()


def test_where_no_cluster_runs_the_sentence_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ray._private.services.find_gcs_addresses", set[str])
    with pytest.raises(SystemUnavailable, match=r"no cluster runs on this machine: begin a fleet on Ray, or name a"):
        check_single()


@pytest.mark.parametrize(
    ("given", "environment", "chosen"),
    [
        (None, None, LOCAL),
        (None, "", LOCAL),
        (None, "a:1", "a:1"),
        ("b:2", "a:1", "b:2"),
        (RUNNING, "a:1", "a:1"),
        (RUNNING, None, RUNNING),
    ],
)
def test_an_address_given_comes_before_the_environment(
    monkeypatch: pytest.MonkeyPatch, given: str | None, environment: str | None, chosen: str
) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    if environment is not None:
        monkeypatch.setenv("RAY_ADDRESS", environment)
    assert choose(given, LOCAL) == chosen


def test_the_token_of_a_new_cluster_is_for_its_owner_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("RAY_AUTH_TOKEN", raising=False)
    ensure_token()
    path = tmp_path / ".ray" / "auth_token"
    token = path.read_text(encoding="ascii")
    assert (len(token), stat.S_IMODE(path.stat().st_mode)) == (64, 0o600)
    ensure_token()
    assert path.read_text(encoding="ascii") == token


@pytest.mark.parametrize(("variable", "value"), [("RAY_AUTH_TOKEN", "x" * 32), ("RAY_AUTH_MODE", "disabled")])
def test_no_token_is_written_where_none_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("RAY_AUTH_TOKEN", raising=False)
    monkeypatch.setenv(variable, value)
    ensure_token()
    assert list(tmp_path.iterdir()) == []


def run(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a process whose Ray is its own."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env={**inherited, "PYTHONPATH": str(SOURCE), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_address_that_nobody_answers_ends_the_program_with_one_sentence() -> None:
    script = """
        import asyncio
        from amrita_fleet import Fleet, SystemUnavailable

        async def main() -> None:
            async with Fleet():
                pass

        try:
            asyncio.run(main())
        except SystemUnavailable as error:
            print(error)
    """
    done = run(script, RAY_ADDRESS="127.0.0.1:1")
    assert done.stdout.startswith("The system 'ray' cannot be used: nothing answers at 127.0.0.1:1: ")
    assert (len(done.stdout.splitlines()), done.stderr) == (1, "")


def test_a_local_cluster_is_started_kept_shared_and_ended(tmp_path: Path) -> None:
    # Linux kills what a thread has started when that thread ends, and the pool's threads are made to end at once here.
    # The tool is one of `__main__`, which no other process can import.
    script = """
        import asyncio, os, stat
        from pathlib import Path

        import anyio._backends._asyncio as pool
        from anyio import to_thread
        from amrita_fleet import Agent, Fleet, SystemUnavailable, tool
        from amrita_fleet.protocols.providers.scripted import call, say, scripted

        pool.WorkerThread.MAX_IDLE_TIME = 0

        @tool
        async def own() -> str:
            "Of this script."
            return "mine"

        async def main() -> None:
            import ray

            async with Fleet() as one:
                for _ in range(5):
                    await to_thread.run_sync(os.getpid)
                try:
                    await Fleet(address="127.0.0.1:1").__aenter__()
                except SystemUnavailable as error:
                    print(error.reason)
                async with Fleet() as other:
                    await other.spawn(Agent(preset=scripted(call("own"), say("other")), tools=(own,)), ["ana"])
                    print((await other.agent("ana").run("?")).text)
                await one.spawn(Agent(preset=scripted(say("one"))), ["ana"])
                print((await one.agent("ana").run("?")).text)
            print(ray.is_initialized())
            async with Fleet() as again:
                print(await again.statuses())
            print(ray.is_initialized(), oct(stat.S_IMODE((Path.home() / ".ray/auth_token").stat().st_mode)))

        asyncio.run(main())
    """
    done = run(script, HOME=str(tmp_path))
    refused = "this process already uses the Ray at 'local' and can use no second one."
    assert done.stdout.splitlines() == [refused, "other", "one", "False", "()", "False 0o600"], done.stderr
