"""MCP servers of other makers, as npm has them; and servers on the network, bound to 127.0.0.1 alone."""

import asyncio
import os
import re
import shutil
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
NPM = HERE.parents[2] / "npm"
SERVERS = NPM / "node_modules" / "@modelcontextprotocol"
EVERYTHING = str(SERVERS / "server-everything" / "dist" / "index.js")
FILESYSTEM = str(SERVERS / "server-filesystem" / "dist" / "index.js")
LOOPBACK = str(NPM / "loopback.cjs")

needs_npm = pytest.mark.skipif(
    shutil.which("node") is None or not SERVERS.is_dir(),
    reason=f"there is no {'node' if shutil.which('node') is None else 'server: npm install --prefix tests/npm'}",
)


@asynccontextmanager
async def listening(*command: str, **env: str) -> AsyncGenerator[str]:
    """A server's program, ended at the end; gives the address it says that it listens at."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *command, env=os.environ | env, stderr=pipe, stdout=asyncio.subprocess.DEVNULL
    )
    assert process.stderr is not None
    try:
        async with asyncio.timeout(60):
            async for line in process.stderr:
                if port := re.search(rb"loopback port (\d+)|http://127\.0\.0\.1:(\d+)", line):
                    break
            else:
                raise AssertionError(f"{command} did not say where it listens")
        yield f"http://127.0.0.1:{(port[1] or port[2]).decode()}/mcp"
    finally:
        process.kill()
        await process.communicate()


def desk_at(port: int, key: str = "") -> tuple[str, ...]:
    """The command that has the tests' own server listen at a port; 0: at one that is free."""
    return sys.executable, str(HERE / "desk.py"), str(port), key
