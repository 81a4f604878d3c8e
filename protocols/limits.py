"""How much may be spent, and what happens when it is."""

import math
from dataclasses import dataclass, field, fields
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from typing import Literal, Self, cast

from .amounts import NANO, Amount
from .errors import PresetInvalid
from .strict import Strict

__all__ = (
    "UNITS",
    "UNLIMITED",
    "Exhaustion",
    "Limits",
    "TokenLimit",
    "Unit",
    "count_of",
    "dollars",
    "limit_of",
    "plain_limit",
    "run_limit",
    "shown",
)


class Unit(StrEnum):
    """What can be limited."""

    TOKENS = "tokens"
    DOLLARS = "dollars"
    MODEL_CALLS = "model_calls"
    TOOL_CALLS = "tool_calls"
    SECONDS = "seconds"


UNITS = (Unit.TOKENS, Unit.DOLLARS, Unit.MODEL_CALLS, Unit.TOOL_CALLS)
"""What the parts of an amount are, in order."""


class Exhaustion(StrEnum):
    """What happens to who needs more than is left."""

    WIND_DOWN = "wind_down"
    """The run gives its last answer."""
    ASK = "ask"
    """It stays where it is, and a person is asked."""
    PAUSE = "pause"
    """It stays where it is."""
    STOP = "stop"
    """All agents of the account are stopped for good."""


UNLIMITED = 2**62
"""More of anything than any call asks for."""

MOST = 10**15
"""The largest limit in whole numbers. Sums of what is limited must go through 64 bits, and nobody spends so much."""

LEAST_DOLLARS, MOST_DOLLARS = 1 / NANO, 10**6
"""The least limit in dollars, which is what money is counted in, and the largest, for the same reason."""

WHOLE = ("tokens", "model_calls", "tool_calls")


@dataclass(frozen=True, kw_only=True)
class Limits(Strict):
    """Hard limits of a fleet, a team, an agent or a run; what is None is not limited.

    Attributes:
        tokens: Prompt and completion together, retries included.
        dollars: US dollars, by the prices that the presets name.
        model_calls: Attempts of model calls that may have been billed, last answers included.
        tool_calls: Calls of tools that are let through.
        seconds: From the first model call that is asked for under this limit; then runs give their last answers.
        on_exhaustion: What happens when less is left than a call needs: `"wind_down"`, `"ask"`, `"pause"`, `"stop"`.
        carved: All of it is set aside in what stands above, whether it is used or not.
    """

    tokens: int | None = None
    dollars: float | None = None
    model_calls: int | None = None
    tool_calls: int | None = None
    seconds: float | None = None
    on_exhaustion: Literal["wind_down", "ask", "pause", "stop"] = "wind_down"
    carved: bool = False

    def __post_init__(self) -> None:
        """Refuse limits that are none.

        Raises:
            PresetInvalid: It names the field and what it must be.
        """
        for name in WHOLE:
            self._check_count(name, getattr(self, name))
        for name in ("dollars", "seconds"):
            given: object = getattr(self, name)
            if given is not None and not (type(given) in {int, float} and 0 < cast("float", given) < math.inf):
                self._refuse(name, "a number above 0", given)
        if self.dollars is not None and not LEAST_DOLLARS <= self.dollars <= MOST_DOLLARS:
            self._refuse("dollars", f"from ${LEAST_DOLLARS:.9f} to ${MOST_DOLLARS:,}", self.dollars)
        if self.on_exhaustion not in tuple(Exhaustion):
            self._refuse("on_exhaustion", " or ".join(repr(each.value) for each in Exhaustion), self.on_exhaustion)
        if type(self.carved) is not bool:
            self._refuse("carved", "True or False", self.carved)
        if not self.units:
            reason = f"Limits(...) must limit something: give {', '.join(f'{unit}=...' for unit in Unit)}."
            raise PresetInvalid(field="tokens", reason=reason)

    def _check_count(self, name: str, given: object) -> None:
        if given is None:
            return
        if type(given) is not int:  # a bool is none
            self._refuse(name, "whole", given)
        elif not 1 <= given <= MOST:
            must = "at least 1" if given < 1 else f"at most {MOST:,}"
            raise PresetInvalid(field=name, reason=f"{type(self).__name__}.{name} must be {must}.")

    def _refuse(self, name: str, what: str, given: object) -> None:
        raise PresetInvalid(field=name, reason=f"{type(self).__name__}.{name} must be {what}, not {given!r}.")

    @classmethod
    def from_plain(cls, tokens: int) -> Self:
        """What an older version wrote as a number alone: tokens."""
        return cls(tokens=tokens)

    @property
    def plain(self) -> "Limits":
        """The same as a `Limits`, which is what is written down."""
        return Limits(**{each.name: getattr(self, each.name) for each in fields(self)})

    @property
    def units(self) -> tuple[Unit, ...]:
        """What is limited."""
        return tuple(unit for unit in Unit if getattr(self, unit) is not None)

    @cached_property
    def limited(self) -> tuple[bool, bool, bool, bool]:
        """Which fields of an amount are limited."""
        return (
            self.tokens is not None,
            self.dollars is not None,
            self.model_calls is not None,
            self.tool_calls is not None,
        )

    @cached_property
    def most(self) -> Amount:
        """The most of each; of what is not limited, more than any call asks for."""
        dollars = None if self.dollars is None else int(Fraction(str(self.dollars)) * NANO)
        given = (self.tokens, dollars, self.model_calls, self.tool_calls)
        return Amount(*(UNLIMITED if each is None else each for each in given))

    @cached_property
    def pool(self) -> Amount:
        """What is kept for last answers: 5 %; of model calls at least one, as long as one is left for others."""
        calls = self.model_calls
        return Amount(
            0 if self.tokens is None else self.most.tokens // POOL_PART,
            0 if self.dollars is None else self.most.nanodollars // POOL_PART,
            0 if calls is None else min(calls - 1, -(-calls // POOL_PART)),
        )

    def __str__(self) -> str:
        """As people write it: `200,000 tokens, $2.00`."""
        return ", ".join(shown(unit, getattr(self, unit)) for unit in self.units)


POOL_PART = 20
"""One part in so many of a limit, 5 %, is kept for last answers."""


@dataclass(frozen=True, kw_only=True)
class TokenLimit(Limits):
    """A hard limit in tokens, prompt and completion together, retries included; in short for `Limits(tokens=...)`."""

    tokens: int = field()


def limit_of(given: Limits | int | None) -> Limits | None:
    """A limit as it is, or one of so many tokens.

    Raises:
        PresetInvalid: It is below 1, or no whole number.
    """
    if given is None or isinstance(given, Limits):
        return given
    if type(given) is not int:  # a bool is none
        units = ", ".join(f"{unit}=..." for unit in Unit)
        reason = f"A limit must be whole, a number of tokens, or Limits({units}), not {given!r:.100}."
        raise PresetInvalid(field="limit", reason=reason)
    return TokenLimit(tokens=given)


def plain_limit(given: Limits | int | None) -> Limits | None:
    """A limit as it is written down.

    Raises:
        PresetInvalid: It is none.
    """
    limit = limit_of(given)
    return None if limit is None else limit.plain


def run_limit(given: Limits | int | None) -> Limits | None:
    """A limit of a run, as it is written down.

    Raises:
        PresetInvalid: It is none, or one in seconds.
    """
    limit = plain_limit(given)
    if limit is not None and limit.seconds is not None:
        raise PresetInvalid(field="seconds", reason="A run has a time_limit=...: leave seconds out of its limit.")
    return limit


def count_of(amount: Amount, unit: Unit) -> float:
    """How much of one thing an amount has, in that unit; of seconds it has none.

    Raises:
        ValueError: It is asked for seconds.
    """
    return amount.dollars if unit is Unit.DOLLARS else amount.parts[UNITS.index(unit)]


def shown(unit: Unit, value: float) -> str:
    """So much of something, for people."""
    if unit is Unit.DOLLARS:
        return dollars(value)
    word = unit.value.replace("_", " ")
    number = f"{value:,g}" if unit is Unit.SECONDS else f"{value:,}"
    return f"{number} {word.removesuffix('s') if value == 1 else word}"


def dollars(value: float) -> str:
    """Money for people: cents, and as many digits more as it takes to see anything of a small sum."""
    places = 2 if value == 0 or abs(value) >= 1 else min(9, 3 - math.floor(math.log10(abs(value))))
    whole, _, part = f"{value:,.{max(2, places)}f}".partition(".")
    return f"${whole}.{part[:2]}{part[2:].rstrip('0')}"
