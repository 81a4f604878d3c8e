"""What a real provider sometimes does, on purpose and by count, so that a test sees the same each time."""

from dataclasses import dataclass

__all__ = ("Faults",)

GOLDEN = 0.6180339887498949
"""The parts of 1 that its multiples leave are spread evenly, and no two neighbours are alike."""


@dataclass(frozen=True, slots=True)
class Faults:
    """Faults of one server; none by default.

    Attributes:
        latency: Seconds each answer takes, at least.
        spread: Seconds that an answer may take beyond that; how many of them follows from its request's number.
        busy_every: Each request whose number is a multiple of this is refused as one too many; 0: none.
        retry_after: Seconds after which a client that was refused so may try again.
        rate: Requests that are let in within any second, and the others refused as too many; 0: any number.
    """

    latency: float = 0.0
    spread: float = 0.0
    busy_every: int = 0
    retry_after: float = 1.0
    rate: int = 0

    def delay(self, number: int) -> float:
        """Seconds that the answer to request number `number` takes."""
        return self.latency + self.spread * (number * GOLDEN % 1.0)

    def hits(self, number: int) -> bool:
        """Whether request number `number` is one too many."""
        return self.busy_every > 0 and number % self.busy_every == 0
