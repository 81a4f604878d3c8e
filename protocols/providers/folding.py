"""The pieces of a streamed field, folded into the value it has in an answer that is not streamed."""

from collections.abc import Sequence

from ..messages import Json
from .lenient import items, mapping

__all__ = ("fold",)

GROWING = frozenset({"content", "reasoning_content", "reasoning", "refusal", "text", "thinking", "summary"})
"""Fields whose strings come in pieces. Other strings (a type, a signature, a channel) come whole, again and again."""

SAME = ("type", "index", "id")
"""What two neighbouring parts must have in common to be one part in two pieces."""


def fold(name: str, pieces: Sequence[Json]) -> Json:
    """The whole value of the field `name`; `pieces` is not empty."""
    if all(isinstance(piece, str) for piece in pieces):
        return "".join(map(str, pieces)) if name in GROWING else pieces[-1]
    if any(isinstance(piece, list) for piece in pieces):
        return fold_parts(pieces)
    if all(isinstance(piece, dict) for piece in pieces):
        return fold_objects(pieces)
    return pieces[-1]


def fold_objects(pieces: Sequence[Json]) -> dict[str, Json]:
    """One object from several: each field folded from the pieces that have it."""
    told: dict[str, list[Json]] = {}
    for piece in pieces:
        for name, value in mapping(piece).items():
            if value is not None:
                told.setdefault(name, []).append(value)
    return {name: fold(name, values) for name, values in told.items()}


def fold_parts(pieces: Sequence[Json]) -> list[Json]:
    """One list of parts from lists, and from strings among them, which are parts of type `text`."""
    runs: list[list[Json]] = []
    for piece in pieces:
        for part in items(piece) if not isinstance(piece, str) else text_parts(piece):
            if runs and continues(runs[-1][-1], part):
                runs[-1].append(part)
            else:
                runs.append([part])
    return [fold_objects(run) if isinstance(run[0], dict) else run[0] for run in runs]


def text_parts(piece: str) -> list[Json]:
    """A string among parts; an empty one is none."""
    return [{"type": "text", "text": piece}] if piece else []


def continues(before: Json, part: Json) -> bool:
    """Whether a part is the next piece of the one before it."""
    if not isinstance(before, dict) or not isinstance(part, dict):
        return False
    return all(before.get(name) == part.get(name) for name in SAME)
