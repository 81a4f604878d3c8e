"""What an agent is before it lives: instructions, a model, tools, limits."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, Unpack, cast, overload

from ..protocols.errors import PresetInvalid
from ..protocols.limits import Limits, limit_of
from ..protocols.presets import ModelConfig, ModelPreset, Strict, ThinkingConfig
from ..protocols.restarts import Restart
from ..protocols.secret import Secret
from .config import AmritaConfig
from .errors import ToolInvalid
from .given import is_duration
from .hooks import Hooks, check_hook
from .step.compaction import CompactionRules
from .step.rules import Rules
from .strategy import load_strategy
from .tools.builtin import BUILTIN
from .tools.servers import McpHttp, McpServer, McpStdio, check_server_names
from .tools.tool import Tool, tool
from .typed import OutputType

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ("Agent", "create_agent")

T = TypeVar("T", bound=Strict)

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

KINDS = MappingProxyType({"preset": ModelPreset, "instructions": str, "config": AmritaConfig, "strategy": str})
"""Fields of an agent that are taken in one form only."""


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
        restart: Whether another life follows when its process dies, in a fleet that has a journal: `"permanent"`, as
            often as the fleet's `RestartPolicy` allows; `"temporary"`: none.
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
    restart: Restart = "permanent"

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
        seconds = self.run_timeout
        self._need("run_timeout", "a number of seconds above 0, or None", fits=seconds is None or is_duration(seconds))
        self._set("limit", limit_of(self.limit))
        self._set("output", output_of(self.output))
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
    restart: Restart


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


def sequence_of(field: str, kinds: tuple[type, ...], given: object) -> tuple[object, ...]:
    """The values of a field of `Agent` that takes several, each of one of the kinds.

    Raises:
        PresetInvalid: It is no sequence of such values.
    """
    what = " or ".join(kind.__name__ for kind in kinds)
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        reason = f"Agent.{field} must be a list, not {given!r}: each of its values is a {what}."
        raise PresetInvalid(field=field, reason=reason)
    values = tuple(cast("Iterable[object]", given))
    for place, each in enumerate(values):
        if not isinstance(each, kinds):
            raise PresetInvalid(field=field, reason=f"Agent.{field}[{place}] must be a {what}, not {each!r}.")
    return values


def output_of(given: "OutputType | type[BaseModel] | None") -> OutputType | None:
    """An output type as it is, or one made of a pydantic model.

    Raises:
        PresetInvalid: It is no such model, or no JSON object becomes one.
    """
    return given if given is None or isinstance(given, OutputType) else OutputType(given)


def tool_of(given: Tool | Callable[..., Any]) -> Tool:
    """A tool as it is, or one made of a function.

    Raises:
        ToolInvalid: The function cannot be a tool.
    """
    return given if isinstance(given, Tool) else tool(given)


def check_tool_names(tools: Iterable[Tool]) -> None:
    """Check that a model can tell the tools of one agent from each other and from the built-in ones.

    Raises:
        ToolInvalid: A name is taken.
    """
    taken = {each.name: "it is a built-in tool's name: choose another" for each in BUILTIN}
    for each in tools:
        if each.name in taken:
            raise ToolInvalid(tool=each.name, reason=taken[each.name])
        taken[each.name] = "two tools of one agent have this name"


def of(cls: type[T], field: str, given: T | Mapping[str, Any] | None) -> T:
    """The value itself, one read from a mapping, or the default one.

    Raises:
        PresetInvalid: It is none of these.
    """
    if isinstance(given, cls):
        return given
    if given is None or isinstance(given, Mapping):
        return cls.parse(given or {})
    raise PresetInvalid(
        field=field, reason=f"{field} must be {cls.__name__}(...) or its fields by name, not {given!r}."
    )
