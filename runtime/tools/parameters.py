"""What can be known of a function's parameters without pydantic."""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, get_type_hints

from ..errors import ToolInvalid

__all__ = ("Function", "check_shape", "documented", "is_local", "plain_function", "read_hints", "signature_of")

Function = Callable[..., Any]

REFUSED = {
    inspect.Parameter.POSITIONAL_ONLY: "its parameter {name!r} is positional-only, and models name what they give",
    inspect.Parameter.VAR_POSITIONAL: "it takes *{name}, which no model can fill: take a list instead",
    inspect.Parameter.VAR_KEYWORD: "it takes **{name}, which no model can fill: take a dict instead",
}


def check_shape(tool: str, function: Function) -> None:
    """Refuse a function that no model could call, whatever its annotations mean.

    Raises:
        ToolInvalid: It is a generator or a method, or takes something without a name or an annotation.
    """
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise ToolInvalid(tool=tool, reason="it is a generator: return a list")
    for one in signature_of(tool, function).parameters.values():
        if one.kind in REFUSED:
            raise ToolInvalid(tool=tool, reason=REFUSED[one.kind].format(name=one.name))
        if one.annotation is one.empty:
            advice = " (of a method, make `tool(an_object.method)`)" if one.name in {"self", "cls"} else ""
            raise ToolInvalid(tool=tool, reason=f"its parameter {one.name!r} has no annotation{advice}")


def signature_of(tool: str, function: Function) -> inspect.Signature:
    """The parameters that a call may name: of a partial, what is left to give.

    Raises:
        ToolInvalid: There is no signature to read.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise ToolInvalid(tool=tool, reason=f"its parameters cannot be read ({error})") from None
    # To Python what a partial names is a default; whoever wrote the partial has decided it, and a key stays a secret.
    given = function.keywords if isinstance(function, partial) else {}
    return signature.replace(parameters=[one for one in signature.parameters.values() if one.name not in given])


def is_local(function: Function) -> bool:
    """Whether it was defined inside another function, so that its module does not know all names it may use."""
    return "<locals>" in getattr(plain_function(function), "__qualname__", "")


def read_hints(tool: str, function: Function, names: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The parameters' annotations, with those written as text resolved. That of the result does not matter.

    Args:
        tool: For the error's sentence.
        function: Whose module says what names mean.
        names: What it says of more names.

    Raises:
        ToolInvalid: A name in an annotation means nothing.
    """
    every = signature_of(tool, function).parameters.values()
    raw = {one.name: one.annotation for one in every if one.annotation is not one.empty}
    known = getattr(inspect.unwrap(plain_function(function)), "__globals__", {})
    # Not of the function itself: a result's type that only type checkers import would be looked up as well.
    carrier = type("Parameters", (), {"__annotations__": raw})
    try:
        return get_type_hints(carrier, known, dict(names or {}), include_extras=True)
    except (NameError, AttributeError, SyntaxError, TypeError) as error:
        reason = f"its annotations cannot be read ({error}); apply @tool where those names are defined"
        raise ToolInvalid(tool=tool, reason=reason) from None


def plain_function(function: Function) -> Function:
    """The function with the annotations: of a partial, what it completes; of a class or an object, what is called."""
    function = completed(function)
    if inspect.isclass(function):
        return function.__init__
    return function if inspect.isroutine(function) else type(function).__call__


def documented(function: Function) -> object:
    """Whose docstring speaks of the function: for an object whose `__call__` has none, its class."""
    function = completed(function)
    if inspect.isroutine(function) or inspect.isclass(function):
        return function
    return type(function).__call__ if type(function).__call__.__doc__ else type(function)


def completed(function: Function) -> Function:
    """What a partial, perhaps of a partial, completes."""
    while isinstance(function, partial):
        function = function.func
    return function
