"""Every error of the tree crosses a process border with its type, its facts and its sentence."""

import enum
import importlib
import inspect
import pickle
import pkgutil
import types
import typing
from collections.abc import Iterator, Mapping

import pytest

import amrita_fleet
from amrita_fleet.protocols.errors import FleetError

pytestmark = pytest.mark.ray  # the modules of `actors` are imported too

SKIPPED = ("amrita_fleet.__main__", "amrita_fleet.runtime.cli")
SAMPLES: dict[object, object] = {str: "x", int: 3, float: 1.5, bool: True, bytes: b"x", object: "x", typing.Any: "x"}


def module_names(package: types.ModuleType) -> Iterator[str]:
    for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        if found.name in SKIPPED:
            continue
        yield found.name
        if found.ispkg:
            yield from module_names(importlib.import_module(found.name))


def descendants(root: type[FleetError]) -> Iterator[type[FleetError]]:
    yield root
    for child in root.__subclasses__():
        yield from descendants(child)


@pytest.fixture(scope="module")
def tree() -> list[type[FleetError]]:
    """Every error class of the package, all modules imported."""
    for name in module_names(amrita_fleet):
        importlib.import_module(name)
    unique = {cls: None for cls in descendants(FleetError) if cls.__module__.startswith("amrita_fleet.")}
    return list(unique)


def sample(annotation: object) -> object:
    """A value for a constructor's parameter: plain data only, since only that may cross a process border."""
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation in SAMPLES:
        return SAMPLES[annotation]
    if types.NoneType in inner:
        return None
    if origin in {typing.Union, types.UnionType, typing.Annotated, typing.Literal}:
        return inner[0] if origin is typing.Literal else sample(inner[0])
    if isinstance(annotation, typing.NewType):
        return sample(annotation.__supertype__)
    return sample_of_class(origin or annotation)


def sample_of_class(cls: object) -> object:
    if not isinstance(cls, type):
        raise TypeError(f"an error should carry plain data, not {cls!r}")
    if issubclass(cls, enum.Enum):
        return next(iter(cls))
    if issubclass(cls, str):
        return cls("x")
    if issubclass(cls, Mapping):
        return {}
    return () if cls.__module__ == "collections.abc" else cls()


def parameters(cls: type[FleetError]) -> list[inspect.Parameter]:
    _, *after_self = inspect.signature(cls.__init__).parameters.values()
    return after_self


def facts(cls: type[FleetError]) -> dict[str, object]:
    hints = typing.get_type_hints(cls.__init__)
    return {one.name: sample(hints[one.name]) for one in parameters(cls) if one.kind is one.KEYWORD_ONLY}


def build(cls: type[FleetError]) -> FleetError:
    return cls(**facts(cls))


def test_the_tree_has_branches(tree: list[type[FleetError]]) -> None:
    assert len(tree) > 1


def test_every_constructor_takes_keywords_only(tree: list[type[FleetError]]) -> None:
    positional = [cls.__qualname__ for cls in tree for one in parameters(cls) if one.kind is one.POSITIONAL_OR_KEYWORD]
    assert positional == []


def test_every_fact_given_is_an_attribute(tree: list[type[FleetError]]) -> None:
    lost = [f"{cls.__qualname__}.{name}" for cls in tree for name in facts(cls) if not hasattr(build(cls), name)]
    assert lost == []


def test_every_error_says_a_sentence_and_has_a_docstring(tree: list[type[FleetError]]) -> None:
    silent = [cls.__qualname__ for cls in tree if not vars(cls).get("__doc__") or (facts(cls) and not str(build(cls)))]
    assert silent == []


def test_only_the_root_says_how_errors_pickle(tree: list[type[FleetError]]) -> None:
    own = [cls.__qualname__ for cls in tree if cls is not FleetError and "__reduce__" in vars(cls)]
    assert own == []


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_every_error_survives_pickling(tree: list[type[FleetError]], protocol: int) -> None:
    broken: list[str] = []
    for cls in tree:
        before = build(cls)
        after: object = pickle.loads(pickle.dumps(before, protocol))
        if type(after) is not cls or vars(after) != vars(before) or str(after) != str(before):
            broken.append(cls.__qualname__)
    assert broken == []
