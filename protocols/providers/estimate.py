"""Token counts where a provider gave none."""

from collections.abc import Mapping

from ..messages import Json, Usage
from .base import Draft

__all__ = ("estimate",)

BYTES_PER_TOKEN = 3
"""Estimates should rather be too high: English text has about four, other scripts fewer."""


def estimate(draft: Draft, answer: int, prompt: int, completion: int, raw: Mapping[str, Json]) -> Usage:
    """Usage from what was counted and, for what is 0, from bytes.

    Args:
        draft: The request.
        answer: Bytes of the answer's text, reasoning and calls.
        prompt: Tokens counted.
        completion: Tokens counted.
        raw: The provider's own numbers.
    """
    return Usage(
        prompt=prompt or draft.size // BYTES_PER_TOKEN + 1,
        completion=completion if prompt and completion else answer // BYTES_PER_TOKEN + 1,
        estimated=True,
        raw=raw,
    )
