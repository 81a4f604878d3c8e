"""What a fleet's notices say of its agents: their rows, as far as notices tell. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from ...protocols.amounts import Amount
from ...protocols.checkin import DEAD, RESTARTING, STOPPED, AgentStatus
from ...protocols.ids import AgentId, Incarnation
from ...protocols.notices import Notice, NoticeType
from ..step.phases import Phase
from ..supervision.account import Account

__all__ = ("Folded", "fold")

OVER = frozenset({DEAD, RESTARTING, STOPPED})
"""Phases that only another life ends."""

PHASES: Mapping[tuple[NoticeType, str], str] = {
    (NoticeType.AGENT, "paused"): Phase.PAUSED,
    (NoticeType.AGENT, "resumed"): Phase.THINKING,
    (NoticeType.AGENT, "stopped"): STOPPED,
    (NoticeType.AGENT, "quarantined"): DEAD,
    (NoticeType.BUDGET, "paused"): Phase.PAUSED,
    (NoticeType.BUDGET, "asked"): Phase.PAUSED,
    (NoticeType.RUN, "started"): Phase.ENTERING,
    (NoticeType.RUN, "finished"): Phase.IDLE,
    (NoticeType.STEP, "intro"): Phase.THINKING,
    (NoticeType.STEP, "leave"): Phase.LEAVING,
    (NoticeType.STEP, "waiting"): Phase.WAITING,
    (NoticeType.STEP, "wait_ended"): Phase.ENTERING,
    (NoticeType.STEP, "winding_down"): Phase.WINDING_DOWN,
    (NoticeType.TOOL, "started"): Phase.ACTING,
    (NoticeType.TOOL, "approval"): Phase.ACTING,
}
"""The phase that an agent is in after such a notice of its."""


@dataclass(frozen=True, slots=True)
class Folded:
    """A fleet as its notices tell of it.

    Attributes:
        fleet: Its name.
        rows: Its agents.
    """

    fleet: str
    rows: Mapping[AgentId, AgentStatus] = field(default_factory=lambda: MappingProxyType({}))

    def accounts(self) -> tuple[Account, ...]:
        """What was spent: the fleet's account, and one of each agent. Limits are not in notices."""
        whole = sum((row.spent for row in self.rows.values()), Amount())
        each = (Account((self.fleet, row.agent), settled=row.spent) for row in self.rows.values())
        return (Account((self.fleet,), settled=whole), *each)


def fold(folded: Folded, notices: Iterable[Notice]) -> Folded:
    """The fleet after further notices, in order."""
    rows = dict(folded.rows)
    for notice in notices:
        if notice.agent in rows or notice.type is not NoticeType.BUDGET:  # else it is about the fleet or a team
            take(rows, notice)
    return Folded(folded.fleet, MappingProxyType(rows))


def take(rows: dict[AgentId, AgentStatus], notice: Notice) -> None:
    """Take one notice in. Of an agent that no notice admitted, only a part was recorded: it was there before."""
    agent, data = notice.agent, notice.data
    if (notice.type, notice.extra_type) == (NoticeType.AGENT, "admitted"):
        rows[agent] = admitted(rows.get(agent), notice)
        return
    row = rows.get(agent) or AgentStatus(agent, Incarnation(1), Phase.IDLE, notice.at)
    row = moved(row, notice)
    match notice.type, notice.extra_type:
        case NoticeType.AGENT, "died":
            row = entered(row, RESTARTING if data.get("restarts") else DEAD, notice)
        case NoticeType.MODEL, "replied":
            row = replied(row, notice)
        case NoticeType.TOOL, "started":
            row = replace(row, tools=(*row.tools, str(data.get("tool", ""))), spent=row.spent + Amount(tool_calls=1))
        case NoticeType.TOOL, "ended" | "failed":
            row = left_tool(row, notice)
        case NoticeType.MAIL, "sent":
            row = replace(row, sent=row.sent + 1)
            recipient = AgentId(str(data.get("recipient", "")))
            if recipient in rows:
                rows[recipient] = replace(rows[recipient], waiting=rows[recipient].waiting + 1)
        case NoticeType.MAIL, "consumed":
            row = replace(row, consumed=row.consumed + 1, waiting=max(0, row.waiting - 1))
        case NoticeType.MAIL, "dead":
            row = replace(row, waiting=max(0, row.waiting - 1))
        case _:
            pass
    rows[agent] = row


def admitted(before: AgentStatus | None, notice: Notice) -> AgentStatus:
    """A life begins; what its agent has spent and done goes on."""
    data = notice.data
    parent, life, limit, pid = (data.get(name) for name in ("parent", "incarnation", "limit", "pid"))
    row = before or AgentStatus(notice.agent, Incarnation(1), Phase.IDLE, notice.at)
    return replace(
        row,
        incarnation=Incarnation(life) if isinstance(life, int) else row.incarnation,
        phase=Phase.IDLE,
        since=notice.at,
        note="",
        tools=(),
        parent=AgentId(parent) if isinstance(parent, str) else None,
        limit=limit if isinstance(limit, int) else None,
        pid=pid if isinstance(pid, int) else 0,
        kind=str(data.get("kind") or ""),
    )


def moved(row: AgentStatus, notice: Notice) -> AgentStatus:
    """An agent's phase, run and Step after a notice."""
    phase = PHASES.get((notice.type, notice.extra_type))
    if phase is None or row.phase in OVER:
        return row
    run = None if phase == Phase.IDLE else notice.run or row.run
    runs = () if run is None else (run,)
    begins = (notice.type, notice.extra_type) == (NoticeType.STEP, "intro")
    row = replace(row, run=run, runs=runs, step=max(row.step, notice.step), round=0 if begins else row.round)
    return entered(row, phase, notice)


def entered(row: AgentStatus, phase: str, notice: Notice) -> AgentStatus:
    """An agent in a phase, since this notice if it was in another one."""
    said = phase in OVER or phase == Phase.PAUSED
    tools = row.tools if phase == Phase.ACTING else ()
    since = row.since if row.phase == phase else notice.at
    return replace(row, phase=phase, since=since, tools=tools, note=notice.text if said else "")


def replied(row: AgentStatus, notice: Notice) -> AgentStatus:
    """The model has answered: what it cost, and one round more, if it was one."""
    counted = [each for name in ("prompt", "completion") if isinstance(each := notice.data.get(name), int)]
    spent = row.spent + Amount(tokens=sum(counted), model_calls=1)
    thought = notice.data.get("purpose", "think") == "think"
    return replace(row, spent=spent, tokens=spent.tokens, round=row.round + thought)


def left_tool(row: AgentStatus, notice: Notice) -> AgentStatus:
    """One call of a tool is over; after the last one the model is asked again."""
    tools, name = list(row.tools), str(notice.data.get("tool", ""))
    if name in tools:
        tools.remove(name)
    row = replace(row, tools=tuple(tools))
    return row if tools or row.phase != Phase.ACTING else entered(row, Phase.THINKING, notice)
