"""Who wrote what to whom because of what, and whether it goes round in circles.

A message is taken to follow from the mail that its sender had read before: what it read last of the one it writes to,
or of others, the newest first. So messages form chains, and a circle is a chain in which the same happens again and
again: the same agent sends the same content to the same recipient, and has done the same meanwhile. What agents do with
tools between two messages belongs to a message: who answers "next, please" in the same words each time, but fetched
another page before, gets on.

A chain begins with a task: what a person or a schedule sets going anew is no circle, and neither is what comes round
so slowly that it costs next to nothing (`Deadlines.message_gap`).

What is remembered is bounded: so many messages a pair, so many pairs, so many senders a reader.
"""

from collections import OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ...protocols.ids import AgentId, MessageId
from ..step.repetition import LONGEST_PERIOD
from .deadlines import Deadlines

__all__ = ("PAIRS_KEPT", "Correspondence", "Letter")

PAIRS_KEPT = 4096
"""Pairs of sender and recipient that are remembered; the one that was silent longest is forgotten first."""

SENDERS_KEPT = 16
"""Senders of whom a reader's last mail is remembered."""

CAUSES = 4
"""Messages from which one may follow."""


@dataclass(frozen=True, slots=True)
class Letter:
    """One message that was accepted.

    Attributes:
        content: Digest of what it says.
        work: Digest of what its sender did since it read mail.
        at: When it was heard of, in the watch's seconds.
        causes: The messages from which it may follow, likeliest first.
    """

    id: MessageId
    sender: AgentId
    recipient: AgentId
    content: str
    work: str
    at: float
    causes: tuple[MessageId, ...] = ()

    def repeats(self, earlier: "Letter") -> bool:
        """Whether it is the same thing done once more."""
        return (self.sender, self.recipient, self.content, self.work) == (
            earlier.sender,
            earlier.recipient,
            earlier.content,
            earlier.work,
        )


def causes_of(mail: tuple[tuple[AgentId, MessageId], ...], recipient: AgentId) -> tuple[MessageId, ...]:
    """From what a message to this recipient may follow, where its sender has read this mail, newest last."""
    own = [message for sender, message in mail if sender == recipient]
    others = [message for sender, message in reversed(mail) if sender != recipient]
    return (*own, *others)[:CAUSES]


class Correspondence:
    """The messages of a fleet, the newest of each pair."""

    def __init__(self, deadlines: Deadlines) -> None:
        """Nobody wrote yet."""
        self._rounds = deadlines.message_rounds
        self._gap = deadlines.message_gap
        self._kept = LONGEST_PERIOD * self._rounds
        self._letters: dict[MessageId, Letter] = {}
        self._pairs = OrderedDict[tuple[AgentId, AgentId], deque[MessageId]]()
        self._read: dict[AgentId, tuple[tuple[AgentId, MessageId], ...]] = {}
        self._fresh: dict[tuple[AgentId, AgentId], deque[MessageId]] = {}

    def sent(self, letter: Letter) -> None:
        """A message was accepted; its causes are known here."""
        if letter.id in self._letters:  # sent again after a crash, it is the same one
            return
        causes = causes_of(self._read.get(letter.sender, ()), letter.recipient)
        self._letters[letter.id] = replace(letter, causes=causes)
        pair = letter.sender, letter.recipient
        mail = self._pairs.setdefault(pair, deque())
        self._pairs.move_to_end(pair)
        mail.append(letter.id)
        self._fresh.setdefault(pair, deque(maxlen=self._kept)).append(letter.id)
        if len(mail) > self._kept:
            self._letters.pop(mail.popleft(), None)
        if len(self._pairs) > PAIRS_KEPT:
            self._forget_pair()

    def read(self, agent: AgentId, sender: AgentId, message: MessageId) -> None:
        """An agent has read a message. Of each sender its last one is remembered."""
        others = tuple(each for each in self._read.get(agent, ()) if each[0] != sender)
        self._read[agent] = (*others, (sender, message))[-SENDERS_KEPT:]

    def begun(self, agent: AgentId) -> None:
        """A run has begun: what it does follows from its task, or from mail that it will read."""
        self._read.pop(agent, None)

    @property
    def size(self) -> int:
        """Letters that are remembered."""
        return len(self._letters)

    def circles(self) -> tuple[tuple[Letter, ...], ...]:
        """The circles that messages since the last look have closed, one for each set of agents.

        Returns:
            Each as its letters, newest first, `message_rounds` times the period.
        """
        fresh, self._fresh = self._fresh, {}
        found: dict[frozenset[AgentId], tuple[Letter, ...]] = {}
        for mail in fresh.values():
            circle = next(filter(None, map(self._circle, reversed(mail))), None)
            if circle is not None:
                agents = frozenset(letter.sender for letter in circle)
                if agents not in found or found[agents][0].at < circle[0].at:
                    found[agents] = circle
        return tuple(found.values())

    def _circle(self, message: MessageId) -> tuple[Letter, ...] | None:
        """The shortest circle that ends with a message."""
        last = self._letters.get(message)
        if last is None:
            return None
        for period in range(2, LONGEST_PERIOD + 1):
            if (path := self._walk((last,), period)) is not None:
                return path
        return None

    def _walk(self, path: tuple[Letter, ...], period: int) -> tuple[Letter, ...] | None:
        """Follow the chain back as long as it repeats itself; `path` is newest first."""
        if len(path) == period * self._rounds:
            return path
        for cause in self._causes(path[-1]):
            if len(path) < period or path[-period].repeats(cause):
                further = self._walk((*path, cause), period)
                if further is not None:
                    return further
        return None

    def _causes(self, letter: Letter) -> Iterator[Letter]:
        for message in letter.causes:
            cause = self._letters.get(message)
            if cause is not None and letter.at - cause.at <= self._gap:
                yield cause

    def _forget_pair(self) -> None:
        pair, mail = self._pairs.popitem(last=False)
        for message in mail:
            self._letters.pop(message, None)
        self._fresh.pop(pair, None)
