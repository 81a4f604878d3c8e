"""Who writes to whom, what of it is unread, who waits for whom, and which of these ways are stalled. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ...protocols.checkin import DEAD, RESTARTING, STOPPED, AgentStatus
from ...protocols.ids import USER, AgentId
from ...protocols.notices import Notice, NoticeType

__all__ = ("Correspondence", "Unread", "Way")

Way = tuple[str, str]
"""From whom, to whom."""

UNREAD = 20_000
"""Messages that are remembered as unread, the newest."""

STANDING = frozenset({DEAD, RESTARTING, STOPPED, "paused"})
"""Phases in which nobody reads."""

RESTING = STANDING | {"idle", "waiting"}
"""Phases in which nobody writes by itself."""

CIRCLE = "message_loop"
"""The watch's word for agents that send each other the same messages."""


@dataclass(frozen=True, slots=True)
class Unread:
    """A message that was accepted and is not known to be read; `at` in Unix seconds."""

    id: str
    sender: str
    recipient: str
    at: float


class Correspondence:
    """What a fleet's notices tell of its mail.

    Attributes:
        letters: How many messages were sent, by sender and recipient.
    """

    def __init__(self) -> None:
        """Nobody has written."""
        self.letters = Counter[Way]()
        self._unread: dict[str, Unread] = {}
        self._early: dict[str, None] = {}
        self._awaits: dict[str, tuple[str, ...]] = {}
        self._circles: dict[AgentId, frozenset[str]] = {}

    def add(self, notice: Notice) -> None:
        """Take one notice in, whatever it is of."""
        agent, data = notice.agent, notice.data
        match notice.type, notice.extra_type:
            case NoticeType.MAIL, "sent":
                self._sent(Unread(str(data.get("id", "")), agent, str(data.get("recipient", "")), notice.at))
            case NoticeType.MAIL, "consumed" | "dead" as end:
                self._ended(str(data.get("id", "")), str(data.get("sender", "")))
                if end == "consumed" and data.get("sender") == USER:
                    self.letters[USER, agent] += 1  # a person's own sending is no agent's notice
            case NoticeType.STEP, "waiting":
                self._awaits[agent] = names(data.get("senders"))
            case NoticeType.WATCH, "found" if data.get("trouble") == CIRCLE:
                circle = frozenset(names(data.get("agents")))
                self._circles.update(dict.fromkeys(map(AgentId, circle), circle))
            case (NoticeType.RUN, "finished") | (NoticeType.AGENT, "stopped" | "died" | "quarantined"):
                self._awaits.pop(agent, None)
                for each in self._circles.get(agent, ()):
                    self._circles.pop(AgentId(each), None)
            case NoticeType.STEP, "wait_ended" | "intro":
                self._awaits.pop(agent, None)
            case _:
                pass

    def unread(self) -> tuple[Unread, ...]:
        """The messages that are not known to be read, oldest first."""
        return tuple(self._unread.values())

    def stalled(self, rows: Iterable[AgentStatus]) -> Mapping[Way, str]:
        """The ways on which nothing moves, each with why.

        Args:
            rows: How all agents are now.
        """
        phases: dict[str, str] = {row.agent: row.phase for row in rows}
        found: dict[Way, str] = {}
        for waits, senders in self._awaits.items():
            for each in senders:
                if phases.get(waits) == "waiting" and phases.get(each, "idle") in RESTING:
                    found[waits, each] = f"{waits} waits for {each}, which is {phases.get(each, 'not there')}"
        for letter in self._unread.values():
            if (phase := phases.get(letter.recipient)) in STANDING:
                found[letter.sender, letter.recipient] = f"unread: {letter.recipient} is {phase}"
        for circle in self._circles.values():
            ways = [way for way in self.letters if circle.issuperset(way)]
            found.update(dict.fromkeys(ways, "the same messages go in circles"))
        return found

    def _sent(self, letter: Unread) -> None:
        self.letters[letter.sender, letter.recipient] += 1
        if letter.id in self._early:
            del self._early[letter.id]
            return
        self._unread[letter.id] = letter
        if len(self._unread) > UNREAD:
            del self._unread[next(iter(self._unread))]

    def _ended(self, letter: str, sender: str) -> None:
        """One is read, or never will be. Its recipient may tell that before its sender tells of the sending."""
        if self._unread.pop(letter, None) is None and sender != USER:
            self._early[letter] = None
            if len(self._early) > UNREAD:
                del self._early[next(iter(self._early))]


def names(value: object) -> tuple[str, ...]:
    """Names among a notice's facts."""
    return tuple(map(str, value)) if isinstance(value, list | tuple) else ()  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
