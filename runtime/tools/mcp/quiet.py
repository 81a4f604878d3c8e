"""What the MCP SDK logs of our servers: the first lines; of a server that floods the log, how many more there were."""

import logging
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ("quieted",)

LOGGERS = ("client", "mcp.client.stdio", "mcp.client.streamable_http")
"""The SDK's, which speak of what a server sends."""

KEPT = 3
"""Lines about one connection that are let through."""

log = logging.getLogger(__name__)


class Lines(logging.Filter):
    """Counts the lines that are logged for one connection. Those of others are none of its business."""

    def __init__(self) -> None:
        """Begin at none."""
        super().__init__()
        self.count = 0

    def filter(self, record: logging.LogRecord) -> bool:  # noqa: ARG002
        """Whether a line is let through."""
        if LINES.get() is not self:
            return True
        self.count += 1
        return self.count <= KEPT


LINES: ContextVar[Lines | None] = ContextVar("LINES", default=None)
"""Whose lines they are: all tasks that a connection begins inherit it."""


@contextmanager
def quieted(server: str) -> Generator[None, None, None]:
    """Let the SDK log no more than a few lines in what is begun within."""
    lines = Lines()
    loggers = [logging.getLogger(name) for name in LOGGERS]
    token = LINES.set(lines)
    for each in loggers:
        each.addFilter(lines)
    try:
        yield
    finally:
        for each in loggers:
            each.removeFilter(lines)
        LINES.reset(token)
        if lines.count > KEPT:
            log.warning("Of the MCP server %s the SDK would have logged %d more lines.", server, lines.count - KEPT)
