"""What a model's tokens cost. No list of prices is kept here: they change, so whoever uses one says what it is."""

import math
import re
from calendar import monthrange
from dataclasses import dataclass
from fractions import Fraction

from .errors import PresetInvalid
from .messages import Usage
from .strict import Strict

__all__ = ("Price", "Rates")

PICO_EACH = 10**6
"""A price of one dollar for a million tokens, in pico-dollars for one."""

MOST = 10**6
"""The largest price, a dollar a token: what calls cost must go through 64 bits."""

MOST_COST = 10**15
"""The most that one call is taken to have cost, in nano-dollars: a million dollars. Beyond it a count is a mistake."""

DAY = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])-[0-9]{2}")

PICO = 1_000
"""Pico-dollars of one nano-dollar."""


@dataclass(frozen=True, slots=True)
class Rates:
    """The most that a token can cost, in pico-dollars: one of the prompt, and one of the output."""

    prompt: int
    output: int

    def cost(self, prompt: int, output: int) -> int:
        """The most that so many tokens can cost, in nano-dollars, rounded up."""
        return -(-(prompt * self.prompt + output * self.output) // PICO)

    def affordable(self, prompt: int, nanodollars: int) -> int | None:
        """The most output tokens that money pays for after the prompt; negative: not even that. None: any number."""
        return (nanodollars * PICO - prompt * self.prompt) // self.output if self.output else None


@dataclass(frozen=True, kw_only=True)
class Price(Strict):
    """A model's price, in US dollars for a million tokens.

    Attributes:
        prompt: Input tokens.
        output: Output tokens, reasoning included.
        cached: Input tokens that were read from a cache; None: as all others.
        cache_write: Input tokens that were written to a cache; None: as all others.
        as_of: The day on which that was the price, as in `2026-11-01`.
    """

    prompt: float
    output: float
    cached: float | None = None
    cache_write: float | None = None
    as_of: str

    def __post_init__(self) -> None:
        """Refuse what is no price, and a day that is none."""
        for name in ("prompt", "output", "cached", "cache_write"):
            given: object = getattr(self, name)
            optional = given is None and name in {"cached", "cache_write"}
            if not optional and not (type(given) in {int, float} and 0 <= given <= MOST):  # type: ignore[operator]
                reason = f"Price.{name} must be dollars for a million tokens, from 0 to {MOST:,}, not {given!r:.100}."
                raise PresetInvalid(field=name, reason=reason)
        if not is_day(self.as_of):
            reason = f"Price.as_of must be the day of the price, as in '2026-11-01', not {self.as_of!r}."
            raise PresetInvalid(field="as_of", reason=reason)

    @property
    def rates(self) -> Rates:
        """The dearest of each kind, which is what a call is reserved with."""
        asked = max(each for each in (self.prompt, self.cached, self.cache_write) if each is not None)
        return Rates(math.ceil(pico(asked)), math.ceil(pico(self.output)))

    def cost(self, usage: Usage) -> int:
        """What a call came to, in nano-dollars, rounded up, a million dollars at most.

        The usage says how many tokens of each kind it had.
        """
        plain = max(0, usage.prompt - usage.cached - usage.written)
        cached = self.prompt if self.cached is None else self.cached
        written = self.prompt if self.cache_write is None else self.cache_write
        parts = (
            (plain, self.prompt),
            (usage.cached, cached),
            (usage.written, written),
            (usage.completion, self.output),
        )
        return min(MOST_COST, math.ceil(sum(count * pico(price) for count, price in parts) / PICO))


def pico(price: float) -> Fraction:
    """A price for a million tokens as pico-dollars for one, exactly as it was written."""
    return Fraction(str(price)) * PICO_EACH


def is_day(given: object) -> bool:
    """Whether it is a day that there is, written as in `2026-11-01`."""
    if not (isinstance(given, str) and DAY.fullmatch(given)):
        return False
    year, month, day = map(int, given.split("-"))
    return 1 <= day <= monthrange(year, month)[1]
