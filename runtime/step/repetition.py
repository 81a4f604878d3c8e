"""Whether something goes round and round."""

from collections.abc import Sequence

__all__ = ("LONGEST_PERIOD", "comes_round", "period_of")

LONGEST_PERIOD = 4
"""The longest cycle that is looked for."""


def comes_round(things: Sequence[object], period: int, times: int) -> bool:
    """Whether the newest things went through a cycle of that length at least so many times.

    Args:
        things: Oldest first.
        period: At least 1.
        times: At least 2.
    """
    tail = things[-period * times :]
    return len(tail) == period * times and all(tail[at] == tail[at - period] for at in range(period, len(tail)))


def period_of(things: Sequence[object], times: int) -> int:
    """Length of the shortest cycle that the newest things went through at least so many times; 0: none.

    Args:
        things: Oldest first.
        times: At least 2.
    """
    return next((period for period in range(1, LONGEST_PERIOD + 1) if comes_round(things, period, times)), 0)
