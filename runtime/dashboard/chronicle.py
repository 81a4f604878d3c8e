"""What a fleet's notices come to for its pages. Pure; notices go in in order."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from ...protocols.approval import Approval
from ...protocols.ids import AgentId
from ...protocols.messages import Json
from ...protocols.notices import Notice, NoticeType
from .alerts_model import is_alert
from .correspondence import Correspondence

__all__ = ("Chronicle", "Spent")

ALERTS = 500
"""Troubles that are remembered, the newest."""

TOLD = 300
"""Notices of each agent that are remembered, the newest."""

POINTS = 1000
"""Points of the spending that are remembered. When there are twice as many, every other one is forgotten."""

POINTS_EACH = 60
"""The same, of the spending of one agent."""

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
        spent_by: The same, of each agent that has spent something.
        mail: Who writes to whom.
        waiting: Calls that wait for a person, by the id under which they are answered.
        answered: How many notices were taken in that may have ended somebody's waiting.
        asking: Who needs more than a limit leaves, with the notice that says so.
    """

    def __init__(self) -> None:
        """Nothing has happened."""
        self.last = 0
        self.alerts = deque[Notice](maxlen=ALERTS)
        self.spent: list[Spent] = []
        self.spent_by: dict[AgentId, list[Spent]] = {}
        self.mail = Correspondence()
        self.waiting: dict[str, Notice] = {}
        self.answered = 0
        self.asking: dict[AgentId, Notice] = {}
        self._told: dict[AgentId, deque[Notice]] = {}

    def told(self, agent: str) -> tuple[Notice, ...]:
        """The last notices of one agent, oldest first."""
        return tuple(self._told.get(AgentId(agent), ()))

    def add(self, notice: Notice) -> None:
        """Take one notice in."""
        self.last = notice.number
        self._told.setdefault(notice.agent, deque(maxlen=TOLD)).append(notice)
        self.mail.add(notice)
        if is_alert(notice):
            self.alerts.append(notice)
        match notice.type, notice.extra_type:
            case NoticeType.MODEL, "replied":
                self._spend(notice)
            case NoticeType.TOOL, "approval":
                self.waiting[str(notice.data.get("id", ""))] = notice
            case NoticeType.TOOL, "approved" | "refused":
                self.answered += 1
                self.waiting.pop(str(notice.data.get("id", "")), None)
            case NoticeType.BUDGET, "asked" | "paused":
                self.asking[notice.agent] = notice
            case _:
                self._over(notice)

    def wait_for(self, pending: Iterable[Approval], last: int) -> None:
        """Know which calls waited for a person when the notice numbered `last` was the newest; later ones stay."""
        later = {key: notice for key, notice in self.waiting.items() if notice.number > last}
        then = {each.id: self.waiting.get(each.id) or asked(each) for each in pending}
        self.waiting = then | later

    def _over(self, notice: Notice) -> None:
        """Forget what an agent waited for, where it waits no longer."""
        kind = (notice.type, notice.extra_type)
        dead = kind == (NoticeType.AGENT, "died") and not notice.data.get("restarts")
        ended = dead or (notice.type == NoticeType.AGENT and notice.extra_type in LAST_RUN)
        if ended or kind == (NoticeType.RUN, "finished"):
            self.answered += 1
            for key in [key for key, each in self.waiting.items() if each.agent == notice.agent]:
                del self.waiting[key]
        if ended or kind in {(NoticeType.RUN, "finished"), (NoticeType.AGENT, "resumed")}:
            self.asking.pop(notice.agent, None)

    def _spend(self, notice: Notice) -> None:
        # The Supervisor tells at once that an agent asks; what the agent did before comes later, with its own report.
        if (asks := self.asking.get(notice.agent)) is not None and notice.at > asks.at:
            del self.asking[notice.agent]
        tokens = count(notice, "prompt") + count(notice, "completion")
        rise(self.spent, notice.at, tokens, POINTS)
        rise(self.spent_by.setdefault(notice.agent, []), notice.at, tokens, POINTS_EACH)


def asked(approval: Approval) -> Notice:
    """What was told when this call was asked for, as far as the call itself tells."""
    facts: dict[str, Json] = {"id": approval.id, "tool": approval.tool, "arguments": approval.arguments}
    facts["reason"] = approval.reason
    run, step = approval.run, approval.step
    return Notice(
        NoticeType.TOOL, "approval", approval.agent, str(approval), run=run, step=step, data=facts, at=approval.since
    )


def rise(points: list[Spent], at: float, tokens: int, kept: int) -> None:
    """Add a point, so many tokens above the last one; clocks and reports of agents differ, so `at` may be before it."""
    before = points[-1] if points else Spent(at, 0)
    points.append(Spent(max(at, before.at), before.tokens + tokens))
    if len(points) > 2 * kept:
        del points[1:-1:2]


def count(notice: Notice, fact: str) -> int:
    """A count among a notice's facts."""
    value = notice.data.get(fact)
    return value if isinstance(value, int) else 0
