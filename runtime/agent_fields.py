"""An agent's description, field by field: the forms in which people have what goes into it, and what fits nowhere."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ..protocols.errors import PresetInvalid
from ..protocols.presets import Strict
from .errors import ToolInvalid
from .given import is_name
from .tools.builtin import BUILTIN
from .tools.spawn_agent import SPAWN_AGENT, STOP_AGENT
from .tools.tool import Tool, tool
from .typed import OutputType

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ("check_tool_names", "of", "output_of", "peers_of", "sequence_of", "tool_of")

T = TypeVar("T", bound=Strict)


def sequence_of(field: str, kinds: tuple[type, ...], given: object) -> tuple[object, ...]:
    """The values of a field of `Agent` that takes several, each of one of the kinds.

    Raises:
        PresetInvalid: It is no sequence of such values.
    """
    what = " or ".join(kind.__name__ for kind in kinds)
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        reason = f"Agent.{field} must be a list, not {given!r}: each of its values is a {what}."
        raise PresetInvalid(field=field, reason=reason)
    values = tuple(cast("Iterable[object]", given))
    for place, each in enumerate(values):
        if not isinstance(each, kinds):
            raise PresetInvalid(field=field, reason=f"Agent.{field}[{place}] must be a {what}, not {each!r}.")
    return values


def peers_of(given: object) -> tuple[str, ...] | None:
    """The names of an agent's peers; None as it is: everybody.

    Raises:
        PresetInvalid: It is no list of names.
    """
    if given is None:
        return None
    names = cast("tuple[str, ...]", sequence_of("peers", (str,), given))
    for place, name in enumerate(names):
        if not is_name(name):
            raise PresetInvalid(field="peers", reason=f"Agent.peers[{place}] must be an agent's name, not {name!r}.")
    return tuple(dict.fromkeys(names))


def output_of(given: "OutputType | type[BaseModel] | None") -> OutputType | None:
    """An output type as it is, or one made of a pydantic model.

    Raises:
        PresetInvalid: It is no such model, or no JSON object becomes one.
    """
    return given if given is None or isinstance(given, OutputType) else OutputType(given)


def tool_of(given: Tool | Callable[..., Any]) -> Tool:
    """A tool as it is, or one made of a function.

    Raises:
        ToolInvalid: The function cannot be a tool.
    """
    return given if isinstance(given, Tool) else tool(given)


def check_tool_names(tools: Iterable[Tool]) -> None:
    """Check that a model can tell the tools of one agent from each other and from the built-in ones.

    Raises:
        ToolInvalid: A name is taken.
    """
    names = (*(each.name for each in BUILTIN), SPAWN_AGENT, STOP_AGENT)
    taken = dict.fromkeys(names, "it is a built-in tool's name: choose another")
    for each in tools:
        if each.name in taken:
            raise ToolInvalid(tool=each.name, reason=taken[each.name])
        taken[each.name] = "two tools of one agent have this name"


def of(cls: type[T], field: str, given: T | Mapping[str, Any] | None) -> T:
    """The value itself, one read from a mapping, or the default one.

    Raises:
        PresetInvalid: It is none of these.
    """
    if isinstance(given, cls):
        return given
    if given is None or isinstance(given, Mapping):
        return cls.parse(given or {})
    raise PresetInvalid(
        field=field, reason=f"{field} must be {cls.__name__}(...) or its fields by name, not {given!r}."
    )
