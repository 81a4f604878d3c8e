"""A pool of servers, and servers that no other test has."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest

from amrita_fleet import McpStdio
from amrita_fleet.runtime.tools.mcp.pool import ServerPool

DESK = Path(__file__).with_name("desk.py")


@pytest.fixture
async def pool() -> AsyncIterator[ServerPool]:
    pool = ServerPool()
    yield pool
    await pool.aclose()


@pytest.fixture
def desk() -> McpStdio:
    return McpStdio("desk", sys.executable, (str(DESK), uuid4().hex))
