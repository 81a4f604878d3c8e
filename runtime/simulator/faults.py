"""What a real provider sometimes does, on purpose and by count, so that a test sees the same each time."""

from dataclasses import dataclass

__all__ = ("Faults",)


@dataclass(frozen=True, slots=True)
class Faults:
    """Faults of one server; none by default.

    Attributes:
        latency: Seconds each answer takes.
        busy_every: Each request whose number is a multiple of this is refused as one too many; 0: none.
        retry_after: Seconds after which a refused client may try again.
    """

    latency: float = 0.0
    busy_every: int = 0
    retry_after: float = 1.0

    def hits(self, number: int) -> bool:
        """Whether request number `number` is one too many."""
        return self.busy_every > 0 and number % self.busy_every == 0
