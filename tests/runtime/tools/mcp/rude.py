"""An MCP server for tests that answers a call with whatever text it is told to, and listens to no SDK."""

import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    number, params = message.get("id"), message.get("params", {})
    if message["method"] == "initialize":
        about = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}}
        result = {**about, "serverInfo": {"name": "rude", "version": "1"}}
    elif message["method"] == "tools/list":
        result = {"tools": [{"name": "say", "inputSchema": {"type": "object"}}]}
    elif message["method"] == "tools/call":
        words = params["arguments"]
        print(f"{words.get('noise', '')}\n" * words.get("times", 0), end="")
        print(words["text"].replace("NUMBER", str(number)), flush=True)
        continue
    elif number is None:
        continue
    else:
        error = {"code": -32601, "message": "Method not found"}
        print(json.dumps({"jsonrpc": "2.0", "id": number, "error": error}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": number, "result": result}), flush=True)
