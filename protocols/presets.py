"""Which model, where, and how it is asked.

Presets are frozen dataclasses: an agent's process reads them without pydantic. What the constructor is given is
checked at once: an unknown field, a wrong value or an unknown protocol is an error when the preset is built, never at
the first model call.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from enum import StrEnum
from typing import Any, ClassVar, Self, cast

from .adapters import check_protocol
from .errors import PresetInvalid
from .secret import Secret

__all__ = ("ContentMode", "ModelConfig", "ModelPreset", "Secret", "Strict", "ThinkingConfig")


class Strict:
    """Base of frozen dataclasses that refuse unknown fields by name and can be read from a mapping."""

    hints: Mapping[str, str] = {}

    # What pydantic reads for `parse`: by itself it lets unknown fields of nested dataclasses fall.
    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    def __new__(cls, *_args: object, **given: object) -> Self:
        """Refuse a field that the class does not have, naming the nearest one.

        Raises:
            PresetInvalid: There is no such field.
        """
        known = [f.name for f in fields(cast("Any", cls))]
        for name in given:
            if name not in known:
                raise PresetInvalid(field=name, reason=cls._unknown(name, known))
        return super().__new__(cls)

    @classmethod
    def _unknown(cls, name: str, known: list[str]) -> str:
        if name in cls.hints:
            return f"{cls.__name__} has no field {name!r}: {cls.hints[name]}"
        near = get_close_matches(name, known, n=1)
        advice = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known)}."
        return f"{cls.__name__} has no field {name!r}: {advice}"

    @classmethod
    def parse(cls, given: Mapping[str, Any]) -> Self:
        """Read one from plain data, nested fields included, with every value checked by pydantic.

        Raises:
            PresetInvalid: A field is unknown or a value has the wrong type.
        """
        from pydantic import TypeAdapter, ValidationError

        cls.__new__(cls, **dict.fromkeys(given))
        try:
            return TypeAdapter(cls).validate_python(dict(given))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"]) or cls.__name__
            what = first["msg"].removeprefix("Value error, ").removesuffix(".")
            raise PresetInvalid(field=where, reason=f"{cls.__name__}.{where}: {what}.") from None


class ContentMode(StrEnum):
    """Which reasoning goes back to the provider: none, that of tool turns, or whatever there is."""

    NEVER = "never"
    BY_TOOL = "by-tool"
    OPTIONAL = "optional"


@dataclass(frozen=True, kw_only=True)
class ThinkingConfig(Strict):
    """Thinking: whether it is asked for, and which of it goes back."""

    enabled: bool = False
    content_mode: ContentMode = ContentMode.OPTIONAL
    budget_tokens: int | None = None


@dataclass(frozen=True, kw_only=True)
class ModelConfig(Strict):
    """How a model is asked.

    Attributes:
        stream: Read the answer as server-sent events.
        max_tokens: The most output tokens one call may ask for.
        temperature: As the provider defines it; None leaves it out.
        top_p: As the provider defines it; None leaves it out.
        timeout: Seconds one call may take, from the first byte sent to the last byte read.
    """

    stream: bool = False
    max_tokens: int = 4096
    temperature: float | None = None
    top_p: float | None = None
    timeout: float = 300.0

    def __post_init__(self) -> None:
        """Refuse values that cannot work."""
        if self.max_tokens < 1:
            raise PresetInvalid(field="max_tokens", reason="ModelConfig.max_tokens must be at least 1.")
        if self.timeout <= 0:
            raise PresetInvalid(field="timeout", reason="ModelConfig.timeout must be above 0 seconds.")


@dataclass(frozen=True, kw_only=True)
class ModelPreset(Strict):
    """One model at one provider.

    Attributes:
        model: The provider's name of the model.
        base_url: Where the wire format's paths begin, as in `https://host/v1`.
        api_key: The key, or where it is read from.
        protocol: The adapter: `"openai"` (also `"__main__"`), or one that was registered.
        config: How the model is asked.
        thinking_config: Whether it thinks.
        extra_body: Fields of one provider, put into the request's body as they are.
        extra_headers: Headers added to each request.
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

    def __post_init__(self) -> None:
        """Refuse an unknown protocol and an address that is none."""
        check_protocol(self.protocol)
        if self.protocol in {"openai", "__main__"} and not self.base_url.startswith(("http://", "https://")):
            reason = f"ModelPreset.base_url must begin with http:// or https://, not {self.base_url!r}."
            raise PresetInvalid(field="base_url", reason=reason)

    @property
    def provider_key(self) -> str:
        """What shares one provider's rate limits: the address without its path."""
        return "/".join(self.base_url.split("/", 3)[:3]) or self.protocol
