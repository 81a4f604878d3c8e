"""A PostgreSQL server that tests start for themselves."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

USER = "nobody"
"""Who runs the server when the tests are run by root, as whom it refuses to run."""

PASSWORD = "planted-b41c/77"

IN_URL = PASSWORD.replace("/", "%2F")
"""The password, as URLs want it."""


class Server(NamedTuple):
    """A PostgreSQL that listens on this machine only."""

    tools: Path
    folder: Path
    port: int

    def run(self, tool: str, *arguments: str) -> None:
        """Run one of PostgreSQL's own tools on it."""
        user = USER if os.getuid() == 0 else None
        command = [str(self.tools / tool), "-D", str(self.folder / "data"), *arguments]
        # Its output goes to a file: the server inherits it, and a pipe would not end before the server does.
        with (self.folder / "tools.log").open("a") as log:
            subprocess.run(command, user=user, cwd=self.folder, stdout=log, stderr=log, check=True)

    def start(self) -> None:
        options = f"-h 127.0.0.1 -p {self.port} -k {self.folder} -c fsync=off -c max_connections=20"
        self.run("pg_ctl", "-w", "-l", str(self.folder / "server.log"), "-o", options, "start")

    def stop(self) -> None:
        self.run("pg_ctl", "-w", "-m", "immediate", "stop")

    def url(self, schema: str = "public") -> str:
        """How a journal in this schema is named."""
        address = f"127.0.0.1:{self.port}/postgres"
        return f"postgresql://journal:{IN_URL}@{address}?options=-csearch_path%3D{schema}"

    def execute(self, statement: str, values: Sequence[object] = (), schema: str = "public") -> None:
        """Run one statement; its values stand where it has `%s`."""
        import psycopg

        with psycopg.connect(self.url(schema), autocommit=True) as connection:
            connection.execute(statement.encode(), values or None)


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def tools() -> Path | None:
    """Where PostgreSQL's programs are: Debian does not put them on PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return Path(found[-1]).parent if found else Path(on_path).parent if (on_path := shutil.which("initdb")) else None


@contextmanager
def running(where: Path) -> Generator[Server]:
    """A server of its own, made by the tools that are there; nothing is left of it."""
    with tempfile.TemporaryDirectory(prefix="pg", dir="/tmp") as folder:
        if os.getuid() == 0:
            shutil.chown(folder, USER)
        made = Server(where, Path(folder), free_port())
        secret = made.folder / "password"
        secret.write_text(PASSWORD)
        made.run("initdb", "-N", "-U", "journal", "-A", "scram-sha-256", f"--pwfile={secret}", "-E", "UTF8")
        made.start()
        try:
            yield made
        finally:
            made.stop()
