"""MCP servers, run with the official SDK (extra `mcp`), which is loaded when the first of them starts."""
