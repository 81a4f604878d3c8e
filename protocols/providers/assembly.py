"""Tool calls put together from the pieces of a stream.

A piece says to which call it belongs by `index`, which not every server counts: some send 0 for all calls, some begin
at 1, some send none. So a call is told from the next one by its id and name as well.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..messages import Json
from .lenient import compact, is_object, mapping, text

__all__ = ("CallAssembly", "identifier", "own_extra")

OWN_FIELDS = frozenset({"id", "type", "function", "index"})


def identifier(value: Json) -> str:
    """A call's id as text; empty where there is none."""
    return str(value) if isinstance(value, int) else text(value)


def own_extra(call: Mapping[str, Json]) -> dict[str, Json]:
    """The fields of a call that only its provider understands."""
    return {name: value for name, value in call.items() if name not in OWN_FIELDS and value is not None}


@dataclass(slots=True)
class Partial:
    """One call so far."""

    id: str
    name: str
    pieces: list[str]
    extra: dict[str, Json] = field(default_factory=dict[str, Json])

    @classmethod
    def read(cls, piece: Json) -> "Partial":
        """What one piece says."""
        fields = mapping(piece)
        function = mapping(fields.get("function"))
        arguments = function.get("arguments")
        # null is as good as nothing; an object is already whole.
        told = text(arguments) if arguments is None or isinstance(arguments, str) else compact(arguments)
        return cls(identifier(fields.get("id")), text(function.get("name")), [told], own_extra(fields))

    @property
    def arguments(self) -> str:
        """The arguments so far."""
        return "".join(self.pieces)

    @property
    def whole(self) -> bool:
        """Whether the arguments are a whole JSON object, to which no piece can be added."""
        return self.pieces[-1].rstrip().endswith("}") and is_object(self.arguments)

    def ends_before(self, piece: "Partial") -> bool:
        """Whether `piece` begins another call."""
        if not piece.name:
            return False  # some servers send a new random id with each piece, but a name only at the beginning
        if self.id and piece.id and self.id != piece.id:
            return True
        if not self.whole:
            return False
        return piece.name != self.name or piece.arguments.strip() not in {"", self.arguments}

    def extend(self, piece: "Partial") -> None:
        """Add a piece: names and whole calls that are merely said again change nothing."""
        self.id = self.id or piece.id
        self.extra.update(piece.extra)
        if piece.name == self.name and piece.arguments and self.whole:
            return
        if piece.name != self.name:
            self.name += piece.name
        self.pieces += [told for told in piece.pieces if told]

    def plain(self) -> Json:
        """The call in the shape it has in an answer that is not streamed."""
        function: dict[str, Json] = {"name": self.name, "arguments": self.arguments}
        return {"id": self.id, "type": "function", "function": function, **self.extra}


class CallAssembly:
    """The calls of one streamed answer."""

    def __init__(self) -> None:
        """Begin without calls."""
        self._calls: list[Partial] = []
        self._current: dict[int, Partial] = {}

    def add(self, pieces: list[Json]) -> None:
        """Take the `tool_calls` of one event."""
        for place, plain in enumerate(pieces):
            index = mapping(plain).get("index")
            slot = index if isinstance(index, int) else place
            piece = Partial.read(plain)
            current = self._current.get(slot)
            if current is None or current.ends_before(piece):
                self._current[slot] = piece
                self._calls.append(piece)
            else:
                current.extend(piece)

    def plain(self) -> list[Json]:
        """All calls in the order in which they began, in the shape of an answer that is not streamed."""
        return [call.plain() for call in self._calls]
