"""How long a provider asks its callers to wait.

The forms seen: `retry-after-ms`; `retry-after` as seconds or as a date; a sentence that says so; Google's `RetryInfo`.
"""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Final

from ..messages import Json
from .lenient import items, mapping, text

__all__ = ("retry_after",)

LONGEST = 3600.0
"""Seconds; a provider that asks for more is asked again after these."""

UNIT_SECONDS: Final = {"ms": 0.001, "h": 3600.0, "m": 60.0, "s": 1.0}
SPAN: Final = r"(\d+(?:\.\d+)?) ?(ms|h(?:ours?)?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?)(?![a-z]) ?"
SPANS: Final = re.compile(SPAN)
SAID: Final = re.compile(rf"(?:retry|try again) (?:in|after) ((?:{SPAN})+)")


def retry_after(headers: Mapping[str, str], error: Mapping[str, Json], sentence: str) -> float | None:
    """Seconds to wait, from 0 to `LONGEST`; None when the provider does not say, or not so that it can be understood.

    Args:
        headers: Names in lower case.
        error: The error object of the body.
        sentence: What the error says to a person.
    """
    for wait in waits(headers, error, sentence):
        if wait is not None and not math.isnan(wait):
            return min(max(wait, 0.0), LONGEST)
    return None


def waits(headers: Mapping[str, str], error: Mapping[str, Json], sentence: str) -> Iterator[float | None]:
    """What each of the places says, the most precise one first."""
    if milliseconds := headers.get("retry-after-ms"):
        told = number(milliseconds)
        yield None if told is None else told / 1000
    if told_at := headers.get("retry-after"):
        seconds = number(told_at)
        yield seconds if seconds is not None else until(told_at, headers.get("date", ""))
    for detail in items(error.get("details")):
        yield duration(text(mapping(detail).get("retryDelay")))
    if said := SAID.search(sentence.lower()):
        yield duration(said[1])


def duration(told: str) -> float | None:
    """The seconds of a text as in `1m12.5s` or `48 seconds`; None when it has none."""
    spans = SPANS.findall(told)
    return sum(float(number) * UNIT_SECONDS["ms" if unit == "ms" else unit[0]] for number, unit in spans) or None


def number(told: str) -> float | None:
    """The number, or None."""
    try:
        return float(told)
    except ValueError:
        return None


def until(date: str, now: str) -> float | None:
    """Seconds from the server's own `Date` to another date; None when one of them is none.

    The server's clock and not ours: the two may differ by more than the wait.
    """
    from email.utils import parsedate_to_datetime

    try:
        return (parsedate_to_datetime(date) - parsedate_to_datetime(now)).total_seconds()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
