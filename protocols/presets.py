"""Which model, where, and how it is asked.

Presets are frozen dataclasses: an agent's process reads them without pydantic. What the constructor is given is
checked at once: an unknown field, a wrong value or an unknown protocol is an error when the preset is built, never at
the first model call.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, cast
from urllib.parse import urlsplit

from .adapters import added_adapter, check_protocol, register
from .errors import PresetInvalid
from .prices import Price
from .profiles import Asking, Profile, profile_for
from .secret import Secret
from .strict import Strict
from .thinking import ContentMode, ThinkingConfig

__all__ = ("ContentMode", "ModelConfig", "ModelPreset", "Secret", "Strict", "ThinkingConfig")

SPOKEN_OVER_HTTP = frozenset({"openai", "__main__", "anthropic", "claude"})
OWN_URLS = dict.fromkeys(("anthropic", "claude"), "https://api.anthropic.com/v1")
UNFORCED = frozenset({None, "auto", "none"})


@dataclass(frozen=True, kw_only=True)
class ModelConfig(Strict):
    """How a model is asked.

    Attributes:
        stream: Read the answer as server-sent events.
        max_tokens: The most output tokens one call may ask for.
        temperature: As the provider defines it; None leaves it out.
        top_p: As the provider defines it; None leaves it out.
        timeout: Seconds one call may take, from the first byte sent to the last byte read.
        prompt_cache: Mark what stays the same from call to call, for providers that cache only what is marked.
    """

    stream: bool = False
    max_tokens: int = 4096
    temperature: float | None = None
    top_p: float | None = None
    timeout: float = 300.0
    prompt_cache: bool = False

    def __post_init__(self) -> None:
        """Refuse values that cannot work."""
        if type(self.max_tokens) is not int or self.max_tokens < 1:  # a bool is none
            raise PresetInvalid(field="max_tokens", reason="ModelConfig.max_tokens must be at least 1.")
        if type(self.timeout) not in {int, float} or not self.timeout > 0:  # nan is not above 0
            raise PresetInvalid(field="timeout", reason="ModelConfig.timeout must be above 0 seconds.")


KINDS: Mapping[str, type] = MappingProxyType(
    {
        **dict.fromkeys(("model", "base_url", "protocol"), str),
        **dict.fromkeys(("extra_body", "extra_headers"), Mapping),
        "config": ModelConfig,
        "thinking_config": ThinkingConfig,
    }
)
"""What some fields of a preset must be."""

BUDGETED = frozenset({Asking.BUDGET, Asking.FLAG, Asking.REASONING})
"""Ways to ask for thinking that say how many tokens it may take."""

SAY = "use Price(prompt=..., output=..., as_of='...'), in dollars for a million tokens"

ADAPTER = "adapter of the user's own"
"""Place of the adapter in what a preset sends to another process."""


@dataclass(frozen=True, kw_only=True)
class ModelPreset(Strict):
    """One model at one provider.

    Attributes:
        model: The provider's name of the model.
        base_url: Where the wire format's paths begin, as in `https://host/v1`; only Anthropic's may be left out.
        api_key: The key, or where it is read from.
        protocol: The adapter: `"openai"` (also `"__main__"`), or one that was registered.
        config: How the model is asked.
        thinking_config: Whether it thinks.
        extra_body: Fields of one provider, put into the request's body as they are.
        extra_headers: Headers added to each request.
        profile: The provider family by name, or facts about it that differ (see `profiles.Profile`), with the family
            they are `like`; empty: it is known by its address and model.
        price: What its tokens cost, for limits in dollars; None: nobody says.
    """

    hints = {  # noqa: RUF012  read-only by its type in Strict
        "model_config": "use config=ModelConfig(...), or create_agent(model_config={...}).",
        "thinking": "use thinking_config=ThinkingConfig(...).",
    }

    model: str
    base_url: str = ""
    api_key: Secret = field(default_factory=Secret)
    protocol: str = "openai"
    config: ModelConfig = field(default_factory=ModelConfig)
    thinking_config: ThinkingConfig = field(default_factory=ThinkingConfig)
    extra_body: Mapping[str, Any] = field(default_factory=dict[str, Any])
    extra_headers: Mapping[str, str] = field(default_factory=dict[str, str])
    profile: str | Mapping[str, Any] = ""
    price: Price | None = None

    def __post_init__(self) -> None:
        """Hide a key that was given as a text; refuse an unknown protocol, an address or a part that is none."""
        object.__setattr__(self, "api_key", Secret.read(self.api_key))
        for name, kind in KINDS.items():
            if not isinstance(given := getattr(self, name), kind):
                advice = f": use {kind.__name__}(...)" if issubclass(kind, Strict) else ""
                reason = f"ModelPreset.{name} must be a {kind.__name__}, not {given!r}{advice}."
                raise PresetInvalid(field=name, reason=reason)
        if self.price is not None and not isinstance(cast("object", self.price), Price):
            raise PresetInvalid(field="price", reason=f"ModelPreset.price must be a Price, not {self.price!r}: {SAY}.")
        check_protocol(self.protocol)
        if not self.base_url and self.protocol in OWN_URLS:
            object.__setattr__(self, "base_url", OWN_URLS[self.protocol])
        if self.protocol in SPOKEN_OVER_HTTP and not self.base_url.startswith(("http://", "https://")):
            reason = f"ModelPreset.base_url must begin with http:// or https://, not {self.base_url!r}."
            raise PresetInvalid(field="base_url", reason=reason)
        if self.base_url and not reachable(self.base_url):
            reason = f"ModelPreset.base_url has no usable host and port: {self.base_url!r}."
            raise PresetInvalid(field="base_url", reason=reason)
        if not self.model:
            raise PresetInvalid(field="model", reason="ModelPreset.model must name a model.")
        self._check_thinking()

    def _check_thinking(self) -> None:
        """Refuse what the provider would refuse, or answer with nothing."""
        facts, thinking, cap = self.facts, self.thinking_config, self.config.max_tokens
        if not (thinking.enabled or facts.thinks):
            return
        if not thinking.content_mode.covers(facts.needs):
            mode = thinking.content_mode.value
            reason = f"content_mode {mode!r} cannot work: {facts.name} refuses requests without its reasoning."
            raise PresetInvalid(field="thinking_config.content_mode", reason=reason)
        if thinking.enabled and facts.reasoning_in_cap and (thinking.budget_tokens or 0) >= cap:
            reason = f"budget_tokens must be below max_tokens ({cap}): reasoning counts against it."
            raise PresetInvalid(field="thinking_config.budget_tokens", reason=reason)
        if not facts.forced_choice and is_forced(self.extra_body.get("tool_choice")):
            reason = f"tool_choice can only be 'auto' or 'none' while {facts.name} thinks."
            raise PresetInvalid(field="extra_body", reason=reason)

    def __getstate__(self) -> dict[str, Any]:
        """What goes to another process: the fields, and an adapter of the user's own, which only this one knows."""
        return {**self.__dict__, ADAPTER: added_adapter(self.protocol)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the fields; register the adapter here too."""
        if (adapter := state.pop(ADAPTER)) is not None:
            register(adapter, (state["protocol"],))
        self.__dict__.update(state)

    @property
    def facts(self) -> Profile:
        """What the provider is known to need.

        Raises:
            PresetInvalid: `profile` names none.
        """
        return profile_for(self.protocol, self.base_url, self.model, self.profile)

    @property
    def beside(self) -> int | None:
        """The most tokens that a call is billed as output beyond its cap; None: there may be any number of them.

        Raises:
            PresetInvalid: `profile` names no provider family.
        """
        facts, thinking = self.facts, self.thinking_config
        if not facts.honours_cap:
            return None
        if facts.reasoning_in_cap or not (thinking.enabled or facts.thinks):
            return 0
        return thinking.budget_tokens if thinking.enabled and facts.asking in BUDGETED else None

    @property
    def provider_key(self) -> str:
        """What shares one provider's rate limits: the address without its path."""
        return "/".join(self.base_url.split("/", 3)[:3]) or self.protocol


def is_forced(choice: object) -> bool:
    """Whether a `tool_choice`, a text or an object of either wire format, leaves the model no choice."""
    if isinstance(choice, Mapping):
        return cast("Mapping[str, object]", choice).get("type") not in UNFORCED
    return choice not in UNFORCED


def reachable(base_url: str) -> bool:
    """Whether the address has a host, and a port that a server can have."""
    try:
        parts = urlsplit(base_url)
        return bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False
