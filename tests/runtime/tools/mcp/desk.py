"""An MCP server for tests, made with the official SDK; it speaks over its standard input and output,
or, run with a port and a key, over HTTP."""

import asyncio
import os
import sys
from collections.abc import Sequence
from typing import Any

import uvicorn
from mcp.server.mcpserver import Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel
from starlette.responses import Response

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


def serve(port: int, key: str) -> None:
    """Listen on 127.0.0.1, for those who know the key."""

    async def app(scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401  what ASGI passes
        given = dict(scope.get("headers", ())).get(b"x-key", b"").decode()
        if scope["type"] == "http" and given != key:
            await Response("no", 401)(scope, receive, send)
        else:
            await inner(scope, receive, send)

    inner = desk.streamable_http_app()
    uvicorn.run(app, host="127.0.0.1", port=port)


if __name__ == "__main__":
    match sys.argv[1:]:
        case [port, key] if port.isdigit():
            serve(int(port), key)
        case _:
            desk.run("stdio")
