"""Whether something goes round and round."""

from collections.abc import Sequence

__all__ = ("LONGEST_PERIOD", "period_of")

LONGEST_PERIOD = 4
"""The longest cycle that is looked for."""


def period_of(things: Sequence[object], times: int) -> int:
    """Length of the shortest cycle that the newest things went through at least so many times; 0: none.

    Args:
        things: Oldest first.
        times: At least 2.
    """
    for period in range(1, LONGEST_PERIOD + 1):
        tail = things[-period * times :]
        if len(tail) == period * times and all(tail[at] == tail[at - period] for at in range(period, len(tail))):
            return period
    return 0
