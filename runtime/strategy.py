"""Finds a strategy by its import path, the same in every process."""

from importlib import import_module
from operator import attrgetter
from typing import cast

from ..protocols.errors import PresetInvalid
from .step.strategies import BuiltinStrategy, Strategy

__all__ = ("load_strategy",)

METHODS = ("next_node", "stalled", "compact", "final_prompt")


def load_strategy(path: str) -> Strategy:
    """The object under `module:name`, or one made of the class that is there; empty: the built-in one.

    Raises:
        PresetInvalid: There is nothing under that path, or no strategy; the reason says what it lacks.
    """
    if not path:
        return BuiltinStrategy()
    module, _, name = path.partition(":")
    if not (module and name):
        raise PresetInvalid(field="strategy", reason=f"Agent.strategy is an import path as module:name, not {path!r}.")
    try:
        found = attrgetter(name)(import_module(module))
        strategy = found() if isinstance(found, type) else found
    except Exception as error:  # a user's module may raise anything when it is imported
        reason = f"Agent.strategy {path!r} cannot be loaded: {type(error).__name__}: {error}"
        raise PresetInvalid(field="strategy", reason=reason) from error
    lacking = [method for method in METHODS if not callable(getattr(strategy, method, None))]
    if lacking:
        reason = f"Agent.strategy {path!r} lacks {', '.join(lacking)}: derive it from BuiltinStrategy."
        raise PresetInvalid(field="strategy", reason=reason)
    return cast("Strategy", strategy)
