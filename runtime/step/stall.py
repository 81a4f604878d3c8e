"""Is the agent going in circles?

Two signs. The same call again and again: `repeats` identical signatures in a row, counted before a call runs, so the
last of them never does. And a cycle of rounds, of several calls together, that comes back with the same results,
counted after a round. A tool marked as polling is expected to be called again; only its result tells, so its calls
count as repeats only while the result stays the same. Waiting for mail is no stall: a round that waits makes a new
window.
"""

from dataclasses import dataclass, replace
from itertools import chain

from .repetition import LONGEST_PERIOD, comes_round

__all__ = ("CYCLE_TIMES", "Window")

CYCLE_TIMES = 3
"""How often a cycle must have come round at least; more often where more repeats are allowed."""

PERIODS = range(1, LONGEST_PERIOD + 1)


@dataclass(frozen=True, slots=True)
class Window:
    """What the run's last calls were.

    Attributes:
        limit: The how-many-th identical call in a row must not run.
        signature: Digest of the newest call's name and arguments.
        count: How many calls with that signature came in a row.
        digest: Digest of its newest result.
        same_results: How many of them in a row, newest last, had that result.
        rounds: The newest rounds, each the sorted digests of its calls with their results.
    """

    limit: int = 5
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

    def repeated(self, *, polling: bool) -> bool:
        """Whether the newest call is the `limit`-th of its kind in a row and must not run."""
        return self.count >= self.limit and (not polling or self.same_results >= self.limit - 1)

    def ended(self, round_digests: tuple[tuple[str, str], ...]) -> "Window":
        """Take a round's calls with their results, as (signature, result digest) in call order."""
        newest = tuple(sorted(f"{call}={result}" for call, result in round_digests))
        kept = max(period * self.times(period) for period in PERIODS)
        rounds = (*self.rounds, newest)[-kept:]
        digest, same = self.digest, self.same_results
        for call, result in round_digests:
            if call == self.signature:
                same = same + 1 if result == digest else 1
                digest = result
        return replace(self, digest=digest, same_results=same, rounds=rounds)

    def waited(self) -> "Window":
        """Begin anew: the agent slept until something came, or until it was time."""
        return Window(self.limit)

    def times(self, period: int) -> int:
        """How often a cycle must come round to be a stall: never in fewer rounds than `limit`."""
        return max(CYCLE_TIMES, -(-self.limit // period))

    @property
    def period(self) -> int:
        """Length in rounds of the cycle the run is in; 0 when it is in none.

        A cycle has several calls: one call again and again is what `repeated` counts.
        """
        for period in PERIODS:
            times = self.times(period)
            if comes_round(self.rounds, period, times) and len({*chain(*self.rounds[-period:])}) > 1:
                return period
        return 0
