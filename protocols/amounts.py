"""What model calls cost, in all that is limited."""

from dataclasses import dataclass
from typing import Self

__all__ = ("NANO", "ZERO", "Amount")

NANO = 10**9
"""Nano-dollars of one US dollar: money is counted whole, so sums are exact."""


@dataclass(frozen=True, slots=True)
class Amount:
    """So much of everything that is counted. Sums and differences go field by field.

    Attributes:
        tokens: Prompt and completion together.
        nanodollars: Money, in billionths of a US dollar.
        model_calls: Attempts of model calls that may have been billed.
        tool_calls: Calls of tools that replies made and that were let through.
    """

    tokens: int = 0
    nanodollars: int = 0
    model_calls: int = 0
    tool_calls: int = 0

    @classmethod
    def from_plain(cls, tokens: int) -> Self:
        """What an older version wrote as a number alone: tokens."""
        return cls(tokens)

    @property
    def dollars(self) -> float:
        """The money in US dollars."""
        return self.nanodollars / NANO

    def __bool__(self) -> bool:
        """Whether it is more or less than nothing."""
        return bool(self.tokens or self.nanodollars or self.model_calls or self.tool_calls)

    def __add__(self, other: "Amount") -> "Amount":
        """Both together."""
        if other is ZERO:  # as most are that accounts add up, with each check-in a dozen
            return self
        return Amount(
            self.tokens + other.tokens,
            self.nanodollars + other.nanodollars,
            self.model_calls + other.model_calls,
            self.tool_calls + other.tool_calls,
        )

    def __sub__(self, other: "Amount") -> "Amount":
        """What is left without the other; a field of it may be negative."""
        if other is ZERO:
            return self
        return Amount(
            self.tokens - other.tokens,
            self.nanodollars - other.nanodollars,
            self.model_calls - other.model_calls,
            self.tool_calls - other.tool_calls,
        )

    def within(self, other: "Amount") -> "Amount":
        """The lesser of both, field by field."""
        return Amount(
            min(self.tokens, other.tokens),
            min(self.nanodollars, other.nanodollars),
            min(self.model_calls, other.model_calls),
            min(self.tool_calls, other.tool_calls),
        )

    @property
    def positive(self) -> "Amount":
        """The same, with nothing where a field is negative."""
        return Amount(*(max(0, part) for part in self.parts))

    @property
    def parts(self) -> tuple[int, int, int, int]:
        """Its fields, in order."""
        return self.tokens, self.nanodollars, self.model_calls, self.tool_calls


ZERO = Amount()
