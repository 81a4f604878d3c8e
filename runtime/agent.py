"""What an agent is before it lives: instructions, a model, tools, limits."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from textwrap import shorten
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, cast, overload

from ..protocols.errors import PresetInvalid
from ..protocols.limits import Limits, limit_of
from ..protocols.presets import ModelConfig, ModelPreset, Strict, ThinkingConfig
from ..protocols.restarts import Restart
from ..protocols.secret import Secret
from ..protocols.spawning import Allowance
from .agent_fields import check_tool_names, of, output_of, peers_of, sequence_of, tool_of
from .config import AmritaConfig
from .given import is_duration, is_name
from .hooks import Hooks, check_hook
from .step.compaction import CompactionRules
from .step.rules import Rules
from .strategy import load_strategy
from .tools.servers import McpHttp, McpServer, McpStdio, check_server_names
from .tools.spawn_agent import KindOffer
from .tools.tool import Tool
from .typed import OutputType

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ("Agent", "SpawnPolicy", "create_agent", "kind_of")

SEQUENCES: Mapping[str, tuple[type, ...]] = MappingProxyType(
    {
        "fallbacks": (ModelPreset,),
        "tools": (Tool, cast("type", Callable)),
        "servers": (McpStdio, McpHttp),
        "hooks": (Hooks,),
    }
)
"""Fields of an agent that have any number of values, and what each is."""

CHOICES = MappingProxyType(
    {"plan": ("never", "auto", "always"), "memory": ("agent", "run"), "restart": ("permanent", "temporary")}
)
"""Fields of an agent that have one of a few values."""

ELSEWHERE = "it belongs to the model: use preset=ModelPreset(...), where every protocol can be named."
"""What is said to who gives an agent a field of its preset."""

NO_TRANSIENT = (
    "Agent.restart must be 'permanent' or 'temporary', not 'transient': no agent ends by itself, so each death is "
    "abnormal, and a transient one would be permanent."
)
"""What is said to who knows the third of OTP's words."""

KINDS = MappingProxyType(
    {"preset": ModelPreset, "instructions": str, "config": AmritaConfig, "strategy": str, "description": str}
)
"""Fields of an agent that are taken in one form only."""

ABOUT = 200
"""Characters of its instructions that say what an agent without a description is for."""


@dataclass(frozen=True, kw_only=True)
class SpawnPolicy(Strict):
    """What an agent may spawn: the model chooses among kinds that a person has described, a name and a task.

    Attributes:
        kinds: Descriptions, by the names under which the model knows them. A child gets its task by mail.
        depth: Generations below the agent; 1: its children spawn nobody, whatever their own policy says.
        children: Agents that it may spawn in all its lives.
        live: Agents below it, in all generations, that may live at once.
        tokens: What all below it may spend together, each counted with its own limit while it lives; None: what it
            may spend itself, and the fleet, are the only limits.
    """

    kinds: "Mapping[str, Agent]"
    depth: int = 1
    children: int = 8
    live: int = 4
    tokens: int | None = None

    def __post_init__(self) -> None:
        """Refuse what could never spawn anybody.

        Raises:
            PresetInvalid: It names the field and what it must be.
        """
        check_kinds(self.kinds)
        object.__setattr__(self, "kinds", dict(self.kinds))
        for name in ("depth", "children", "live", "tokens"):
            number = getattr(self, name)
            if type(number) is not int or number < 1:  # a bool is none
                if name == "tokens" and number is None:
                    continue
                reason = f"SpawnPolicy.{name} must be a whole number of at least 1, not {number!r}."
                raise PresetInvalid(field=name, reason=reason)

    @property
    def allowance(self) -> Allowance:
        """The policy in numbers, as the Supervisor goes by it."""
        return Allowance(self.depth, self.children, self.live, self.tokens)

    @property
    def offers(self) -> Mapping[str, KindOffer]:
        """The kinds, as the model reads of them."""
        return {name: kind.offer for name, kind in self.kinds.items()}


@dataclass(frozen=True, kw_only=True)
class Agent(Strict):
    """An agent's description; spawned any number of times, under other names.

    `create_agent` makes one of what people have at hand: lists, functions as tools, a number as a limit. So does the
    constructor, but its types are those of the attributes, and a type checker knows no others.

    Attributes:
        preset: The model and how it is asked.
        fallbacks: Presets that take over for the rest of a run, one after the other, when the one before has failed.
        instructions: The system message.
        tools: What it may call, beside the built-in tools.
        servers: MCP servers whose tools it may call too.
        config: The numbers of its loop.
        limit: Its own limit; None: only those of its team and of the fleet.
        memory: Whether it remembers earlier runs.
        run_timeout: Seconds a run may take; None: any time.
        plan: Whether a task is made a plan first: `"never"`; `"always"`; or `"auto"`, which asks the model once whether
            the task is simple.
        output: What an answer must be, as a pydantic model; None: any text.
        hooks: The user's own code that has a say at Steps, tool calls and limits.
        strategy: Import path, as `module:name`, of an object that decides in the core's place; empty: none.
        spawns: What it may spawn, by the tool `spawn_agent`; None: nobody, and it has no such tool.
        description: What it is for, as agents read it that may spawn it; empty: the beginning of its instructions.
        restart: Whether another life follows when its process dies, in a fleet that has a journal: `"permanent"`, as
            often as the fleet's `RestartPolicy` allows; `"temporary"`: none.
        peers: Names of the agents that it may write to; None: everybody. It may write to its parent, to those below it
            and to whoever has written to it in any case.
    """

    hints = MappingProxyType(dict.fromkeys(("protocol", "model", "base_url", "api_key"), ELSEWHERE))

    preset: ModelPreset
    fallbacks: tuple[ModelPreset, ...] = ()
    instructions: str = ""
    tools: tuple[Tool, ...] = ()
    servers: tuple[McpServer, ...] = ()
    config: AmritaConfig = field(default_factory=AmritaConfig)
    limit: Limits | None = None
    memory: Literal["agent", "run"] = "agent"
    run_timeout: float | None = None
    plan: Literal["never", "auto", "always"] = "never"
    output: OutputType | None = None
    hooks: tuple[Hooks, ...] = ()
    strategy: str = ""
    spawns: SpawnPolicy | None = None
    description: str = ""
    restart: Restart = "permanent"
    peers: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        """Take values in the forms in which people have them, and refuse those that cannot work.

        Raises:
            PresetInvalid: It names the field and what it must be.
            ToolInvalid: A function cannot be a tool, or two tools would have one name.
        """
        if isinstance(cast("object", self.config), Mapping):
            self._set("config", of(AmritaConfig, "config", self.config))
        for name, kind in KINDS.items():
            self._need(name, f"of type {kind.__name__}", fits=isinstance(getattr(self, name), kind))
        if cast("object", self.restart) == "transient":
            raise PresetInvalid(field="restart", reason=NO_TRANSIENT)
        for name, choices in CHOICES.items():
            self._need(name, " or ".join(map(repr, choices)), fits=getattr(self, name) in choices)
        self._need("spawns", "a SpawnPolicy, or None", fits=isinstance(cast("object", self.spawns), SpawnPolicy | None))
        seconds = self.run_timeout
        self._need("run_timeout", "a number of seconds above 0, or None", fits=seconds is None or is_duration(seconds))
        self._set("limit", limit_of(self.limit))
        self._set("output", output_of(self.output))
        self._set("peers", peers_of(self.peers))
        for name, kinds in SEQUENCES.items():
            self._set(name, sequence_of(name, kinds, getattr(self, name)))
        self._set("tools", tuple(map(tool_of, self.tools)))
        check_tool_names(self.tools)
        for each in self.tools:
            _ = each.schema  # made here, so that what no schema can say is an error here
        check_server_names(self.servers)
        for hook in self.hooks:
            check_hook(hook)
        _ = self.rules  # made here, so that a strategy that cannot be loaded is an error here

    def __getstate__(self) -> dict[str, Any]:
        """What goes to another process: the fields; a strategy is loaded there."""
        return {name: value for name, value in self.__dict__.items() if name != "rules"}

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _need(self, name: str, what: str, *, fits: bool) -> None:
        if not fits:
            raise PresetInvalid(field=name, reason=f"Agent.{name} must be {what}, not {getattr(self, name)!r}.")

    @property
    def allowance(self) -> Allowance | None:
        """What it may spawn, in numbers; None: nobody."""
        return None if self.spawns is None else self.spawns.allowance

    @property
    def offer(self) -> KindOffer:
        """What is said of it to those who may spawn it."""
        about = self.description or shorten(self.instructions, ABOUT, placeholder="...")
        return KindOffer(about, self.limit, self.allowance, self.priced, self.unbounded, self.restart)

    @property
    def priced(self) -> bool:
        """Whether each of its presets says what its model costs."""
        return all(preset.price is not None for preset in (self.preset, *self.fallbacks))

    @property
    def unbounded(self) -> bool:
        """Whether one of its presets has a provider that may bill any number of tokens more than it is granted."""
        return any(preset.beside is None for preset in (self.preset, *self.fallbacks))

    @cached_property
    def rules(self) -> Rules:
        """What the Step core goes by: numbers, texts, and the strategy."""
        config, model, llm = self.config, self.preset.config, self.config.llm
        told = (self.instructions, "" if self.output is None else self.output.instruction)
        return Rules(
            rounds=config.function_config.agent_tool_call_limit,
            step_rounds=config.function_config.step_rounds,
            step_tokens=config.function_config.agent_step_token_budget,
            repeats=config.builtin.loop_reasoning_trigger,
            retries=llm.max_retries,
            retry_base=llm.retry_base,
            retry_cap=llm.retry_cap,
            patience=max(preset.config.timeout for preset in (self.preset, *self.fallbacks)),
            presets=1 + len(self.fallbacks),
            output=model.max_tokens,
            last_output=config.wind_down.output,
            last_seconds=config.wind_down.seconds,
            mail_bytes=config.mail.mail_bytes,
            memory=self.memory,
            instructions="\n\n".join(filter(None, told)),
            plan=self.plan,
            compaction=CompactionRules(
                threshold=llm.memory_abstract_threshold,
                window=llm.session_tokens_windows,
                messages=llm.memory_length_limit,
                strategy=llm.memory_strategy,
            ),
            strategy=load_strategy(self.strategy),
        )


def kind_of(agent: Agent, kind: str) -> Agent:
    """The description of a kind that an agent may spawn.

    Raises:
        LookupError: It may not.
    """
    if agent.spawns is None or kind not in agent.spawns.kinds:
        raise LookupError(f"there is no kind {kind!r} that it may spawn")
    return agent.spawns.kinds[kind]


ENDPOINT = ("base_url", "model", "api_key", "model_config", "thinking_config", "extra_body")
"""What `create_agent` takes in place of a preset."""


class AgentOptions(TypedDict, total=False):
    """What `create_agent` takes beside its model: the fields of `Agent`, in the forms in which people have them."""

    fallbacks: Iterable[ModelPreset]
    instructions: str
    tools: Iterable[Tool | Callable[..., Any]]
    servers: Iterable[McpServer]
    config: AmritaConfig | Mapping[str, Any]
    limit: Limits | int | None
    memory: Literal["agent", "run"]
    run_timeout: float | None
    plan: Literal["never", "auto", "always"]
    output: "type[BaseModel] | None"
    hooks: Iterable[Hooks]
    strategy: str
    spawns: SpawnPolicy | None
    description: str
    restart: Restart
    peers: Iterable[str] | None


@overload
def create_agent(*, preset: ModelPreset, **options: Unpack[AgentOptions]) -> Agent: ...


@overload
def create_agent(
    *,
    base_url: str,
    model: str,
    api_key: str | Secret = "",
    model_config: ModelConfig | Mapping[str, Any] | None = None,
    thinking_config: ThinkingConfig | Mapping[str, Any] | None = None,
    extra_body: Mapping[str, Any] | None = None,
    **options: Unpack[AgentOptions],
) -> Agent: ...


def create_agent(*, preset: ModelPreset | None = None, **options: Any) -> Agent:
    """Describe an agent: its model as a preset, or as an OpenAI-compatible endpoint by `base_url` and `model`.

    Args:
        preset: The model and how it is asked, in any protocol; the arguments up to `extra_body` then say nothing more.
        base_url: Where the wire format's paths begin, as in `http://localhost:11434/v1`.
        model: The provider's name of the model.
        api_key: The key; `env:NAME` reads it from the environment where the agent lives; `-` or nothing sends none.
        model_config: Fields of `ModelConfig`.
        thinking_config: Fields of `ThinkingConfig`.
        extra_body: Fields of one provider, put into each request's body.
        options: The fields of `Agent`: `instructions`, `tools`, `plan` and the others.

    Raises:
        PresetInvalid: A field is unknown, a value cannot work, or the model is named twice or not at all.
        ToolInvalid: A function cannot be a tool.
    """
    endpoint = {name: options.pop(name) for name in ENDPOINT if name in options}
    if preset is not None and endpoint:
        reason = f"create_agent takes preset=... or {', '.join(endpoint)}, not both: put what is asked into the preset."
        raise PresetInvalid(field="preset", reason=reason)
    return Agent(preset=endpoint_preset(**endpoint) if preset is None else preset, **options)


def endpoint_preset(
    *,
    base_url: str = "",
    model: str = "",
    api_key: str | Secret = "",
    model_config: ModelConfig | Mapping[str, Any] | None = None,
    thinking_config: ThinkingConfig | Mapping[str, Any] | None = None,
    extra_body: Mapping[str, Any] | None = None,
) -> ModelPreset:
    """A preset of an OpenAI-compatible endpoint; see `create_agent`."""
    if not model:
        reason = "create_agent needs a model: preset=ModelPreset(...), or base_url=... and model=..."
        raise PresetInvalid(field="model", reason=reason)
    return ModelPreset(
        model=model,
        base_url=base_url,
        api_key=Secret.read(api_key),
        config=of(ModelConfig, "model_config", model_config),
        thinking_config=of(ThinkingConfig, "thinking_config", thinking_config),
        extra_body=extra_body or {},
    )


def check_kinds(kinds: object) -> None:
    """Check that an agent can spawn each of the kinds.

    Raises:
        PresetInvalid: There is none, or one that has no usable name, is no description, or gets no task.
    """
    if not isinstance(kinds, Mapping) or not kinds:
        reason = "SpawnPolicy.kinds must map the name of each kind to its Agent(...), and have one at least."
        raise PresetInvalid(field="kinds", reason=reason)
    for name, kind in cast("Mapping[object, object]", kinds).items():
        where = f"kinds[{name!r}]"
        if not is_name(name):
            reason = f"{where}: a kind's name has 1 to 64 letters, digits, hyphens and underscores."
            raise PresetInvalid(field="kinds", reason=reason)
        if not isinstance(kind, Agent):
            raise PresetInvalid(field="kinds", reason=f"{where} must be an Agent(...), not {kind!r}.")
        if kind.config.mail.on_mail != "wake":
            reason = f"{where}: it gets its task by mail, so its config.mail.on_mail must be 'wake'."
            raise PresetInvalid(field="kinds", reason=reason)
