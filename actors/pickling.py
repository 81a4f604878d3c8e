"""What of an agent cannot go to another process."""

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from functools import partial
from inspect import getclosurevars
from types import FunctionType, MethodType
from typing import Any, cast

from ray import cloudpickle

from ..protocols.errors import FleetError
from ..runtime.errors import Unpicklable

__all__ = ("check_picklable",)

DEPTH = 12
"""Attributes of attributes that are looked at."""

Part = tuple[str, object]
"""A part of something: what leads from the whole to it, as Python spells it, and the part itself."""


def check_picklable(value: object, path: str) -> None:
    """Make sure that a value can go to another process.

    Args:
        value: What is to go there.
        path: What it is called, for the error.

    Raises:
        Unpicklable: It cannot; the error's path leads to the innermost part that cannot.
    """
    reason = refusal(value)
    if reason is None:
        return
    where, reason = innermost(value, path, reason)
    raise Unpicklable(path=where, reason=reason)


def refusal(value: object) -> str | None:
    """Why a value cannot be pickled; None when it can.

    Raises:
        FleetError: Whatever of ours was raised by the way.
    """
    try:
        cast("Any", cloudpickle).dumps(value)  # Ray does not type it
    except FleetError:
        raise
    except Exception as error:  # noqa: BLE001  anything may come out of a user's __reduce__
        return f"{type(error).__name__}: {' '.join(str(error).split())}".rstrip(".")
    return None


def innermost(value: object, path: str, reason: str) -> tuple[str, str]:
    """Follow what cannot be pickled inwards; gives where it ends and why."""
    for _ in range(DEPTH):
        for step, part in parts(value):
            why = refusal(part)
            if why is not None:
                value, path, reason = part, path + step, why
                break
        else:
            break
    return path, reason


def parts(value: object) -> Iterator[Part]:
    """What a value is made of, as pickle sees it."""
    match value:
        case FunctionType():
            yield from variables(value)
        case MethodType():
            yield ".__self__", value.__self__
        case partial():
            yield from ((".func", value.func), (".args", value.args), (".keywords", value.keywords))
        case Mapping():
            items: Mapping[Any, object] = value
            yield from ((f"[{key!r}]", item) for key, item in items.items())
        case list() | tuple():
            sequence: list[object] | tuple[object, ...] = value
            yield from ((f"[{index}]", item) for index, item in enumerate(sequence))
        case AbstractSet():
            members: AbstractSet[Any] = value
            yield from (("", member) for member in members)
        case _ if is_dataclass(value) and not isinstance(value, type):
            yield from ((f".{each.name}", getattr(value, each.name)) for each in fields(value))
        case _:
            yield from ((f".{name}", item) for name, item in getattr(value, "__dict__", {}).items())


def variables(function: FunctionType) -> Iterator[Part]:
    """What a function reads from outside of itself, and its defaults."""
    outside = getclosurevars(function)
    for name, item in {**outside.nonlocals, **outside.globals}.items():
        yield f".{name}", item
    for item in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
        yield ".__defaults__", item
