"""The gate before each provider: how many calls of the whole fleet are on their way to it, and whose turn is next.

Nobody waits in here. An agent that may not go yet is told how long to wait and asks again; meanwhile it has a place in
the line of its provider, and a free slot is kept for each of those who stand before it. First come, first served:

    may go  <=>  fewer stand before it than slots are free, and the provider's pace lets all of them go

A slot is one call in flight: it is taken together with the call's tokens and given back when these are settled. So the
slots in use are the open reservations, and `restore` finds them there. Places and what was learned of a provider end
with the process: agents ask again, and a provider that is too busy says so again.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from ...protocols.checkin import AttemptResult
from ...protocols.ids import AgentId
from .congestion import SOON, Congestion
from .reservation import Reservation

__all__ = ("Gate", "Queued", "Ticket", "Traffic")

GRACE = 2.0
"""Seconds after the moment it was told to ask again in which an agent keeps its place."""

NEXT = 0.25
"""Seconds until the first who stands in line for a slot asks again; that long a slot may stay free at most."""

SOONEST = 0.1
"""Seconds until anybody asks again."""

LATEST = 10.0
"""Seconds after a cooldown by which everybody has asked again: a line may move faster than it seemed it would."""

TURN = (0.02, 1.0)
"""Seconds that a turn is taken to last, at least and at most. However long a line is and however fast it moves, its end
does not ask all the time, and a slot that was waited for is not left free for long."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """One attempt that wants to go: who makes it, under which reservation, at which provider key."""

    agent: AgentId
    reservation: str
    provider: str


@dataclass(frozen=True, slots=True)
class Queued:
    """It is not this one's turn.

    Attributes:
        provider: The provider key.
        place: Where it stands in line, from 1.
        line: How many stand there.
        cooling: Seconds in which nobody goes; 0: no cooldown.
        after: Seconds after which it is to ask again.
    """

    provider: str
    place: int
    line: int
    cooling: float
    after: float


@dataclass(frozen=True, slots=True)
class Traffic:
    """What goes on before one provider: calls that may be in flight, calls that are, and who waits."""

    limit: int
    in_flight: int
    waiting: int
    cooling: float


@dataclass(frozen=True, slots=True)
class Place:
    """A place in line.

    Attributes:
        reservation: The attempt it is for.
        asked: Unix seconds when it last asked.
        told: Seconds after which it is to ask again.
        short: It may go but lacks tokens, so nobody waits for it.
    """

    reservation: str
    asked: float
    told: float = 0.0
    short: bool = False

    @property
    def lapses(self) -> float:
        """Unix seconds up to which it is to be expected."""
        return self.asked + self.told + GRACE

    def holds(self, now: float) -> bool:
        """Whether it is still to be expected. One of the future was kept through a step of the clock: it is not."""
        return self.asked - GRACE <= now <= self.lapses


@dataclass(frozen=True, slots=True)
class Slot:
    """A call in flight, by when leave was given for it and when it was to go, in Unix seconds."""

    granted: float
    went: float


@dataclass
class Lane:
    """One provider key.

    Attributes:
        congestion: What is known of it.
        places: Who stands in line, by agent.
        slots: What is in flight, by reservation.
        looked: When it was last looked whether those in line are still to be expected; before that and after `lapses`
            somebody may not be. In between nobody has to look through a long line for each who asks.
    """

    congestion: Congestion = field(default_factory=Congestion)
    places: dict[AgentId, Place] = field(default_factory=dict[AgentId, Place])
    slots: dict[str, Slot] = field(default_factory=dict[str, Slot])
    looked: float = 0.0
    lapses: float = 0.0

    def put(self, agent: AgentId, place: Place) -> None:
        """Have an agent stand where it stood, or at the end."""
        self.places[agent] = place
        self.lapses = min(self.lapses, place.lapses)

    def lapsed(self, now: float) -> tuple[AgentId, ...]:
        """Those who are not to be expected any more."""
        if self.looked <= now < self.lapses:
            return ()
        self.looked = now
        self.lapses = min((place.lapses for place in self.places.values()), default=math.inf)
        return tuple([agent for agent, place in self.places.items() if not place.holds(now)])

    def ahead(self, agent: AgentId) -> int:
        """How many go before it."""
        count = 0
        for other, place in self.places.items():
            if other == agent:
                break
            count += not place.short
        return count

    def wait(self, ahead: int, now: float) -> float:
        """Seconds until one with so many before it may go, as far as that is known; 0: now."""
        pace, free = self.congestion, self.congestion.capacity - len(self.slots)
        opens = pace.opens(now)
        if ahead < free and opens + ahead * pace.gap(now) <= SOON:
            return 0.0
        # Half of the way: who comes too early is told again, who comes too late leaves a slot free.
        paced = min(LATEST, pace.gap(now) * ((ahead + 1) // 2))
        short = ahead - max(0, free) + 1
        if short <= 0:
            return max(SOONEST, opens + paced)
        shortest, longest = TURN
        slot = NEXT if short == 1 else min(LATEST, min(longest, max(shortest, pace.turn(now))) * short / 2)
        return max(SOONEST, opens + paced, slot)

    def traffic(self, now: float) -> Traffic:
        """What goes on."""
        pace = self.congestion
        return Traffic(pace.capacity, len(self.slots), len(self.places), pace.cooling(now))


class Gate:
    """The lanes of one fleet. Times are Unix seconds."""

    def __init__(self) -> None:
        """Nothing is in flight, nobody waits, nothing is known of any provider."""
        self._lanes: dict[str, Lane] = {}
        self._flying: dict[str, Lane] = {}
        self._standing: dict[AgentId, str] = {}

    def ask(self, ticket: Ticket, now: float) -> Queued | None:
        """Say whether a call may go, without letting it; None: it may, and `take` is to follow.

        Asked again for the same attempt, an agent has the place it had. It has one place: another attempt, or another
        provider, has it stand at the end.
        """
        if ticket.reservation in self._flying:
            return None
        lane = self._stand(ticket, now)
        ahead = lane.ahead(ticket.agent)
        wait = lane.wait(ahead, now)
        lane.put(ticket.agent, Place(ticket.reservation, now, wait))
        if not wait:
            return None
        return Queued(ticket.provider, ahead + 1, len(lane.places), lane.congestion.cooling(now), wait)

    def take(self, ticket: Ticket, now: float) -> float:
        """Let a call go: it has a slot from now on. Taken again, it is the same slot.

        Returns:
            Seconds until it goes.
        """
        lane = self._flying.get(ticket.reservation)
        if lane is None:
            self.leave(ticket.agent)
            lane = self._lanes.setdefault(ticket.provider, Lane())
            slot = Slot(now, now + lane.congestion.opens(now))
            lane.congestion = lane.congestion.went(slot.went)
            lane.slots[ticket.reservation] = slot
            self._flying[ticket.reservation] = lane
        return max(0.0, lane.slots[ticket.reservation].went - now)

    def step_aside(self, agent: AgentId) -> int:
        """Whose turn it is but who lacks tokens keeps its place, and until it asks again others go before it.

        Returns:
            How many have stepped aside before this provider.
        """
        if (key := self._standing.get(agent)) is None:
            return 0
        places = self._lanes[key].places
        places[agent] = replace(places[agent], short=True)
        return sum(place.short for place in places.values())

    def leave(self, agent: AgentId) -> None:
        """It waits no more."""
        if (key := self._standing.pop(agent, None)) is not None:
            self._lanes[key].places.pop(agent, None)

    def give_back(
        self,
        reservation: str,
        now: float,
        *,
        result: AttemptResult = AttemptResult.UNKNOWN,
        after: float | None = None,
        jitter: float = 0.0,
    ) -> None:
        """A call is over: its slot is free, and what became of it teaches something of the provider.

        Args:
            reservation: Its id; of one that has no slot any more nothing is learned.
            now: When that became known.
            result: How it went.
            after: Seconds to wait, where the provider said so.
            jitter: A number in [0, 1), different each time.
        """
        if (lane := self._flying.pop(reservation, None)) is None:
            return
        flight, slot, known = len(lane.slots), lane.slots.pop(reservation), lane.congestion
        if result is AttemptResult.OK:
            lane.congestion = known.succeeded(slot.granted, flight)
        elif result.throttled:
            lane.congestion = known.throttled(
                granted=slot.granted, went=slot.went, now=now, after=after, jitter=jitter, flight=flight
            )

    def restore(self, reservations: Iterable[Reservation]) -> None:
        """Take the slots of calls that were in flight when an earlier process ended."""
        for held in reservations:
            key, lane = held.ask.reservation, self._lanes.setdefault(held.ask.provider, Lane())
            lane.slots[key] = Slot(0.0, 0.0)
            self._flying[key] = lane

    def queued(self, agent: AgentId, now: float) -> Queued | None:
        """Where an agent stands; None: it waits for no provider."""
        key = self._standing.get(agent)
        if key is None:
            return None
        lane = self._lanes[key]
        place = lane.places[agent]
        if not place.holds(now):
            return None
        cooling = lane.congestion.cooling(now)
        return Queued(key, lane.ahead(agent) + 1, len(lane.places), cooling, place.told)

    def traffic(self, provider: str, now: float) -> Traffic:
        """What goes on before a provider."""
        return self._lanes.get(provider, Lane()).traffic(now)

    def _stand(self, ticket: Ticket, now: float) -> Lane:
        """The lane in which it has a place, after those who are not to be expected any more have lost theirs."""
        lane = self._lanes.setdefault(ticket.provider, Lane())
        for agent in lane.lapsed(now):
            self.leave(agent)
        place = lane.places.get(ticket.agent)
        if place is None or place.reservation != ticket.reservation:
            self.leave(ticket.agent)
            lane.put(ticket.agent, Place(ticket.reservation, now))
            self._standing[ticket.agent] = ticket.provider
        return lane
