"""Asks a strategy, and makes sure that something usable comes of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Generic, TypeVar

from ...protocols.notices import NoticeType
from .effects import Notify
from .raised import sentence

__all__ = ("Judged", "judge")

T = TypeVar("T")

FITTING: Mapping[str, str] = MappingProxyType(
    {
        "stalled": "a bool",
        "compact": "a whole number of rounds from 0, or None",
        "next_node": "the id of a node that is ready, or None",
        "final_prompt": "a text that says something, or None",
    }
)
"""What each method of a strategy may give, for who gives something else."""


@dataclass(frozen=True, slots=True)
class Judged(Generic[T]):
    """What a strategy decided, or what counts instead; `told` has the notice that says why."""

    value: T
    told: tuple[Notify, ...] = ()


def judge(name: str, ask: Callable[[], T], fits: Callable[[object], bool], *, otherwise: T) -> Judged[T]:
    """Ask a strategy's method. Whatever it does, something that `fits` comes of it."""
    try:
        value = ask()
        if fits(value):
            return Judged(value)
        flaw = f"it gave {value!r:.200}, which does not fit: {FITTING[name]} would"
    except BaseException as error:  # noqa: BLE001  a user's code must end neither the agent's loop nor the program
        flaw = sentence(error)
    text = f"The strategy's {name} is passed over: {flaw}"
    return Judged(otherwise, (Notify(NoticeType.STEP, "strategy_failed", text, {"method": name}, warning=True),))
