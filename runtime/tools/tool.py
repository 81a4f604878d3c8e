"""`@tool`: a function that a model may call.

    @tool
    async def word_count(path: str) -> int: ...

    @tool(name="job", polling=True, timeout=5)
    def job_status(number: int) -> str: ...

The schema is made when it is first asked for, which is in the user's process when an agent is made. It travels with the
tool: an agent's process that gets a tool needs pydantic only once the model calls it.
"""

import copyreg
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from difflib import get_close_matches
from functools import cached_property
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, cast, overload

from ...protocols.messages import Json
from ...protocols.providers.base import ToolSchema
from ..errors import ToolInvalid
from .docstring import read_docstring
from .output import wants_context
from .parameters import Function, check_shape, documented, is_local, read_hints, signature_of
from .schema import arguments_model, parameters_schema

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ("Tool", "ToolOptions", "tool")

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What every provider takes as a tool's name."""

Condition = Callable[..., bool]


@dataclass(frozen=True, kw_only=True, eq=False)
class Tool:
    """A function that a model may call. Called itself, it calls the function.

    Attributes:
        name: What the model calls it.
        function: A sync one runs in a thread; an async one must not block, the agent's other work waits for it.
        description: For the model; empty: the function's docstring.
        parameters: A hand-written JSON Schema of the arguments, of which only the outer level is checked; None: it is
            made from the signature, and arguments are converted to the parameters' types.
        replay: After a crash in mid-call: `"safe"` runs it again, `"never"` tells the model that it may have run.
        polling: Equal calls are no stall as long as their results differ.
        labels: Parameters that only name a call, as a title or a counter does: calls that differ in nothing else are
            equal.
        timeout: Seconds one call may take; None: no limit.
        concurrency: Calls that one agent runs at once, those left behind after their time not counted; None: no limit.
        approval: A call runs only once a person has allowed it.
        enable_if: Whether an agent gets it, told from its configuration (or, without a parameter, from elsewhere).
        annotations: The parameters' types where the function's module does not know them all.

    Raises:
        ToolInvalid: The function cannot be a tool.
    """

    name: str
    function: Function
    description: str = ""
    parameters: Mapping[str, Json] | None = None
    replay: Literal["safe", "never"] = "never"
    polling: bool = False
    labels: tuple[str, ...] = ()
    timeout: float | None = None
    concurrency: int | None = None
    approval: bool = False
    enable_if: Condition | None = None
    annotations: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        """Refuse what no call could get right."""
        if not NAME.fullmatch(self.name):
            raise ToolInvalid(tool=self.name, reason="its name must be 1 to 64 letters, digits, _ or -; give name=...")
        if self.timeout is not None and not self.timeout > 0:
            raise ToolInvalid(tool=self.name, reason="its timeout must be above 0 seconds, or None")
        if self.concurrency is not None and self.concurrency < 1:
            raise ToolInvalid(tool=self.name, reason="its concurrency must be at least 1, or None")
        if self.replay not in {"safe", "never"}:
            raise ToolInvalid(tool=self.name, reason=f"replay is 'safe' or 'never', not {self.replay!r}")
        if self.parameters is None:
            check_shape(self.name, self.function)
        if self.labels:
            self._check_labels()

    def _check_labels(self) -> None:
        given = self.parameters
        names = signature_of(self.name, self.function).parameters if given is None else given.get("properties", {})
        if isinstance(self.labels, str) or not set(self.labels) <= set(cast("Mapping[str, object]", names)):
            raise ToolInvalid(tool=self.name, reason=f"labels must name some of its parameters, not {self.labels!r}")

    def __call__(self, *args: object, **kwargs: object) -> Any:  # noqa: ANN401  whatever the function gives
        """Call the function, as if it were no tool."""
        return self.function(*args, **kwargs)

    @cached_property
    def schema(self) -> ToolSchema:
        """The tool as a model sees it.

        Raises:
            ToolInvalid: An annotation cannot be resolved, or is a type that no JSON becomes.
        """
        description = self.description or read_docstring(documented(self.function))[0]
        parameters = self.parameters
        if parameters is None:
            parameters = parameters_schema(self.name, self.model, self.hints)
        return ToolSchema(self.name, description, parameters)

    @cached_property
    def hints(self) -> Mapping[str, Any]:
        """Types of the parameters, by name."""
        return read_hints(self.name, self.function) if self.annotations is None else self.annotations

    @cached_property
    def contexts(self) -> tuple[str, ...]:
        """Parameters that the runtime fills in."""
        return tuple(name for name, hint in self.hints.items() if wants_context(hint))

    @cached_property
    def model(self) -> "type[BaseModel]":
        """What reads the arguments of a tool without hand-written parameters."""
        return arguments_model(self.name, self.function, self.hints, read_docstring(documented(self.function))[1])

    @cached_property
    def on_loop(self) -> bool:
        """It runs on the agent's loop, not in a thread."""
        return any(map(inspect.iscoroutinefunction, (self.function, type(self.function).__call__)))

    @property
    def path(self) -> str | None:
        """`module:qualname`, under which every process that has the module finds this very tool; None: it has none."""
        module = getattr(self.function, "__module__", "")
        qualname = getattr(self.function, "__qualname__", "")
        if module == "__main__" or carried_by_value(module):
            return None
        try:
            found = attrgetter(qualname)(sys.modules[module])
        except (KeyError, AttributeError):
            return None
        return f"{module}:{qualname}" if found is self else None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by path where there is one, else by value; either way with the schema."""
        if self.path is not None:
            return recall, (self.path, self.schema)
        # Cloudpickle copies this sentinel, by whose identity dataclasses among the parameters' types are understood.
        copyreg.pickle(type(MISSING), missing_by_name)
        state = {one.name: getattr(self, one.name) for one in fields(self)}
        # In `__main__` annotations written as text name things that another process does not have.
        return blank, (), state | {"annotations": self.hints, "schema": self.schema}


def blank() -> Tool:
    """A tool whose fields are yet to come: its function may refer to it, so it is there before they are."""
    return Tool.__new__(Tool)


def missing_by_name(_: object) -> str:
    """How `dataclasses.MISSING` is pickled: as what its module calls it."""
    return "MISSING"


def recall(path: str, schema: ToolSchema) -> Tool:
    """The tool that this process has under `path`.

    Raises:
        ToolInvalid: There is something else.
    """
    module, _, qualname = path.partition(":")
    found = attrgetter(qualname)(import_module(module))
    if not isinstance(found, Tool):
        raise ToolInvalid(tool=path, reason="in this process it is something else")
    vars(found).setdefault("schema", schema)  # where `cached_property` looks first
    return found


def carried_by_value(module: str) -> bool:
    """Whether the user told cloudpickle, or Ray's copy of it, that other processes lack this module."""
    picklers = [sys.modules[name] for name in ("cloudpickle", "ray.cloudpickle") if name in sys.modules]
    named = {name for pickler in picklers for name in pickler.list_registry_pickle_by_value()}
    return any(f"{module}.".startswith(f"{name}.") for name in named)


class ToolOptions(TypedDict, total=False):
    """What `@tool(...)` takes: the fields of `Tool` that a function does not say itself."""

    description: str
    parameters: Mapping[str, Json]
    replay: Literal["safe", "never"]
    polling: bool
    labels: tuple[str, ...]
    timeout: float | None
    concurrency: int | None
    approval: bool
    enable_if: Condition


@overload
def tool(function: Function, /) -> Tool: ...
@overload
def tool(*, name: str = "", **options: Unpack[ToolOptions]) -> Callable[[Function], Tool]: ...
def tool(
    function: Function | None = None, /, *, name: str = "", **options: Unpack[ToolOptions]
) -> Tool | Callable[[Function], Tool]:
    """Make a tool of a function: `@tool`, or `@tool(timeout=5)` with fields of `Tool`.

    Raises:
        ToolInvalid: The function cannot be a tool.
    """

    def decorate(function: Function) -> Tool:
        return made(function, name, options, caller_names())

    return decorate if function is None else made(function, name, options, caller_names())


def check_options(tool: str, options: Iterable[str]) -> None:
    """Refuse an option that nobody would read.

    Raises:
        ToolInvalid: There is one; the nearest that there is is named.
    """
    known = ("name", *ToolOptions.__annotations__)
    for name in options:
        if name not in known:
            near = get_close_matches(name, known, 1)
            advice = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
            raise ToolInvalid(tool=tool, reason=f"@tool has no option {name!r} ({advice})")


def caller_names() -> Mapping[str, Any]:
    """What the code that decorates calls things: what the annotations of a function inside a function may name."""
    here = inspect.currentframe()
    caller = here and here.f_back and here.f_back.f_back
    return caller.f_locals if caller else {}


def made(function: Function, name: str, options: ToolOptions, names: Mapping[str, Any]) -> Tool:
    """A tool; `names` are what the code around a local function calls things."""
    name = name or getattr(function, "__name__", "")
    check_options(name, options)
    annotations = read_hints(name, function, names) if is_local(function) else None
    return Tool(name=name, function=function, annotations=annotations, **options)
