"""The agents of a fleet file, as `create_agent` makes them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from ...protocols.errors import FleetError, PresetInvalid
from ...protocols.limits import Limits, limit_of
from ...protocols.presets import ModelPreset
from ...protocols.secret import Secret
from ..agent import Agent, SpawnPolicy, create_agent
from ..errors import ToolInvalid
from ..tools.servers import McpHttp, McpServer, McpStdio
from .entries import Entries, names_of
from .errors import FleetFileInvalid
from .imports import Unusable, read_hooks, read_output, read_strategy, read_tool
from .presets import check_plain, check_variable, variable_in
from .problems import Keys, Problems
from .references import in_order
from .schema import AgentEntry, Environment, HttpServerEntry, SpawnsEntry, StdioServerEntry
from .source import read_source
from .wording import add_refusal, refusal

__all__ = ("AgentReader",)

T = TypeVar("T")


@dataclass
class AgentReader:
    """Makes the agents.

    Attributes:
        folder: Where the file lies.
        presets: Those that can work.
        environ: Where variables must be.
        problems: Gets what is wrong.
        made: The agents so far.
    """

    folder: Path
    presets: Mapping[str, ModelPreset]
    environ: Mapping[str, str]
    problems: Problems
    made: dict[str, Agent] = field(default_factory=dict[str, Agent])

    def read(self, entries: Entries) -> dict[str, Agent]:
        """All agents that can be made, by the names of their entries."""
        needs = {
            name: tuple(entry.spawns.kinds.values()) if entry.spawns else () for name, entry in entries.agents.items()
        }
        for name in in_order(needs, "spawns", self.problems):
            self._read_one(name, entries.agents[name], entries.agent_counts)
        return {name: self.made[name] for name in entries.agents if name in self.made}

    def _read_one(self, name: str, entry: AgentEntry, counts: Mapping[str, int]) -> None:
        here: Keys = ("agents", name)
        options: dict[str, Any] = {
            "instructions": self._instructions(entry, here),
            "tools": self._imported((*here, "tools"), entry.tools, read_tool),
            "hooks": self._imported((*here, "hooks"), entry.hooks, read_hooks),
            "output": self._imported_one((*here, "output"), entry.output, read_output),
            "servers": self._servers(entry, (*here, "servers")),
            "fallbacks": tuple(self.presets[each] for each in entry.fallbacks if each in self.presets),
            "spawns": None if entry.spawns is None else self._spawns(entry.spawns, (*here, "spawns")),
            "strategy": self._imported_one((*here, "strategy"), entry.strategy, read_strategy) or "",
            "limit": self._limit(entry.limit, (*here, "limit")),
            "config": entry.config,
            "memory": entry.memory,
            "run_timeout": entry.run_timeout,
            "plan": entry.plan,
            "description": entry.description,
            "restart": entry.restart,
            "peers": None if entry.peers is None else peers_of(name, entry.peers, counts),
        }
        preset = self.presets.get(entry.preset)
        if preset is None:
            return  # which was noted
        try:
            self.made[name] = create_agent(preset=preset, **options)
        except PresetInvalid as error:
            add_refusal(self.problems, here, error)
        except ToolInvalid as error:
            self.problems.add((*here, "tools"), str(error))

    def _instructions(self, entry: AgentEntry, here: Keys) -> str:
        """The system message, from wherever it is."""
        if entry.instructions_file is None:
            return entry.instructions
        keys = (*here, "instructions_file")
        if entry.instructions:
            self.problems.add(keys, "Give instructions or instructions_file, not both.")
        try:
            return read_source(self.folder / entry.instructions_file, entry.instructions_file)
        except FleetFileInvalid as error:
            told = (each.text for each in error.problems)
            self.problems.add(keys, f"{entry.instructions_file} cannot be used. {' '.join(told)}")
            return ""

    def _imported(self, here: Keys, paths: tuple[str, ...], read: Callable[[str], T]) -> tuple[T, ...]:
        found = (self._imported_one((*here, number), path, read) for number, path in enumerate(paths))
        return tuple(each for each in found if each is not None)

    def _imported_one(self, keys: Keys, path: str | None, read: Callable[[str], T]) -> T | None:
        try:
            return None if path is None else read(path)
        except Unusable as error:
            self.problems.add(keys, str(error))
            return None

    def _servers(self, entry: AgentEntry, here: Keys) -> tuple[McpServer, ...]:
        made: list[McpServer] = []
        for number, server in enumerate(entry.servers):
            keys = (*here, number)
            key, values = ("headers", server.headers) if isinstance(server, HttpServerEntry) else ("env", server.env)
            check_plain(values, (*keys, key), self.problems)
            for name, value in values.items():
                if variable := variable_in(value):
                    check_variable(variable, (*keys, key, name), self.environ, self.problems)
            try:
                made.append(server_of(server))
            except PresetInvalid as error:
                add_refusal(self.problems, keys, error)
        return tuple(made)

    def _spawns(self, entry: SpawnsEntry, here: Keys) -> SpawnPolicy | None:
        kinds = {kind: self.made[agent] for kind, agent in entry.kinds.items() if agent in self.made}
        if len(kinds) < len(entry.kinds):
            return None  # what is wrong with an agent was noted there
        try:
            return SpawnPolicy(
                kinds=kinds, depth=entry.depth, children=entry.children, live=entry.live, tokens=entry.tokens
            )
        except PresetInvalid as error:
            self.problems.add((*here, "kinds"), refusal(error))
            return None

    def _limit(self, given: Limits | int | None, keys: Keys) -> Limits | None:
        try:
            return limit_of(given)
        except FleetError as error:
            self.problems.add(keys, refusal(error))
            return None


def peers_of(name: str, peers: tuple[str, ...], counts: Mapping[str, int]) -> tuple[str, ...]:
    """The names that an entry's peers stand for; of those that are wrong, which was noted, none."""
    named = {entry: names_of(entry, count) for entry, count in counts.items()}
    live = {each for names in named.values() for each in names}
    found = (each for peer in peers for each in ((peer,) if peer in live else named.get(peer, ())))
    return tuple(each for each in found if named[name] != (each,))


def server_of(entry: StdioServerEntry | HttpServerEntry) -> McpServer:
    """An MCP server's description.

    Raises:
        PresetInvalid: A field cannot work.
    """
    common: dict[str, Any] = {"tools": entry.tools, "timeout": entry.timeout, "approval": entry.approval}
    if isinstance(entry, HttpServerEntry):
        return McpHttp(entry.name, entry.url, headers=values_of(entry.headers), **common)
    return McpStdio(entry.name, entry.command, args=entry.args, env=values_of(entry.env), cwd=entry.cwd, **common)


def values_of(given: Mapping[str, Environment | str]) -> dict[str, str | Secret]:
    """Values by name; those of the environment as secrets that are read where they are needed."""
    return {
        name: Secret.from_env(value.env) if isinstance(value, Environment) else value for name, value in given.items()
    }
