"""Is the agent going in circles?

Two signs. The same call again and again: `repeats` identical signatures in a row, counted before a call runs, so the
last of them never does. And a cycle of two to four rounds that comes back with the same results, counted after a
round. A tool marked as polling is expected to be called again; only its result tells, so its calls count as repeats
only while the result stays the same.
"""

from dataclasses import dataclass, replace

__all__ = ("CYCLE_TIMES", "Window")

CYCLE_TIMES = 3
"""How often a cycle must have come round."""

PERIODS = (2, 3, 4)
KEPT_ROUNDS = PERIODS[-1] * CYCLE_TIMES


@dataclass(frozen=True, slots=True)
class Window:
    """What the run's last calls were.

    Attributes:
        signature: Digest of the newest call's name and arguments.
        count: How many calls with that signature came in a row.
        digest: Digest of its newest result.
        same_results: How many of them in a row, newest last, had that result.
        rounds: The newest rounds, each the sorted digests of its calls with their results.
    """

    signature: str = ""
    count: int = 0
    digest: str = ""
    same_results: int = 0
    rounds: tuple[tuple[str, ...], ...] = ()

    def asked(self, signature: str) -> "Window":
        """Count one more call."""
        if signature == self.signature:
            return replace(self, count=self.count + 1)
        return replace(self, signature=signature, count=1, digest="", same_results=0)

    def repeated(self, limit: int, *, polling: bool) -> bool:
        """Whether the newest call is the `limit`-th of its kind in a row and must not run."""
        if polling:
            return self.count >= limit and self.same_results >= limit - 1
        return self.count >= limit

    def ended(self, round_digests: tuple[tuple[str, str], ...]) -> "Window":
        """Take a round's calls with their results, as (signature, result digest) in call order."""
        rounds = (*self.rounds, tuple(sorted(f"{call}={result}" for call, result in round_digests)))[-KEPT_ROUNDS:]
        digest, same = self.digest, self.same_results
        for call, result in round_digests:
            if call == self.signature:
                same = same + 1 if result == digest else 1
                digest = result
        return replace(self, digest=digest, same_results=same, rounds=rounds)

    @property
    def period(self) -> int:
        """Length in rounds of the cycle the run is in; 0 when it is in none."""
        for period in PERIODS:
            span = period * CYCLE_TIMES
            tail = self.rounds[-span:]
            if len(tail) == span and tail == tail[:period] * CYCLE_TIMES and len(set(tail)) > 1:
                return period
        return 0
