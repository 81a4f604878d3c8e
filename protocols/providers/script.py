"""What a scripted model says, move by move: plain data, so that a preset with a script crosses processes.

    [call("word_count", path="a.txt"), fail("ProviderBusy", after=0.5), say("It has 12 words.")]

A move is an object with one of these fields:

- `say`: a text. With it, or alone, `calls`: a list of `{"name": ..., "arguments": ...}`, the arguments an object, or a
  text that is sent as it is. Beside them may stand `reasoning`, `finish` (a `Finish`) and `usage`, what the model
  claims to have cost, as in `{"prompt": 10, "completion": 2}`;
- `fail`: the name of a `ProviderError`. Beside it may stand its `sentence` and `after`;
- `repeat`: a move that is made for ever; it is the last one.

After the last move every request fails with `BadRequest`: a script that is too short fails its run.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from .. import errors
from ..errors import BadRequest, PresetInvalid, ProviderError
from ..messages import Finish, Json, ToolCall, Usage
from .lenient import compact, count, items, mapping, text

__all__ = ("Fail", "Move", "Say", "Script", "call", "calls", "fail", "repeat", "say")

Move = dict[str, Json]

SAY_FIELDS = ("say", "calls", "reasoning", "usage", "finish")
FAIL_FIELDS = ("fail", "sentence", "after")
FAILURES: Final[dict[str, type[ProviderError]]] = {
    name: kind for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, ProviderError)
}


def say(
    words: str, *, reasoning: str | None = None, usage: Mapping[str, int] | None = None, finish: str | None = None
) -> Move:
    """A move: say `words`."""
    claimed: Json = None if usage is None else dict(usage)
    beside: Move = {"reasoning": reasoning, "usage": claimed, "finish": finish}
    return {"say": words, **{name: value for name, value in beside.items() if value is not None}}


def call(name: str, /, **arguments: Json) -> Move:
    """A move: call one tool."""
    return {"calls": [{"name": name, "arguments": arguments}]}


def calls(*moves: Move) -> Move:
    """A move: make the calls of several `call(...)` in one reply."""
    return {"calls": [each for move in moves for each in items(move.get("calls"))]}


def fail(kind: str, *, sentence: str = "", after: float | None = None) -> Move:
    """A move: raise the `ProviderError` named `kind`; `after` is the wait it asks for, in seconds."""
    return {"fail": kind, "sentence": sentence, "after": after}


def repeat(move: Move) -> Move:
    """A move: make `move` for ever."""
    return {"repeat": move}


@dataclass(frozen=True, slots=True)
class Say:
    """A move that answers. The calls have no ids yet; `usage` and `finish` are None where they follow from the rest."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    reasoning: str | None = None
    usage: Usage | None = None
    finish: Finish | None = None


@dataclass(frozen=True, slots=True)
class Fail:
    """A move that raises."""

    kind: type[ProviderError]
    sentence: str
    after: float | None

    def error(self) -> ProviderError:
        """The error, made anew for each time it is raised."""
        return self.kind(sentence=self.sentence, after=self.after)


OVER = Fail(BadRequest, "The script has no more moves.", None)
"""What a script without `repeat` does after its last move, so that a run that asks more often than foreseen fails."""


@dataclass(frozen=True, slots=True)
class Script:
    """Moves in order, and the one that is made ever after."""

    moves: tuple[Say | Fail, ...]
    rest: Say | Fail = OVER

    @classmethod
    def read(cls, plain: Json) -> "Script":
        """The script that plain data spell.

        Raises:
            PresetInvalid: A move is none; its number is named.
        """
        if not isinstance(plain, list):
            raise invalid("", "a script is a list of moves")
        last = mapping(plain[-1]) if plain else {}
        if "repeat" not in last:
            return cls(tuple(read_move(move, f"[{place}]") for place, move in enumerate(plain)))
        moves = tuple(read_move(move, f"[{place}]") for place, move in enumerate(plain[:-1]))
        check_fields(last, ("repeat",), f"[{len(moves)}]")
        return cls(moves, read_move(last["repeat"], f"[{len(moves)}].repeat"))

    def move(self, number: int) -> Say | Fail:
        """The move that answers request `number`, counted from 0."""
        return self.moves[number] if number < len(self.moves) else self.rest


def read_move(plain: Json, where: str) -> Say | Fail:
    """One move.

    Raises:
        PresetInvalid: It is none.
    """
    move = mapping(plain)
    if "repeat" in move:
        raise invalid(where, "repeat is for ever, so only the last move can be one")
    if "fail" in move:
        return read_fail(move, where)
    if move.keys().isdisjoint({"say", "calls"}):
        raise invalid(where, "a move has one of the fields say, calls, fail and repeat")
    check_fields(move, SAY_FIELDS, where)
    finish = move.get("finish")
    if finish is not None and finish not in set(Finish):
        raise invalid(where, f"finish is one of {', '.join(Finish)}")
    reasoning = move.get("reasoning")
    return Say(
        text(move.get("say")),
        tuple(read_call(each, f"{where}.calls[{place}]") for place, each in enumerate(items(move.get("calls")))),
        reasoning if isinstance(reasoning, str) else None,
        read_usage(move.get("usage"), where),
        None if finish is None else Finish(str(finish)),
    )


def read_fail(move: Mapping[str, Json], where: str) -> Fail:
    """A move that raises."""
    check_fields(move, FAIL_FIELDS, where)
    name, after = text(move.get("fail")), move.get("after")
    if name not in FAILURES:
        raise invalid(where, f"fail names one of {', '.join(FAILURES)}")
    if after is not None and not isinstance(after, int | float):
        raise invalid(where, "after is a number of seconds")
    return Fail(FAILURES[name], text(move.get("sentence")) or f"The script says {name}.", after)


def read_call(plain: Json, where: str) -> ToolCall:
    """One call, without an id."""
    fields = mapping(plain)
    check_fields(fields, ("name", "arguments"), where)
    name, arguments = text(fields.get("name")), fields.get("arguments", {})
    if not name:
        raise invalid(where, "a call has a name")
    return ToolCall("", name, arguments if isinstance(arguments, str) else compact(arguments))


def read_usage(plain: Json, where: str) -> Usage | None:
    """What a move claims to have cost."""
    if plain is None:
        return None
    fields = mapping(plain)
    check_fields(fields, ("prompt", "completion"), f"{where}.usage")
    return Usage(count(fields.get("prompt")), count(fields.get("completion")))


def check_fields(fields: Mapping[str, Json], known: Collection[str], where: str) -> None:
    """Refuse a field that nobody would read."""
    if unknown := sorted(fields.keys() - set(known)):
        raise invalid(where, f"no field {unknown[0]!r} is known here, only {', '.join(known)}")


def invalid(where: str, reason: str) -> PresetInvalid:
    """The error that names the place."""
    path = f"extra_body.script{where}"
    return PresetInvalid(field=path, reason=f"ModelPreset.{path}: {reason}.")
