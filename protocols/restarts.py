"""Which deaths another life follows, in OTP's words.

A death is the end of an agent's process that nobody ordered: it is always abnormal, for no agent ends by itself. So
OTP's `transient` (restarted unless it ended normally) would be `permanent` by another name, and is left out. A stop is
what OTP calls the termination of a child by its supervisor: it holds in every life, whatever the word.

Source: Erlang/OTP, `supervisor`: restart types of a child, and the maximum restart intensity.
"""

from dataclasses import dataclass
from math import inf
from typing import Literal, TypeAlias

from .errors import PresetInvalid
from .strict import Strict

__all__ = ("Restart", "RestartPolicy")

Restart: TypeAlias = Literal["permanent", "temporary"]
"""`permanent`: another life follows a death, where the fleet has a journal. `temporary`: none ever does."""


@dataclass(frozen=True, kw_only=True)
class RestartPolicy(Strict):
    """How often an agent may be restarted: OTP's intensity and period, counted for each agent of a fleet by itself.

    Attributes:
        intensity: Restarts of one agent within the period. Who dies once more is quarantined: it stays dead until it is
            spawned anew. 0: the first death is the last.
        period: Seconds in which they count.
    """

    intensity: int = 3
    period: float = 60.0

    def __post_init__(self) -> None:
        """Refuse numbers that can count nothing.

        Raises:
            PresetInvalid: It names the field and what it must be.
        """
        if type(self.intensity) is not int or self.intensity < 0:  # a bool is none
            reason = f"RestartPolicy.intensity must be a whole number from 0, not {self.intensity!r}."
            raise PresetInvalid(field="intensity", reason=reason)
        if type(self.period) not in (int, float) or not 0 < self.period < inf:
            reason = f"RestartPolicy.period must be a number of seconds above 0, not {self.period!r}."
            raise PresetInvalid(field="period", reason=reason)
