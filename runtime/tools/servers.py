"""MCP servers as sources of tools: how they are described, and what agents need of whoever runs them.

Nothing here loads the MCP SDK: it runs where the servers are kept, not where agents live.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, cast
from urllib.parse import urlsplit

from ...protocols.errors import PresetInvalid
from ...protocols.ids import AgentId, Incarnation
from ...protocols.messages import Json
from ...protocols.providers.base import ToolSchema
from ...protocols.secret import Secret
from ...protocols.strict import Strict
from .output import ToolOutput

__all__ = ("Holder", "McpHttp", "McpServer", "McpStdio", "ToolServers", "check_server_names")

NAME = re.compile(r"[A-Za-z0-9_-]{1,32}")

ENVIRONMENT = "env:"
"""What the text of a value begins with that is read from the environment."""

Values: TypeAlias = Mapping[str, str | Secret]


@dataclass(frozen=True)
class Served(Strict):
    """What every MCP server has.

    Attributes:
        name: What it is called in errors, and put before the name of a tool that another one has too.
        tools: Names of the only tools to take from it; None: all.
        timeout: Seconds that starting it, or one call, may take.
        approval: A call of any of its tools runs only once a person has allowed it.
    """

    name: str
    tools: Sequence[str] | None = field(default=None, kw_only=True)
    timeout: float = field(default=60.0, kw_only=True)
    approval: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        """Refuse what no server could have.

        Raises:
            PresetInvalid: It names the field and what it must be.
        """
        name, tools, seconds = cast("object", self.name), cast("object", self.tools), cast("object", self.timeout)
        self._need("name", "1 to 32 letters, digits, _ or -", fits=isinstance(name, str) and NAME.fullmatch(name))
        self._need("tools", "names of tools, or None", fits=tools is None or texts(tools))
        if self.tools is not None:
            self._set("tools", tuple(self.tools))
        timed = isinstance(seconds, int | float) and not isinstance(seconds, bool) and seconds > 0
        self._need("timeout", "a number of seconds above 0", fits=timed)
        self._need("approval", "True or False", fits=isinstance(cast("object", self.approval), bool))

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _need(self, name: str, what: str, *, fits: object, shown: bool = True) -> None:
        if not fits:
            given = f", not {getattr(self, name)!r}" if shown else ""
            raise PresetInvalid(field=name, reason=f"{type(self).__name__}.{name} must be {what}{given}.")

    def _read_values(self, name: str) -> None:
        """Take a field's values: texts, secrets, and `env:NAME` for one that is read where the server runs."""
        given: object = getattr(self, name)
        self._need(name, "texts or Secrets by name", fits=isinstance(given, Mapping), shown=False)
        values = dict(cast("Mapping[object, object]", given))
        fits = all(isinstance(key, str) and isinstance(value, str | Secret) for key, value in values.items())
        self._need(name, "texts or Secrets by name", fits=fits, shown=False)
        self._set(name, {key: secret(value) for key, value in values.items()})


@dataclass(frozen=True)
class McpStdio(Served):
    """An MCP server that is a program, spoken to over its standard input and output.

    It gets HOME, LOGNAME, PATH, SHELL, TERM and USER of the process that starts it, and `env`; nothing else.

    Attributes:
        command: The program.
        args: Its arguments.
        env: More environment variables; `"env:NAME"` is the value of NAME on the node where the server runs.
        cwd: The folder it runs in; None: that of the process that starts it.
    """

    command: str
    args: Sequence[str] = ()
    env: Values = field(default_factory=dict[str, str | Secret], hash=False, repr=False)
    cwd: str | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be started.

        Raises:
            PresetInvalid: It names the field and what it must be.
        """
        super().__post_init__()
        command, cwd = cast("object", self.command), cast("object", self.cwd)
        self._need("command", "the name or path of a program", fits=isinstance(command, str) and command.strip())
        self._need("args", "a sequence of texts", fits=texts(self.args))
        self._set("args", tuple(self.args))
        self._need("cwd", "the path of a folder, or None", fits=cwd is None or (isinstance(cwd, str) and cwd))
        self._read_values("env")


@dataclass(frozen=True)
class McpHttp(Served):
    """An MCP server on the network, spoken to over streamable HTTP.

    Attributes:
        url: Its address, as in `https://example.org/mcp`.
        headers: Sent with each request; `"env:NAME"` is the value of NAME on the node where the agent lives.
    """

    url: str
    headers: Values = field(default_factory=dict[str, str | Secret], hash=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse what no request can be sent to.

        Raises:
            PresetInvalid: It names the field and what it must be.
        """
        super().__post_init__()
        self._need("url", "an address that begins with http:// or https://", fits=is_address(self.url))
        secure = "@" not in urlsplit(self.url).netloc
        self._need("url", "an address without a password: put it into `headers`", fits=secure, shown=False)
        self._read_values("headers")


McpServer: TypeAlias = McpStdio | McpHttp

Holder: TypeAlias = tuple[AgentId, Incarnation]
"""One life of an agent, as long as which its servers are kept running."""


class ToolServers(Protocol):
    """Who runs the MCP servers for the agents of one node: each server once, while some life holds it."""

    async def acquire(self, holder: Holder, server: McpServer) -> tuple[ToolSchema, ...]:
        """Hold a server, which starts it unless it runs, and give its tools under its own names for them.

        Raises:
            ToolServerFailed: It cannot be started, does not answer in time, or lacks a tool that was asked for.
        """
        ...

    async def call(self, holder: Holder, server: McpServer, tool: str, arguments: Mapping[str, Json]) -> ToolOutput:
        """Call a tool, by its server's own name. A server that has ended is started again; no call runs twice.

        Whatever goes wrong with the server is a failed output.
        """
        ...

    async def release(self, holder: Holder) -> None:
        """Let go of all that this life holds; servers that nobody holds any more end. Safe to call twice."""
        ...


def check_server_names(servers: Iterable[McpServer]) -> None:
    """Check that the servers of one agent can be told from each other.

    Raises:
        PresetInvalid: Two have one name.
    """
    taken = set[str]()
    for place, each in enumerate(servers):
        if each.name in taken:
            reason = f"Agent.servers[{place}] must have a name of its own: {each.name!r} is taken."
            raise PresetInvalid(field="servers", reason=reason)
        taken.add(each.name)


def texts(value: object) -> bool:
    """Whether it is a list or tuple of texts."""
    return isinstance(value, list | tuple) and all(isinstance(each, str) for each in cast("list[object]", value))


def secret(value: object) -> str | Secret:
    """A value as it is, or the secret that `env:NAME` names."""
    return Secret.read(value) if isinstance(value, str) and value.startswith(ENVIRONMENT) else cast("str", value)


def is_address(value: object) -> bool:
    """Whether requests can be sent to it."""
    if not isinstance(value, str):
        return False
    try:
        parts = urlsplit(value)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)
