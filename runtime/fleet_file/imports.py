"""What import paths lead to: a user's tools, hooks and output types."""

import re
import sys
from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module, invalidate_caches
from inspect import isfunction
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ..errors import RunError
from ..hooks import Hooks
from ..step.raised import sentence
from ..tools.tool import Tool
from .schema import IMPORT_PATTERN

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ("Unusable", "look_in", "read_hooks", "read_output", "read_strategy", "read_tool")

IMPORT_PATH = re.compile(IMPORT_PATTERN)


class Unusable(Exception):
    """An import path leads to nothing that can be used; the text says why."""


def look_in(folder: Path) -> None:
    """Have Python look for modules in a folder first, as it does in that of a program."""
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    invalidate_caches()  # a module may have been written a moment ago


def read_tool(path: str) -> Tool:
    """The tool under an import path.

    Raises:
        Unusable: There is none.
    """
    found = thing_at(path)
    if isinstance(found, Tool):
        return found
    what = "a function without @tool: put @tool above it" if isfunction(found) else f"of type {type(found).__name__}"
    raise Unusable(f"{path} is no tool, it is {what}.")


def read_hooks(path: str) -> Hooks:
    """The hooks under an import path: an object, or a class that is called without arguments.

    Raises:
        Unusable: There are none.
    """
    found = thing_at(path)
    made = outcome_of(f"{path}()", cast("Callable[[], object]", found)) if is_hooks_class(found) else found
    if not isinstance(made, Hooks):
        raise Unusable(f"{path} is no Hooks, it is of type {type(made).__name__}.")
    return made


def is_hooks_class(found: object) -> bool:
    """Whether it is a class of hooks, not one of them."""
    return isinstance(found, type) and issubclass(found, Hooks)


def read_output(path: str) -> "type[BaseModel]":
    """The class under an import path; whether it can be an output type is looked at where an agent is made of it.

    Raises:
        Unusable: There is nothing.
    """
    return cast("type[BaseModel]", thing_at(path))


def read_strategy(path: str) -> str:
    """The path itself, if there is something; whether it is a strategy is looked at where an agent is made.

    Raises:
        Unusable: There is nothing.
    """
    thing_at(path)
    return path


def thing_at(path: str) -> object:
    """What a module holds under a name.

    Raises:
        Unusable: There is no such module, it cannot be imported, or it has no such name.
    """
    if not IMPORT_PATH.fullmatch(path):
        raise Unusable(f'This must be an import path, as in mytools:word_count, not "{path:.40}".')
    name, _, attributes = path.partition(":")
    found: object = module_named(name)
    for attribute in attributes.split("."):
        try:
            found = getattr(found, attribute)
        except AttributeError:
            near = get_close_matches(attribute, [each for each in dir(found) if not each.startswith("_")], 1)
            meant = f" Did you mean {near[0]}?" if near else ""
            raise Unusable(f'The module {name} has no "{attributes}".{meant}') from None
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a module may have a `__getattr__` of its own
            raise Unusable(failure(f"{path} cannot be looked up", error)) from error
    return found


def module_named(name: str) -> object:
    """A module.

    Raises:
        Unusable: There is none of that name, or it raises something when it is imported.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name and f"{name}.".startswith(f"{error.name}."):
            text = f'There is no module "{error.name}" in the folder of the file, nor elsewhere on PYTHONPATH.'
            raise Unusable(text) from None
        raise Unusable(failure(f"The module {name} cannot be imported", error)) from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # the module is a user's own and may raise anything
        raise Unusable(failure(f"The module {name} cannot be imported", error)) from error


def outcome_of(what: str, make: Callable[[], Any]) -> object:
    """What a user's own class makes.

    Raises:
        Unusable: It raises something.
    """
    try:
        return make()
    except RunError as error:
        raise Unusable(str(error)) from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise Unusable(failure(f"{what} fails", error)) from error


def failure(what: str, error: BaseException) -> str:
    """What went wrong, in one sentence."""
    return f"{what}: {sentence(error).rstrip('.')}."
