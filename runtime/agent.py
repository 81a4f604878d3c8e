"""What an agent is before it lives: instructions, a model, tools, limits."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, Unpack, cast

from ..protocols.errors import PresetInvalid
from ..protocols.presets import ModelConfig, ModelPreset, Strict, ThinkingConfig
from ..protocols.secret import Secret
from .config import AmritaConfig
from .errors import ToolInvalid
from .hooks import Hooks
from .step.compaction import CompactionRules
from .step.rules import Rules
from .strategy import load_strategy
from .tools.builtin import BUILTIN
from .tools.servers import McpServer, read_servers
from .tools.tool import Tool, tool
from .typed import OutputType

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ("Agent", "TokenLimit", "create_agent", "limit_of")

T = TypeVar("T", bound=Strict)

MEMORIES = ("agent", "run")
PLANS = ("never", "auto", "always")

ELSEWHERE = "it belongs to the model: use Agent(preset=ModelPreset(...)), where every protocol can be named."
"""What is said to who gives an agent a field of its preset."""

KINDS = MappingProxyType({"preset": ModelPreset, "instructions": str, "config": AmritaConfig, "strategy": str})
"""Fields of an agent that are taken in one form only."""


@dataclass(frozen=True, kw_only=True)
class TokenLimit(Strict):
    """A hard limit in tokens, prompt and completion together, retries included."""

    tokens: int

    def __post_init__(self) -> None:
        """Refuse a limit that is none."""
        if type(self.tokens) is not int:  # a bool is none
            raise PresetInvalid(field="tokens", reason=f"TokenLimit.tokens must be whole, not {self.tokens!r}.")
        if self.tokens < 1:
            raise PresetInvalid(field="tokens", reason="TokenLimit.tokens must be at least 1.")


def limit_of(given: TokenLimit | int | None) -> TokenLimit | None:
    """A limit as it is, or one of so many tokens.

    Raises:
        PresetInvalid: It is below 1, or no whole number.
    """
    return given if given is None or isinstance(given, TokenLimit) else TokenLimit(tokens=given)


@dataclass(frozen=True, kw_only=True)
class Agent(Strict):
    """An agent's description; spawned any number of times, under other names.

    Lists are taken where tuples are meant, functions where tools are, and a number where a limit is.

    Attributes:
        preset: The model and how it is asked.
        fallbacks: Presets that take over for the rest of a run, one after the other, when the one before has failed.
        instructions: The system message.
        tools: What it may call, beside the built-in tools.
        servers: MCP servers whose tools it may call too.
        config: The numbers of its loop.
        limit: Its own token limit; None: only the fleet's.
        memory: Whether it remembers earlier runs.
        run_timeout: Seconds a run may take; None: any time.
        plan: Whether a task is made a plan first: `"never"`; `"always"`; or `"auto"`, which asks the model once whether
            the task is simple.
        output: What an answer must be, as a pydantic model; None: any text.
        hooks: The user's own code that has a say at Steps, tool calls and limits.
        strategy: Import path, as `module:name`, of an object that decides in the core's place; empty: none.
    """

    hints = MappingProxyType(dict.fromkeys(("protocol", "model", "base_url", "api_key"), ELSEWHERE))

    preset: ModelPreset
    fallbacks: tuple[ModelPreset, ...] = ()
    instructions: str = ""
    tools: tuple[Tool, ...] = ()
    servers: tuple[McpServer, ...] = ()
    config: AmritaConfig = field(default_factory=AmritaConfig)
    limit: TokenLimit | None = None
    memory: Literal["agent", "run"] = "agent"
    run_timeout: float | None = None
    plan: Literal["never", "auto", "always"] = "never"
    output: OutputType | None = None
    hooks: tuple[Hooks, ...] = ()
    strategy: str = ""

    def __post_init__(self) -> None:
        """Take values in the forms in which people have them, and refuse those that cannot work.

        Raises:
            PresetInvalid: It names the field and what it must be.
            ToolInvalid: A function cannot be a tool, or two tools would have one name.
        """
        self._set("limit", limit_of(self.limit))
        self._set("fallbacks", tuple(self.fallbacks))
        self._set("hooks", tuple(self.hooks))
        self._set("output", output_of(self.output))
        self._set("tools", tuple(tool_of(each, place) for place, each in enumerate(self.tools)))
        for name, kind in KINDS.items():
            self._need(name, f"of type {kind.__name__}", fits=isinstance(getattr(self, name), kind))
        fallbacks = cast("tuple[object, ...]", self.fallbacks)
        self._need("fallbacks", "ModelPresets", fits=all(isinstance(each, ModelPreset) for each in fallbacks))
        self._need(
            "hooks", "Hooks", fits=all(isinstance(each, Hooks) for each in cast("tuple[object, ...]", self.hooks))
        )
        self._need("plan", " or ".join(map(repr, PLANS)), fits=self.plan in PLANS)
        load_strategy(self.strategy)
        self._need("memory", " or ".join(map(repr, MEMORIES)), fits=self.memory in MEMORIES)
        seconds = self.run_timeout
        timed = isinstance(seconds, int | float) and not isinstance(seconds, bool) and seconds > 0
        self._need("run_timeout", "a number of seconds above 0, or None", fits=seconds is None or timed)
        check_tool_names(self.tools)
        self._set("servers", read_servers(self.servers))

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _need(self, name: str, what: str, *, fits: bool) -> None:
        if not fits:
            raise PresetInvalid(field=name, reason=f"Agent.{name} must be {what}, not {getattr(self, name)!r}.")

    @property
    def rules(self) -> Rules:
        """The numbers that the Step core goes by."""
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


class AgentOptions(TypedDict, total=False):
    """What `create_agent` takes beside its model: the fields of `Agent`, in the forms in which people have them."""

    fallbacks: Iterable[ModelPreset]
    instructions: str
    tools: Iterable[Tool | Callable[..., Any]]
    servers: Iterable[McpServer]
    config: AmritaConfig
    limit: TokenLimit | int | None
    memory: Literal["agent", "run"]
    run_timeout: float | None
    plan: Literal["never", "auto", "always"]
    output: "type[BaseModel] | None"
    hooks: Iterable[Hooks]
    strategy: str


def create_agent(
    *,
    base_url: str,
    model: str,
    api_key: str | Secret = "",
    model_config: ModelConfig | Mapping[str, Any] | None = None,
    thinking_config: ThinkingConfig | Mapping[str, Any] | None = None,
    extra_body: Mapping[str, Any] | None = None,
    **options: Unpack[AgentOptions],
) -> Agent:
    """Describe an agent on an OpenAI-compatible endpoint.

    For another protocol build a `ModelPreset(protocol=...)` and an `Agent(preset=...)`.

    Args:
        base_url: Where the wire format's paths begin, as in `http://localhost:11434/v1`.
        model: The provider's name of the model.
        api_key: The key; `env:NAME` reads it from the environment where the agent lives; `-` or nothing sends none.
        model_config: Fields of `ModelConfig`.
        thinking_config: Fields of `ThinkingConfig`.
        extra_body: Fields of one provider, put into each request's body.
        options: The fields of `Agent`: `instructions`, `tools`, `plan` and the others.

    Raises:
        PresetInvalid: A field is unknown, or a value cannot work.
        ToolInvalid: A function cannot be a tool.
    """
    preset = ModelPreset(
        model=model,
        base_url=base_url,
        api_key=Secret.read(api_key),
        config=of(ModelConfig, model_config),
        thinking_config=of(ThinkingConfig, thinking_config),
        extra_body=extra_body or {},
    )
    agent = Agent(preset=preset, **cast("Any", options))
    for each in agent.tools:
        _ = each.schema  # made here, so that what no schema can say is an error here
    return agent


def output_of(given: "OutputType | type[BaseModel] | None") -> OutputType | None:
    """An output type as it is, or one made of a pydantic model.

    Raises:
        PresetInvalid: It is no such model, or no JSON object becomes one.
    """
    return given if given is None or isinstance(given, OutputType) else OutputType(given)


def tool_of(given: Tool | Callable[..., Any], place: int) -> Tool:
    """A tool as it is, or one made of a function.

    Raises:
        PresetInvalid: It is neither.
        ToolInvalid: The function cannot be a tool.
    """
    if isinstance(given, Tool):
        return given
    if not callable(given):
        raise PresetInvalid(field="tools", reason=f"Agent.tools[{place}] must be a Tool or a function, not {given!r}.")
    return tool(given)


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


def of(cls: type[T], given: T | Mapping[str, Any] | None) -> T:
    """The value itself, one read from a mapping, or the default one."""
    if isinstance(given, cls):
        return given
    return cls.parse(given if isinstance(given, Mapping) else {})
