"""The tools of one agent, by name."""

import inspect
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches

from ...protocols.providers.base import ToolSchema
from ..config import AmritaConfig
from ..errors import ToolInvalid
from .output import ToolOutput
from .parameters import Function
from .tool import Tool, tool

__all__ = ("Toolbox",)


class Toolbox(Mapping[str, Tool]):
    """The tools that one agent has, in the order given. It never changes."""

    def __init__(self, tools: Iterable[Tool | Function], config: AmritaConfig) -> None:
        """Take those tools that are enabled under `config`; a plain function is made a tool.

        Raises:
            ToolInvalid: Two tools share a name, or a function cannot be a tool.
        """
        self._tools: dict[str, Tool] = {}
        for one in tools:
            each = one if isinstance(one, Tool) else tool(one)
            if each.name in self._tools:
                raise ToolInvalid(tool=each.name, reason="two tools of one agent have this name")
            if enabled(each, config):
                self._tools[each.name] = each
        self._schemas = tuple(each.schema for each in self._tools.values())

    def __getitem__(self, name: str) -> Tool:
        """The tool of that name."""
        return self._tools[name]

    def __iter__(self) -> Iterator[str]:
        """Names, in the order given."""
        return iter(self._tools)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._tools)

    def schemas(self) -> tuple[ToolSchema, ...]:
        """The tools as a model sees them, always in the same order, so that providers' prompt caches hold."""
        return self._schemas

    def missing(self, name: str) -> ToolOutput:
        """What a model reads that called a tool which is not here."""
        near = get_close_matches(name, self, n=3)
        advice = f" Near: {', '.join(near)}." if near else f" There are: {', '.join(self) or 'none'}."
        return ToolOutput.failure(f"There is no tool named {name!r}.{advice}")


def enabled(each: Tool, config: AmritaConfig) -> bool:
    """Whether the tool's own condition lets an agent with `config` have it."""
    condition = each.enable_if
    if condition is None:
        return True
    # A condition without a parameter reads `get_config()`.
    return bool(condition(config) if inspect.signature(condition).parameters else condition())
