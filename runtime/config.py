"""Settings of agents, and the facade through which user code reads them.

Inside the runtime a configuration is passed explicitly; nothing there calls `get_config`.
"""

from contextvars import ContextVar
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import Any, Literal, cast

from ..protocols.errors import PresetInvalid
from ..protocols.mail import BODY_LIMIT
from ..protocols.presets import Strict
from .errors import ConfigMissing

__all__ = (
    "AmritaConfig",
    "BuiltinConfig",
    "FunctionConfig",
    "LLMConfig",
    "MailConfig",
    "WindDownConfig",
    "adopt_config",
    "get_config",
    "minimal_init",
    "set_config",
)

NO_LIMIT = -1
"""A limit that is off."""

LEAST_OUTPUT = 1024
"""Bytes that a tool output has room for, however small the window is."""

ON_MAIL = ("wake", "keep", "refuse")
STRATEGIES = ("compact", "none")


def need(section: Strict, least: float, *names: str, off: float | None = None) -> None:
    """Refuse a field below `least`, unless it is `off`.

    Raises:
        PresetInvalid: It names the field and what it must be.
    """
    for name in names:
        value, default = getattr(section, name), getattr(type(section), name)
        kind = "a number" if isinstance(default, float) else "a whole number"
        fits = isinstance(value, int | type(default)) and not isinstance(value, bool)
        if not fits or not (value >= least or value == off):
            but = "" if off is None else f", or {off} for no limit"
            reason = f"{type(section).__name__}.{name} must be {kind} of at least {least}{but}, not {value!r}."
            raise PresetInvalid(field=name, reason=reason)


def need_one_of(section: Strict, name: str, values: tuple[str, ...]) -> None:
    """Refuse a field that is none of some words.

    Raises:
        PresetInvalid: It names the field and what it must be.
    """
    value = getattr(section, name)
    if value not in values:
        reason = f"{type(section).__name__}.{name} must be one of {', '.join(values)}, not {value!r}."
        raise PresetInvalid(field=name, reason=reason)


@dataclass(frozen=True, kw_only=True)
class BuiltinConfig(Strict):
    """The built-in behaviour.

    Attributes:
        loop_reasoning_trigger: Identical tool calls in a row that are a stall; the last of them is not run.
    """

    loop_reasoning_trigger: int = 5

    def __post_init__(self) -> None:
        """One call cannot repeat itself."""
        need(self, 2, "loop_reasoning_trigger")


@dataclass(frozen=True, kw_only=True)
class FunctionConfig(Strict):
    """Steps and tools.

    Attributes:
        agent_tool_call_limit: Rounds of tool calls in one run.
        agent_step_token_budget: Prompt tokens of one Step; -1: no limit.
        step_rounds: Rounds of one Step of a run without a plan.
        tool_output_bytes: Bytes of UTF-8 that one tool output may have; the middle of a longer one is left out.
    """

    agent_tool_call_limit: int = 10
    agent_step_token_budget: int = NO_LIMIT
    step_rounds: int = 4
    tool_output_bytes: int = 32 * 1024

    def __post_init__(self) -> None:
        """Refuse limits that let nothing through."""
        need(self, 1, "agent_tool_call_limit", "step_rounds")
        need(self, 1, "agent_step_token_budget", off=NO_LIMIT)
        need(self, LEAST_OUTPUT, "tool_output_bytes")


@dataclass(frozen=True, kw_only=True)
class LLMConfig(Strict):
    """Memory and model calls. Whichever of the first three is reached first has the history made smaller.

    Attributes:
        memory_abstract_threshold: Prompt tokens above which the history is summarised; -1: only the two windows count.
        session_tokens_windows: Prompt tokens at which the history is compacted.
        memory_length_limit: Messages at which the history is compacted; about 300 tokens are one message's.
        memory_strategy: `"compact"` summarises what is old, and leaves it out where no summary can be had; with
            `"none"` the history only grows.
        max_retries: Further attempts after a model call that failed but may succeed later.
        retry_base: Seconds before the first further attempt, doubled for each one after it. Where the provider is busy
            there are none: then all agents wait for their turn.
        retry_cap: Seconds before a further attempt at most.
    """

    memory_abstract_threshold: int = NO_LIMIT
    session_tokens_windows: int = 64_000
    memory_length_limit: int = 200
    memory_strategy: Literal["compact", "none"] = "compact"
    max_retries: int = 3
    retry_base: float = 0.5
    retry_cap: float = 30.0

    def __post_init__(self) -> None:
        """Refuse windows that hold nothing and times that run backwards."""
        need(self, 1, "memory_abstract_threshold", off=NO_LIMIT)
        need(self, 1, "session_tokens_windows", "memory_length_limit")
        need(self, 0, "max_retries", "retry_base", "retry_cap")
        need_one_of(self, "memory_strategy", STRATEGIES)


@dataclass(frozen=True, kw_only=True)
class WindDownConfig(Strict):
    """The last answer of a run that reached a limit.

    Attributes:
        input_bytes: Bytes of UTF-8 to which its request is cut.
        output: Tokens it may have.
        seconds: Seconds it may take where the run's time is over.
    """

    input_bytes: int = 8000
    output: int = 512
    seconds: float = 30.0

    def __post_init__(self) -> None:
        """Refuse bounds that hold no answer."""
        need(self, 1000, "input_bytes")
        need(self, 16, "output")
        need(self, 0, "seconds")


@dataclass(frozen=True, kw_only=True)
class MailConfig(Strict):
    """The channel.

    Attributes:
        mail_bytes: Bytes of mail that one Step boundary takes; the rest waits for the next.
        on_mail: What mail to an idle agent does: `"wake"` it, be kept for its next run (`"keep"`), or be refused.
        mailbox_messages: Messages a mailbox holds.
        mailbox_bytes: Bytes a mailbox holds, with room for at least one message of the largest size.
        send_timeout: Seconds that sending waits for a full mailbox.
    """

    mail_bytes: int = 32 * 1024
    on_mail: Literal["wake", "keep", "refuse"] = "wake"
    mailbox_messages: int = 1024
    mailbox_bytes: int = 8 * 1024 * 1024
    send_timeout: float = 30.0

    def __post_init__(self) -> None:
        """Refuse a channel that could carry nothing."""
        need(self, 1, "mail_bytes", "mailbox_messages")
        need(self, 2 * BODY_LIMIT, "mailbox_bytes")
        need(self, 0, "send_timeout")
        need_one_of(self, "on_mail", ON_MAIL)


@dataclass(frozen=True, kw_only=True)
class AmritaConfig(Strict):
    """Every setting of an agent that is not its model's. `AmritaConfig.parse(mapping)` reads one from plain data."""

    builtin: BuiltinConfig = field(default_factory=BuiltinConfig)
    function_config: FunctionConfig = field(default_factory=FunctionConfig)
    llm: LLMConfig = field(default_factory=LLMConfig)
    wind_down: WindDownConfig = field(default_factory=WindDownConfig)
    mail: MailConfig = field(default_factory=MailConfig)

    @classmethod
    def _unknown(cls, name: str, known: list[str]) -> str:
        """A field of a section, or one that is written with a dot before it, is told with the section's name."""
        sections = {
            setting.name: section.name
            for section in fields(cls)
            for setting in fields(cast("Any", section.default_factory))
        }
        near = get_close_matches(name.rpartition(".")[2], sections, 1, 0.8)
        if not near:
            return super()._unknown(name, known)
        own = near[0]
        place = f"AmritaConfig.parse({{{sections[own]!r}: {{{own!r}: ...}}}})"
        return f"AmritaConfig has no field {name!r}: {own!r} belongs to a section, as in {place}."

    def __post_init__(self) -> None:
        """Refuse a plain mapping where a section is meant."""
        for one in fields(self):
            value, kind = getattr(self, one.name), cast("type[Strict]", one.default_factory)
            if not isinstance(value, kind):
                given = f"not {value!r}; AmritaConfig.parse(...) reads plain data"
                raise PresetInvalid(
                    field=one.name, reason=f"AmritaConfig.{one.name} must be {kind.__name__}(...), {given}."
                )

    @property
    def output_bytes(self) -> int:
        """Bytes of one tool output: what is configured, but no more than about a third of the window."""
        return max(LEAST_OUTPUT, min(self.function_config.tool_output_bytes, self.llm.session_tokens_windows))


class Facade:
    """Holds the configuration that user code reads: the process's, and that of the agent it runs in.

    The one piece of process-wide state in the runtime: `get_config()` takes no argument by its published contract.
    """

    config: AmritaConfig | None = None
    own: ContextVar[AmritaConfig] = ContextVar("own")


def set_config(config: AmritaConfig) -> None:
    """Make `config` what `get_config()` gives in this process."""
    Facade.config = config


def adopt_config(config: AmritaConfig) -> None:
    """Make `config` what `get_config()` gives in the running task and in what it starts: an agent's own."""
    Facade.own.set(config)


def get_config() -> AmritaConfig:
    """Inside an agent, as in its tools, the agent's configuration; elsewhere that of this process.

    Raises:
        ConfigMissing: Outside of agents, neither `minimal_init` nor `set_config` was called yet.
    """
    config = Facade.own.get(Facade.config)
    if config is None:
        raise ConfigMissing
    return config


async def minimal_init(config: AmritaConfig | None = None) -> None:
    """Set the configuration, or the defaults, before agents are made or tools that read it are registered."""
    set_config(config or AmritaConfig())
