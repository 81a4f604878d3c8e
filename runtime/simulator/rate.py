"""How many requests a provider lets in within a second."""

import math
from collections import deque

__all__ = ("RateLimit",)

WINDOW = 1.0
"""Seconds."""


class RateLimit:
    """Counts those that were let in within the last second. Times are monotonic seconds."""

    def __init__(self, rate: int) -> None:
        """Let in so many within any second; 0: any number."""
        self._times = deque[float](maxlen=rate)

    def take(self, now: float) -> float:
        """Let a request in, or say after how many seconds the next one will be; 0: it is in."""
        times = self._times
        if times.maxlen and len(times) == times.maxlen and (left := times[0] + WINDOW - now) > 0:
            return math.ceil(left * 1000) / 1000  # as an answer's header can say it
        times.append(now)
        return 0.0
