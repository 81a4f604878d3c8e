"""What a real provider sometimes does, on purpose and by count, so that a test sees the same each time."""

from dataclasses import dataclass

from .errors import Refused

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

    def check(self, number: int) -> None:
        """Let request number `number` pass.

        Raises:
            Refused: It is one too many.
        """
        if self.busy_every and number % self.busy_every == 0:
            raise Refused(
                message=f"Rate limit reached for requests. Please try again in {self.retry_after:g}s.",
                status=429,
                kind="requests",
                code="rate_limit_exceeded",
                after=self.retry_after,
            )
