"""Asks a strategy, and makes sure that something usable comes of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from ...protocols.notices import NoticeType
from .effects import Notify

__all__ = ("Judged", "judge")

T = TypeVar("T")


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
        flaw = f"it gave {value!r:.200}, which does not fit"
    except Exception as error:  # noqa: BLE001  a user's code must not end the agent's loop
        flaw = f"{type(error).__name__}: {error}"
    text = f"The strategy's {name} is passed over: {flaw}"
    return Judged(otherwise, (Notify(NoticeType.STEP, "strategy_failed", text, {"method": name}, warning=True),))
