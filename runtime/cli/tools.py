"""`--tools module:attribute`: a user's own functions."""

import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any, cast

from ..step.raised import sentence
from ..tools.tool import Tool, tool
from .errors import ToolsMissing

__all__ = ("tools_named",)


def tools_named(names: Sequence[str]) -> tuple[Tool, ...]:
    """The tools that `--tools` names; modules are looked for in the current folder first, as Python itself does.

    Raises:
        ToolsMissing: A name has not the right form, cannot be imported, or is neither a function nor several.
        ToolInvalid: A function cannot be a tool.
    """
    here = str(Path.cwd())
    if names and here not in sys.path:
        sys.path.insert(0, here)
    return tuple(made for name in names for made in found(name))


def found(name: str) -> tuple[Tool, ...]:
    """The tool, or the several tools, under one name."""
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise ToolsMissing(named=name, reason="it should read module:attribute, as in my_tools:word_count")
    thing = attribute_of(name, module, attribute)
    several = cast("Sequence[object]", thing) if isinstance(thing, list | tuple) else (thing,)
    if not several or not all(map(callable, several)):
        raise ToolsMissing(named=name, reason="it is neither a function nor a list of functions")
    return tuple(
        each if isinstance(each, Tool) else tool(each) for each in cast("Sequence[Callable[..., Any]]", several)
    )


def attribute_of(name: str, module: str, attribute: str) -> object:
    """What a module holds; whatever goes wrong while it is imported is told in one sentence."""
    try:
        with redirect_stdout(sys.stderr):  # what the module prints is no part of what the command was asked for
            return attrgetter(attribute)(import_module(module))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # the module is a user's own and may raise anything
        raise ToolsMissing(named=name, reason=sentence(error).rstrip(".")) from error
