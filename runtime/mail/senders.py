"""Those who have written to a mailbox, and how far each was heard."""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from ...protocols.ids import USER, AgentId, Incarnation

__all__ = ("SENDERS", "Heard", "Place", "Senders")

SENDERS = 16_384
"""Senders whose place is remembered, those heard last; each life of a person counts as one."""

NOWHERE = (0, 0)
"""The place of a sender of whom nothing was accepted or refused for good."""

NEVER = (0, -1)
"""The attempt of a sender of whom none was answered `full`."""


@dataclass(slots=True)
class Heard:
    """How far one sender was heard.

    Attributes:
        order: (incarnation, seq) of the last message accepted or refused for good; what that life sent and is not above
            it came before.
        full: (incarnation, attempt) of the last attempt answered `full`; what is not above it is a late copy.
    """

    order: tuple[int, int] = NOWHERE
    full: tuple[int, int] = NEVER

    @property
    def life(self) -> int:
        """The newest incarnation heard."""
        return max(self.order[0], self.full[0])


class Place(NamedTuple):
    """How far a sender was heard: its last message that was accepted or refused for good.

    Attributes:
        full: The life that made the last attempt which was answered `full`; 0: there was none.
        attempt: The number of that attempt.
    """

    sender: AgentId
    incarnation: Incarnation
    seq: int
    full: Incarnation = Incarnation(0)
    attempt: int = -1


class Senders:
    """A place for each sender; whoever was silent longest makes room for a new one."""

    def __init__(self) -> None:
        """Nobody has written."""
        self._heard: OrderedDict[tuple[AgentId, int], Heard] = OrderedDict()

    def listen(self, sender: AgentId, incarnation: Incarnation) -> Heard:
        """The place of one who writes now.

        The lives of an agent follow each other and share one place. Those of a person are processes that speak at the
        same time, so each has its own. A life that was forgotten and speaks again is heard anew: a late copy of what it
        sent is known by its id, as long as its fate is remembered.
        """
        key = sender, incarnation if sender == USER else 0
        heard = self._heard.get(key)
        if heard is None:
            heard = self._heard[key] = Heard()
            if len(self._heard) > SENDERS:
                self._heard.popitem(last=False)
        else:
            self._heard.move_to_end(key)
        return heard

    def include(self, agent: AgentId) -> bool:
        """Whether a message of this agent was ever accepted, or refused for good, as far as it is remembered."""
        heard = self._heard.get((agent, 0))
        return heard is not None and heard.order != NOWHERE

    def places(self) -> tuple[Place, ...]:
        """All that another process needs to go on, who was silent longest first."""
        return tuple(
            Place(sender, Incarnation(one.order[0]), one.order[1], Incarnation(one.full[0]), one.full[1])
            for (sender, _), one in self._heard.items()
            if one.life
        )

    def restore(self, places: Iterable[Place]) -> None:
        """Be as an earlier life was."""
        for sender, incarnation, seq, full, attempt in places:
            heard = self.listen(sender, incarnation or full)
            heard.order, heard.full = (incarnation, seq), (full, attempt)
