"""An MCP server for tests, made with the official SDK; run as a program, it speaks over its standard input and output."""

import asyncio
import os
import sys
from collections.abc import Sequence

from mcp.server.mcpserver import Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel

desk = MCPServer("desk")


class Place(BaseModel):
    """Something with fields."""

    name: str
    floor: int


@desk.tool()
def pid() -> str:
    """The id of this process."""
    return str(os.getpid())


@desk.tool()
async def gate(port: int, name: str) -> str:
    """Wait until the test says go on."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(f"{name}\n".encode())
        return (await reader.readline()).decode().strip() or "closed"
    finally:
        writer.close()


@desk.tool()
def show_environment(name: str) -> str:
    """One variable of the environment."""
    print(f"{name} is asked for", file=sys.stderr, flush=True)
    return os.environ.get(name, "not set")


@desk.tool()
def place() -> Place:
    """A place."""
    return Place(name="Köln", floor=3)


@desk.tool()
def picture() -> Sequence[str | Image]:
    """A picture, and what it shows."""
    return ["A dot.", Image(data=b"\x89PNG", format="png")]


@desk.tool(name="files.read")
def files_read(path: str) -> str:
    """Refuse."""
    raise ToolError(f"{path} cannot be read")


@desk.tool()
def crash() -> str:
    """End the process in the middle of a call."""
    print("the disk is full", file=sys.stderr, flush=True)
    os._exit(3)


if __name__ == "__main__":
    desk.run("stdio")
