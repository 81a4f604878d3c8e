"""What a fleet's notices come to for its pages. Pure; notices go in in order."""

from collections import Counter, deque
from dataclasses import dataclass

from ...protocols.ids import USER, AgentId
from ...protocols.notices import Notice, NoticeType
from .alerts_model import is_alert

__all__ = ("Chronicle", "Spent")

ALERTS = 500
"""Troubles that are remembered, the newest."""

TOLD = 300
"""Notices of each agent that are remembered, the newest."""

POINTS = 1000
"""Points of the spending that are remembered. When there are twice as many, every other one is forgotten."""

LAST_RUN = frozenset({"stopped", "quarantined"})


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens of all model calls so far, at a time in Unix seconds."""

    at: float
    tokens: int


class Chronicle:
    """Counts and keeps.

    Attributes:
        last: Number of the last notice that was taken in.
        alerts: The last troubles, oldest first.
        spent: How the spending rose, oldest first.
        letters: How many messages were sent, by sender and recipient.
        waiting: Calls that wait for a person, by the id under which they are answered.
        asking: Who needs more than a limit leaves, with the notice that says so.
    """

    def __init__(self) -> None:
        """Nothing has happened."""
        self.last = 0
        self.alerts = deque[Notice](maxlen=ALERTS)
        self.spent: list[Spent] = []
        self.letters = Counter[tuple[str, str]]()
        self.waiting: dict[str, Notice] = {}
        self.asking: dict[AgentId, Notice] = {}
        self._told: dict[AgentId, deque[Notice]] = {}

    def told(self, agent: str) -> tuple[Notice, ...]:
        """The last notices of one agent, oldest first."""
        return tuple(self._told.get(AgentId(agent), ()))

    def add(self, notice: Notice) -> None:
        """Take one notice in."""
        self.last = notice.number
        self._told.setdefault(notice.agent, deque(maxlen=TOLD)).append(notice)
        if is_alert(notice):
            self.alerts.append(notice)
        match notice.type, notice.extra_type:
            case NoticeType.MODEL, "replied":
                self._spend(notice)
            case NoticeType.MAIL, "sent":
                self.letters[notice.agent, str(notice.data.get("recipient", ""))] += 1
            case NoticeType.MAIL, "consumed" if notice.data.get("sender") == USER:
                self.letters[USER, notice.agent] += 1  # a person's own sending is no agent's notice
            case NoticeType.TOOL, "approval":
                self.waiting[str(notice.data.get("id", ""))] = notice
            case NoticeType.TOOL, "approved" | "refused":
                self.waiting.pop(str(notice.data.get("id", "")), None)
            case NoticeType.BUDGET, "asked" | "paused":
                self.asking[notice.agent] = notice
            case _:
                self._over(notice)

    def _over(self, notice: Notice) -> None:
        """Forget what an agent waited for, where it waits no longer."""
        kind = (notice.type, notice.extra_type)
        dead = kind == (NoticeType.AGENT, "died") and not notice.data.get("restarts")
        ended = dead or (notice.type == NoticeType.AGENT and notice.extra_type in LAST_RUN)
        if ended or kind == (NoticeType.RUN, "finished"):
            for key in [key for key, each in self.waiting.items() if each.agent == notice.agent]:
                del self.waiting[key]
        if ended or kind in {(NoticeType.RUN, "finished"), (NoticeType.AGENT, "resumed")}:
            self.asking.pop(notice.agent, None)

    def _spend(self, notice: Notice) -> None:
        self.asking.pop(notice.agent, None)
        before = self.spent[-1].tokens if self.spent else 0
        self.spent.append(Spent(notice.at, before + count(notice, "prompt") + count(notice, "completion")))
        if len(self.spent) > 2 * POINTS:
            del self.spent[1:-1:2]


def count(notice: Notice, fact: str) -> int:
    """A count among a notice's facts."""
    value = notice.data.get(fact)
    return value if isinstance(value, int) else 0
