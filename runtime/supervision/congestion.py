"""How many calls a provider takes at a time and how fast, as far as its refusals have taught us.

Nobody tells us a provider's limits, so they are found as TCP finds those of a network. They may be of two kinds, and a
refusal does not say which was met, so there are two answers to it:

- **limit**, calls in flight: begins generous, falls by a factor when calls are refused (once for all that were on their
  way together), and rises by about one for each round of answers, while it is used to the full.
- **pace**, seconds between two calls: none until something is refused; then what the provider has let through since the
  last cooldown. The longer it refuses nothing, the less is thought of that.

Both are held up by the **cooldown** that a refusal begins: as long as the provider asked for, else longer each time. It
ends with a slow start: one call goes ahead, the next ones follow after half a second, a quarter, and so on.

Sources: RFC 5681 (additive increase, multiplicative decrease, slow start), RFC 9438 (the factor), RFC 9110 section
10.2.3 (Retry-After).
"""

import math
from dataclasses import dataclass, replace

__all__ = ("SOON", "Congestion")

GENEROUS = 64.0
"""Calls in flight that a provider is trusted with before it has refused any."""

DECREASE = 0.7
"""What is left of the limit after a refusal."""

BACKOFF = 0.5
"""Seconds of a cooldown whose length the provider did not say; doubles as long as every call is refused."""

LONGEST_BACKOFF = 60.0

LONGEST = 3600.0
"""Seconds of a cooldown, whatever a provider asks for."""

SHORTEST = 0.1
"""Seconds of a cooldown; more than `SOON`, so that nobody goes ahead in the moment in which it begins."""

SOON = 0.05
"""Seconds ahead for which leave is given."""

JITTER = 0.1
"""The part of a cooldown that is added at most, so that fleets that share a provider do not come back together."""

SLOW_START = 0.5
"""Seconds between the first call after a cooldown and the second. A refusal seldom takes longer."""

MEMORY = 30.0
"""Seconds without a refusal after which calls go twice as fast as the provider has been seen to take them."""

SPREAD = 0.001
"""Seconds that are always between two calls to a provider that has ever refused one."""

KEPT = 64
"""Calls from which the pace is learned."""

STEP_BACK = 1.0
"""Seconds by which a clock must have been set back for a time to come to be taken for nonsense."""


@dataclass(frozen=True, slots=True)
class Congestion:
    """What is known of one provider; times in Unix seconds.

    Attributes:
        limit: Calls that may be in flight, at least 1; the part behind the point is on its way to the next.
        refused: When calls were last found to be too many; below 0: never.
        strikes: How often that was since a call was last answered.
        until: When the cooldown ends.
        cooldown: Seconds it had left when it was last set.
        last: When the last call went.
        gone: Calls that went since the cooldown; 0 while it lasts.
        goes: When they went, those that were refused left out, newest last. While a cooldown lasts, those before it.
        before: Seconds between two calls that were learned from the cooldowns before; 0: nothing was.
    """

    limit: float = GENEROUS
    refused: float = -1.0
    strikes: int = 0
    until: float = 0.0
    cooldown: float = 0.0
    last: float = 0.0
    gone: int = 0
    goes: tuple[float, ...] = ()
    before: float = 0.0

    @property
    def capacity(self) -> int:
        """Calls that may be in flight."""
        return int(self.limit)

    @property
    def pace(self) -> float:
        """Seconds between two calls, as they were learned from the last refusals; 0: nothing was."""
        settled = self.gone > 0 or self.refused < 0 or not self.goes
        return self.before if settled else learned(self.goes, self.until)

    def cooling(self, now: float) -> float:
        """Seconds until the cooldown ends; 0: there is none."""
        return left(self.until - now, self.cooldown)

    def gap(self, now: float) -> float:
        """Seconds between two calls."""
        if self.refused < 0:
            return 0.0
        start = math.ldexp(SLOW_START, 1 - self.gone) if self.gone else 0.0
        quiet = max(0.0, now - self.until) / MEMORY
        return max(start, self.pace / (1.0 + quiet * quiet), SPREAD)

    def opens(self, now: float) -> float:
        """Seconds until the next call may go."""
        gap = self.gap(now)
        return max(self.cooling(now), left(self.last + gap - now, gap + SOON))

    def turn(self, now: float) -> float:
        """Seconds from one call to the next, of late; 0: none went."""
        return max(0.0, now - self.goes[0]) / len(self.goes) if self.goes else 0.0

    def went(self, at: float) -> "Congestion":
        """A call goes at `at`."""
        since = self.goes if self.gone else ()
        return replace(self, last=at, gone=self.gone + 1, goes=(*since, at)[-KEPT:], before=self.pace)

    def succeeded(self, granted: float, flight: int) -> "Congestion":
        """A call was answered. One that was on its way when another was refused says nothing of what is possible now.

        Args:
            granted: When leave was given for it.
            flight: Calls that were in flight, this one included.
        """
        if granted <= self.refused:
            return self
        more = 1.0 / self.limit if flight >= self.capacity else 0.0
        return replace(self, strikes=0, limit=self.limit + more)

    def throttled(
        self, *, granted: float, went: float, now: float, after: float | None, jitter: float, flight: int
    ) -> "Congestion":
        """A call was refused because the provider has too much to do.

        Args:
            granted: When leave was given for it.
            went: When it was to go.
            now: When the refusal became known.
            after: Seconds to wait, where the provider said so.
            jitter: A number in [0, 1).
            flight: Calls that were in flight, this one included.
        """
        fresh = granted > self.refused
        strikes = self.strikes + fresh
        seconds = pause(after, strikes)
        cooldown = max(self.cooling(now), min(LONGEST, max(SHORTEST, seconds * (1.0 + JITTER * jitter))))
        until = now + cooldown
        # One that was refused although it was alone was not one too many: it came too early.
        fewer = max(1.0, min(self.limit, flight) * DECREASE) if fresh and flight > 1 else self.limit
        return replace(
            self,
            limit=fewer,
            refused=now if fresh else self.refused,
            strikes=strikes,
            until=until,
            cooldown=cooldown,
            gone=0,
            goes=self._without(went),
        )

    def _without(self, went: float) -> tuple[float, ...]:
        """The calls from which the pace is learned once this one was refused."""
        if went in self.goes:
            place = self.goes.index(went)
            return self.goes[:place] + self.goes[place + 1 :]
        # It is of an earlier time: those that went since tell nothing as long as none of them is refused.
        return () if self.gone else self.goes


def pause(after: float | None, strikes: int) -> float:
    """Seconds of a cooldown; a provider that says when to come again is believed, until it refuses that call too."""
    backoff = min(LONGEST_BACKOFF, math.ldexp(BACKOFF, min(strikes, 32) - 1))
    if after is None:
        return backoff
    return max(after if after > 0 else 0.0, backoff if strikes > 1 else 0.0)


def learned(goes: tuple[float, ...], until: float) -> float:
    """Seconds between two calls, from those that a provider let through until it takes calls again.

    Of the newest one, the newest two and so on, those tell most that came fastest: before them there may have been no
    more to send.
    """
    return max(SPREAD, min((until - went) / count for count, went in enumerate(reversed(goes), start=1)))


def left(seconds: float, most: float) -> float:
    """Seconds to wait; none, where they are more than they can be: then the clock was set back."""
    return 0.0 if seconds > most + STEP_BACK else max(0.0, seconds)
