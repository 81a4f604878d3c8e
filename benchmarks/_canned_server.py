"""A provider that answers at once: a tool call for each request, a text for every K-th. Prints its port."""

import asyncio
import json
import sys

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 20


def reply(message: dict[str, object], finish: str) -> bytes:
    """One whole HTTP answer."""
    body = json.dumps(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "canned",
            "choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
        }
    ).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


def answer(body: bytes) -> bytes:
    """A call with arguments of its own each time, until the history holds enough of them."""
    done = body.count(b'"role":"tool"')
    if done % ROUNDS == ROUNDS - 1:
        return reply({"content": "done"}, "stop")
    arguments = json.dumps({"number": done})
    call = {"id": f"call_{done}", "type": "function", "function": {"name": "double", "arguments": arguments}}
    return reply({"content": None, "tool_calls": [call]}, "tool_calls")


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer request after request on one connection."""
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
            writer.write(answer(await reader.readexactly(length)))
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main() -> None:
    """Serve until killed."""
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
