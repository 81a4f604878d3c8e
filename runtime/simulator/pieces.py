"""A text in the pieces that a stream brings it in."""

from collections.abc import Iterator

__all__ = ("pieces",)

DELTA = 24
"""Characters of text in one streamed delta."""


def pieces(text: str) -> Iterator[str]:
    """`text` in pieces of `DELTA` characters; an empty one has none."""
    return (text[start : start + DELTA] for start in range(0, len(text), DELTA))
