"""What may stand in a fleet file. These models are the JSON Schema too.

Keys have the names that `Fleet`, `Fleet.spawn`, `create_agent`, `ModelPreset` and the policies give their arguments.
What the Python API takes as an object stands here as a name (presets, kinds) or as an import path (tools, hooks).
"""

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Discriminator, Field, JsonValue, Tag

from ...protocols.limits import Limits
from ...protocols.presets import ModelConfig, ThinkingConfig
from ...protocols.prices import Price
from ...protocols.restarts import RestartPolicy
from ..config import AmritaConfig
from ..supervision.finding import Trouble
from ..supervision.policy import Rung

__all__ = (
    "HINTS",
    "IMPORT_PATTERN",
    "MOST_AGENTS",
    "TAGS",
    "AgentEntry",
    "Environment",
    "FleetEntry",
    "HttpServerEntry",
    "PresetEntry",
    "Root",
    "SpawnsEntry",
    "StdioServerEntry",
    "TaskEntry",
    "WatchEntry",
)

NUMBER, LIMITS, TEXT, VARIABLE, FACTS, STDIO, HTTP = TAGS = (
    "<number>",
    "<limits>",
    "<text>",
    "<variable>",
    "<facts>",
    "<stdio>",
    "<http>",
)
"""What forms of a value are called inside pydantic: no key is called so."""

MOST_AGENTS = 10_000
"""The most agents of one entry."""

HINTS = {
    "service": "`run` ends its fleet: for one that goes on, call Fleet(service=True) from Python",
    "system": "where a fleet runs is said when it is run: amrita-fleet run FILE --system local",
    "address": "where a fleet runs is said when it is run: by RAY_ADDRESS in the environment",
    "model": "it belongs to a preset: name that by `preset`",
    "base_url": "it belongs to a preset: name that by `preset`",
    "api_key": "it belongs to a preset: name that by `preset`",
    "protocol": "it belongs to a preset: name that by `preset`",
    "model_config": "in a preset it is named config",
    "thinking": "in a preset it is named thinking_config",
    "timeout": "a run's time is named run_timeout for an agent, time_limit for a task; a model call's, config.timeout",
}
"""Keys that people look for where there is none of that name, and what there is instead."""


class Entry(BaseModel):
    """Part of a fleet file; an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


def form_of_limit(given: object) -> str:
    """Which form of a limit is meant."""
    return LIMITS if isinstance(given, dict | Limits) else NUMBER


def form_of_value(given: object) -> str:
    """Which form of a value that may be a secret is meant."""
    return VARIABLE if isinstance(given, dict | Environment) else TEXT


def form_of_profile(given: object) -> str:
    """Which form of a profile is meant."""
    return FACTS if isinstance(given, dict) else TEXT


def form_of_server(given: object) -> str:
    """Which kind of server is meant."""
    http = "url" in given if isinstance(given, dict) else isinstance(given, HttpServerEntry)
    return HTTP if http else STDIO


class Environment(Entry):
    """A value that is read from the environment."""

    env: str = Field(min_length=1)
    """The variable's name."""


Limit: TypeAlias = Annotated[
    Annotated[Annotated[int, Field(ge=1, description="So many tokens.")], Tag(NUMBER)] | Annotated[Limits, Tag(LIMITS)],
    Discriminator(form_of_limit),
]
"""A number is one of so many tokens."""

Name: TypeAlias = Annotated[str, Field(min_length=1)]

IMPORT_PATTERN = r"^\w+(\.\w+)*:\w+(\.\w+)*$"

ImportPath: TypeAlias = Annotated[str, Field(json_schema_extra={"pattern": IMPORT_PATTERN})]
"""`module:name`; modules are looked for in the file's folder first. Whoever imports it checks its form: so one that is
wrong hides nothing of the others."""

Value: TypeAlias = Annotated[
    Annotated[str, Tag(TEXT)] | Annotated[Environment, Tag(VARIABLE)], Discriminator(form_of_value)
]

KeyText: TypeAlias = Annotated[str, Field(pattern=r"^(env:.+|-)$")]

Key: TypeAlias = Annotated[
    Annotated[KeyText, Tag(TEXT)] | Annotated[Environment, Tag(VARIABLE)], Discriminator(form_of_value)
]
"""Never the key itself: files are shared."""


Profile: TypeAlias = Annotated[
    Annotated[str, Tag(TEXT)] | Annotated[dict[str, JsonValue], Tag(FACTS)], Discriminator(form_of_profile)
]


class PresetEntry(Entry):
    """A model at a provider: the arguments of `ModelPreset`."""

    model: Name
    """The provider's name of the model."""
    base_url: str = ""
    """Where the wire format's paths begin, as in https://host/v1; only Anthropic's may be left out."""
    api_key: Key | None = None
    """The variable that holds the key, as in {env: OPENAI_API_KEY}; - or nothing sends none."""
    protocol: str = "openai"
    """How the provider is spoken to: openai or anthropic."""
    config: ModelConfig = ModelConfig()
    """How the model is asked."""
    thinking_config: ThinkingConfig = ThinkingConfig()
    """Whether it thinks."""
    extra_body: dict[str, JsonValue] = {}
    """Fields of one provider, put into each request's body."""
    extra_headers: dict[str, str] = {}
    """Headers added to each request. A key does not belong here: it would stand in the file."""
    profile: Profile = ""
    """The provider's family by name, or facts about it that differ; known by address and model if left out."""
    price: Price | None = None
    """What its tokens cost, for limits in dollars."""


class ServerEntry(Entry):
    """What every MCP server has."""

    name: Name
    """What it is called, and what is put before the name of a tool that another one has too."""
    tools: tuple[str, ...] | None = None
    """Names of the only tools to take from it; all if left out."""
    timeout: float = 60.0
    """Seconds that starting it, or one call, may take."""
    approval: bool = False
    """A call of any of its tools runs only once a person has allowed it."""


class StdioServerEntry(ServerEntry):
    """An MCP server that is a program: the arguments of `McpStdio`."""

    command: Name
    """The program."""
    args: tuple[str, ...] = ()
    """Its arguments."""
    env: dict[str, Value] = {}
    """Environment variables that it gets beside a few of its starter's; {env: NAME} passes one on."""
    cwd: str | None = None
    """The folder it runs in."""


class HttpServerEntry(ServerEntry):
    """An MCP server on the network: the arguments of `McpHttp`."""

    url: Name
    """Its address, as in https://example.org/mcp."""
    headers: dict[str, Value] = {}
    """Sent with each request; {env: NAME} is the value of that variable where the agent lives."""


Server: TypeAlias = Annotated[
    Annotated[StdioServerEntry, Tag(STDIO)] | Annotated[HttpServerEntry, Tag(HTTP)], Discriminator(form_of_server)
]


class SpawnsEntry(Entry):
    """What an agent may spawn by itself: the arguments of `SpawnPolicy`."""

    kinds: dict[str, Name] = Field(min_length=1)
    """What the model may choose among: its own names for kinds, each with the agent of this file that it is like."""
    depth: int = Field(default=1, ge=1)
    """Generations below the agent."""
    children: int = Field(default=8, ge=1)
    """Agents that it may spawn in all its lives."""
    live: int = Field(default=4, ge=1)
    """Agents below it that may live at once."""
    tokens: int | None = Field(default=None, ge=1)
    """What all below it may spend together."""


class AgentEntry(Entry):
    """An agent: the arguments of `create_agent` and of `Fleet.spawn`."""

    preset: Name
    """The preset of its model, by its name in `presets`."""
    fallbacks: tuple[str, ...] = ()
    """Presets that take over for the rest of a run, one after the other, when the one before has failed."""
    instructions: str = ""
    """The system message."""
    instructions_file: Name | None = None
    """A text file that holds the system message, relative to the fleet file's folder."""
    tools: tuple[ImportPath, ...] = ()
    """What it may call: import paths, as in mytools:word_count, of functions under @tool."""
    servers: tuple[Server, ...] = ()
    """MCP servers whose tools it may call too."""
    config: AmritaConfig = AmritaConfig()
    """The numbers of its loop."""
    limit: Limit | None = None
    """Its own limit, in tokens or in several units."""
    memory: Literal["agent", "run"] = "agent"
    """Whether it remembers earlier runs."""
    run_timeout: float | None = Field(default=None, gt=0)
    """Seconds a run may take."""
    plan: Literal["never", "auto", "always"] = "never"
    """Whether a task is made a plan first."""
    output: ImportPath | None = None
    """The import path of the pydantic model that its answers must fit."""
    hooks: tuple[ImportPath, ...] = ()
    """Import paths of Hooks: classes, which are called without arguments, or objects."""
    strategy: ImportPath | None = None
    """The import path of an object that decides in the core's place."""
    spawns: SpawnsEntry | None = None
    """What it may spawn by itself."""
    description: str = ""
    """What it is for, as agents read it that may spawn it."""
    peers: tuple[Name, ...] | None = None
    """The agents that it may write to: by their own names, or by the name of an entry for all of it; everybody if left
    out, and nobody but its parent, those below it and who writes to it if empty."""
    restart: Literal["permanent", "temporary"] = "permanent"
    """Whether another life follows when its process dies, in a fleet that has a journal."""
    count: int = Field(default=1, ge=0, le=MOST_AGENTS)
    """How many there are. From 2 on they are named NAME-1, NAME-2, ...; 0: it is only a kind that others spawn."""
    team: str = ""
    """The team it belongs to, one of `fleet.teams`."""
    parent: Name | None = None
    """The agent that is told by mail when it ends badly, and whose stop stops it."""


class DeadlinesEntry(Entry):
    """How long and how often is too much: the arguments of `Deadlines`."""

    loop: float | None = None
    """Seconds the loop of an agent may not answer while its process does."""
    process: float | None = None
    """Seconds its process may not answer."""
    model: float | None = None
    """Seconds of one attempt of a model call."""
    tool: float | None = None
    """Seconds a tool call may give no sign of life."""
    between: float | None = None
    """Seconds between two pieces of work."""
    call_rounds: int | None = None
    """Times the same calls come round with the same results."""
    message_rounds: int | None = None
    """Times the same messages go round between agents."""
    message_gap: float | None = None
    """Seconds between a message and the one it led to."""
    failing_agents: int | None = None
    """Agents for which the same call fails."""
    failing_within: float | None = None
    """Seconds in which they do."""


class StageEntry(Entry):
    """One rung of a course: the arguments of `Stage`."""

    rung: Rung
    """What is done."""
    seconds: float = Field(default=0.0, ge=0)
    """Seconds it is given to help before the next rung."""


class CourseEntry(Entry):
    """What is done about one kind of trouble: the arguments of `Course`."""

    stages: tuple[StageEntry, ...]
    """In order; none: nothing is done."""
    calm: float = Field(default=0.0, ge=0)
    """Seconds without the trouble after which it begins at the first rung again."""


class WatchEntry(Entry):
    """What the watch calls trouble, and what it does about it: the arguments of `WatchPolicy`."""

    deadlines: DeadlinesEntry = DeadlinesEntry()
    """How long and how often is too much; what is left out is as by default."""
    courses: dict[Trouble, CourseEntry] = {}
    """What is done, by the kind of trouble; what is left out is as by default."""
    kills: int = Field(default=3, ge=0)
    """How often one agent is killed within kill_seconds; then it is quarantined instead."""
    kill_seconds: float = Field(default=3600.0, gt=0)
    """Seconds in which they count."""
    period: float = Field(default=3.0, gt=0)
    """Seconds between two looks."""


class FleetEntry(Entry):
    """The fleet: the arguments of `Fleet` that are facts of the fleet, not of where it runs."""

    name: Name | None = None
    """The fleet's name; a new one each time if left out."""
    limit: Limit | None = None
    """The most that all agents together may spend, in tokens or in several units."""
    teams: dict[str, Limit | None] = {}
    """Names of teams, each with the most that all agents in it may spend."""
    journal: Value | None = None
    """Where everything is written that another process needs to go on: a file, relative to this one's folder, a
    postgresql:// address, or {env: NAME}."""
    restarts: RestartPolicy | None = None
    """How often an agent whose process died may be restarted."""
    watch: WatchEntry | None = None
    """What is done about agents that hang, loop or write in circles."""


class TaskEntry(Entry):
    """A task for an agent: the arguments of `AgentRef.start`."""

    agent: Name
    """Who is asked; of several alike one by its own name, as in bob-2."""
    task: str = Field(min_length=1)
    """What it shall do."""
    time_limit: float | None = Field(default=None, gt=0)
    """Seconds the run may take."""
    limit: Limit | None = None
    """The most that the run may spend."""


class Root(Entry):
    """A fleet file."""

    fleet: FleetEntry = FleetEntry()
    """The fleet as a whole."""
    presets: dict[str, PresetEntry] = {}
    """Models at providers, by the names that agents use."""
    agents: dict[str, AgentEntry] = Field(min_length=1)
    """Agents by name."""
    tasks: tuple[TaskEntry, ...] = ()
    """What is asked of them, in order; tasks of one agent wait for their turn."""
