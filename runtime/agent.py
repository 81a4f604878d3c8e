"""What an agent is before it lives: instructions, a model, tools, limits."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from ..protocols.errors import PresetInvalid
from ..protocols.presets import ModelConfig, ModelPreset, Strict, ThinkingConfig
from ..protocols.secret import Secret
from .config import AmritaConfig
from .step.state import Rules
from .tools.tool import Tool, tool

__all__ = ("Agent", "TokenLimit", "create_agent")

T = TypeVar("T", bound=Strict)


@dataclass(frozen=True, kw_only=True)
class TokenLimit(Strict):
    """A hard limit in tokens, prompt and completion together, retries included."""

    tokens: int

    def __post_init__(self) -> None:
        """Refuse a limit that is none."""
        if self.tokens < 1:
            raise PresetInvalid(field="tokens", reason="TokenLimit.tokens must be at least 1.")


@dataclass(frozen=True, kw_only=True)
class Agent(Strict):
    """An agent's description; spawned any number of times, under other names.

    Attributes:
        preset: The model and how it is asked.
        fallbacks: Presets that take over for the rest of a run, one after the other, when the one before has failed.
        instructions: The system message.
        tools: What it may call, beside the built-in tools.
        config: The numbers of its loop.
        limit: Its own token limit; None: only the fleet's.
        memory: Whether it remembers earlier runs.
        run_timeout: Seconds a run may take; None: any time.
    """

    preset: ModelPreset
    fallbacks: tuple[ModelPreset, ...] = ()
    instructions: str = ""
    tools: tuple[Tool, ...] = ()
    config: AmritaConfig = field(default_factory=AmritaConfig)
    limit: TokenLimit | None = None
    memory: Literal["agent", "run"] = "agent"
    run_timeout: float | None = None

    @property
    def rules(self) -> Rules:
        """The numbers that the Step core goes by."""
        config, model = self.config, self.preset.config
        return Rules(
            rounds=config.function_config.agent_tool_call_limit,
            step_rounds=config.function_config.step_rounds,
            step_tokens=config.function_config.agent_step_token_budget,
            repeats=config.builtin.loop_reasoning_trigger,
            retries=config.llm.max_retries,
            retry_base=config.llm.retry_base,
            retry_cap=config.llm.retry_cap,
            patience=max(preset.config.timeout for preset in (self.preset, *self.fallbacks)),
            presets=1 + len(self.fallbacks),
            output=model.max_tokens,
            last_output=config.wind_down.output,
            mail_bytes=config.mail.mail_bytes,
            memory=self.memory,
            instructions=self.instructions,
        )


def create_agent(  # noqa: PLR0913  the public door: each argument is one thing a user may say
    *,
    base_url: str,
    model: str,
    api_key: str | Secret = "",
    instructions: str = "",
    tools: Iterable[Tool | Callable[..., Any]] = (),
    model_config: ModelConfig | Mapping[str, Any] | None = None,
    thinking_config: ThinkingConfig | Mapping[str, Any] | None = None,
    extra_body: Mapping[str, Any] | None = None,
    fallbacks: Iterable[ModelPreset] = (),
    config: AmritaConfig | None = None,
    limit: TokenLimit | int | None = None,
    memory: Literal["agent", "run"] = "agent",
    run_timeout: float | None = None,
) -> Agent:
    """Describe an agent on an OpenAI-compatible endpoint.

    For another protocol build a `ModelPreset(protocol=...)` and an `Agent(preset=...)`.

    Args:
        base_url: Where the wire format's paths begin, as in `http://localhost:11434/v1`.
        model: The provider's name of the model.
        api_key: The key; `env:NAME` reads it from the environment where the agent lives; `-` or nothing sends none.
        instructions: The system message.
        tools: Functions, decorated with `@tool` or not.
        model_config: Fields of `ModelConfig`.
        thinking_config: Fields of `ThinkingConfig`.
        extra_body: Fields of one provider, put into each request's body.
        fallbacks: Presets that take over when this endpoint fails for good, one after the other.
        config: The numbers of its loop; None: the defaults.
        limit: Its own token limit.
        memory: Whether it remembers earlier runs.
        run_timeout: Seconds a run may take.

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
    described = tuple(each if isinstance(each, Tool) else tool(each) for each in tools)
    for each in described:
        _ = each.schema  # made here, so that what no schema can say is an error here
    return Agent(
        preset=preset,
        fallbacks=tuple(fallbacks),
        instructions=instructions,
        tools=described,
        config=config or AmritaConfig(),
        limit=TokenLimit(tokens=limit) if isinstance(limit, int) else limit,
        memory=memory,
        run_timeout=run_timeout,
    )


def of(cls: type[T], given: T | Mapping[str, Any] | None) -> T:
    """The value itself, one read from a mapping, or the default one."""
    if isinstance(given, cls):
        return given
    return cls.parse(given if isinstance(given, Mapping) else {})
