"""How a model thinks, and what becomes of its thoughts."""

from dataclasses import dataclass
from enum import StrEnum

from .errors import PresetInvalid
from .strict import Strict

__all__ = ("ContentMode", "ThinkingConfig")


class ContentMode(StrEnum):
    """Which reasoning goes back to the provider: none, that of tool turns, or whatever there is."""

    NEVER = "never"
    BY_TOOL = "by-tool"
    OPTIONAL = "optional"

    def covers(self, needed: "ContentMode") -> bool:
        """Whether all that `needed` sends back goes back under this mode too."""
        modes = list(ContentMode)
        return modes.index(self) >= modes.index(needed)


@dataclass(frozen=True, kw_only=True)
class ThinkingConfig(Strict):
    """Thinking: whether it is asked for, and which of it goes back.

    Attributes:
        enabled: Ask for it, in the words of the provider; False leaves it to the model.
        content_mode: Which reasoning goes back.
        budget_tokens: How many tokens it may take, where the provider lets one say; None leaves it to the provider.
    """

    enabled: bool = False
    content_mode: ContentMode = ContentMode.OPTIONAL
    budget_tokens: int | None = None

    def __post_init__(self) -> None:
        """Read the mode from its name, and refuse values that cannot work."""
        modes = [mode.value for mode in ContentMode]
        if self.content_mode not in modes:
            reason = f"ThinkingConfig.content_mode must be one of {', '.join(modes)}, not {self.content_mode!r}."
            raise PresetInvalid(field="content_mode", reason=reason)
        object.__setattr__(self, "content_mode", ContentMode(self.content_mode))
        if self.budget_tokens is not None and self.budget_tokens < 1:
            raise PresetInvalid(field="budget_tokens", reason="ThinkingConfig.budget_tokens must be at least 1.")
