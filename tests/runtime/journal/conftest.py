"""The journals that are held to the same contract, and a PostgreSQL server that the tests start for themselves."""

import itertools
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.journal.memory import MemoryJournal
from amrita_fleet.runtime.journal.rules import Retention
from amrita_fleet.runtime.ports import Journal

USER = "nobody"
"""Who runs the server when the tests are run by root, as whom it refuses to run."""

PASSWORD = "planted-b41c/77"


class Server(NamedTuple):
    """A PostgreSQL that listens on this machine only."""

    tools: Path
    folder: Path
    port: int

    def run(self, tool: str, *arguments: str) -> None:
        """Run one of PostgreSQL's own tools on it."""
        user = USER if os.getuid() == 0 else None
        command = [self.tools / tool, "-D", self.folder / "data", *arguments]
        # Its output goes to a file: the server inherits it, and a pipe would not end before the server does.
        with (self.folder / "tools.log").open("a") as log:
            subprocess.run(command, user=user, cwd=self.folder, stdout=log, stderr=log, check=True)

    def start(self) -> None:
        options = f"-h 127.0.0.1 -p {self.port} -k {self.folder} -c fsync=off -c max_connections=20"
        self.run("pg_ctl", "-w", "-l", str(self.folder / "server.log"), "-o", options, "start")

    def stop(self) -> None:
        self.run("pg_ctl", "-w", "-m", "immediate", "stop")

    def url(
        self, schema: str = "public", *, password: str = PASSWORD.replace("/", "%2F"), database: str = "postgres"
    ) -> str:
        options = f"options=-csearch_path%3D{schema}"
        return f"postgresql://journal:{password}@127.0.0.1:{self.port}/{database}?{options}"


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def tools() -> Path | None:
    """Where PostgreSQL's programs are: Debian does not put them on PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return Path(found[-1]).parent if found else Path(on_path).parent if (on_path := shutil.which("initdb")) else None


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A server of its own for the whole session."""
    where = tools()
    if where is None:
        pytest.skip("PostgreSQL is not installed: the package is named postgresql")
    with tempfile.TemporaryDirectory(prefix="pg", dir="/tmp") as folder:
        if os.getuid() == 0:
            shutil.chown(folder, USER)
        made = Server(where, Path(folder), free_port())
        secret = made.folder / "password"
        secret.write_text(PASSWORD)
        made.run("initdb", "-N", "-U", "journal", "-A", "scram-sha-256", f"--pwfile={secret}", "-E", "UTF8")
        made.start()
        yield made
        made.stop()


@pytest.fixture
def schema(server: Server, counter: Iterator[int]) -> str:
    """The name of an empty schema of this test alone."""
    import psycopg

    name = f"journal_{next(counter)}"
    with psycopg.connect(server.url().partition("?")[0], autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")  # type: ignore[arg-type]
    return name


@pytest.fixture(scope="session")
def counter() -> Iterator[int]:
    return itertools.count()


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


Make = Callable[[], Journal]
"""Opens the journal: again and again the same one, as several processes would."""

KEPT = Retention(age=100.0, size=30)


@pytest.fixture(
    params=["memory", pytest.param("sqlite", marks=pytest.mark.slow), pytest.param("postgres", marks=pytest.mark.slow)]
)
async def make(request: pytest.FixtureRequest, tmp_path: Path, clock: VirtualClock) -> AsyncIterator[Make]:
    """Each kind of journal. They keep what is older than a snapshot for 100 seconds, and 30 bytes of it."""
    opened: list[Journal] = []
    if request.param == "memory":
        opened.append(MemoryJournal(retention=KEPT, clock=clock))
        yield lambda: opened[0]
        return
    if request.param == "sqlite":
        url = str(tmp_path / "journal.sqlite")
    else:
        server: Server = request.getfixturevalue("server")
        url = server.url(request.getfixturevalue("schema"))

    from amrita_fleet.runtime.journal.sql import SqlJournal  # the fast tests do without

    def opener() -> Journal:
        opened.append(SqlJournal(url, retention=KEPT, clock=clock))
        return opened[-1]

    yield opener
    for journal in opened:
        await journal.aclose()


@pytest.fixture
def journal(make: Make) -> Journal:
    return make()
