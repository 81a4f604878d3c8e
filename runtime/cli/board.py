"""A fleet on one screen: what it spends, who does what, and what went wrong last."""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from rich.console import Group, RenderableType
from rich.text import Text

from ...protocols.checkin import AgentStatus
from ...protocols.notices import Notice
from ..dashboard.alerts_model import is_alert
from ..supervision.account import Account
from .screen import line
from .summary import spent
from .table import fleet_table, tokens
from .tally import Tally
from .visible import harmless
from .wording import plural

__all__ = ("ALERTS", "Board", "Order", "phases")

ALERTS = 5
"""Troubles that are shown, the newest."""

FRAME = 5
"""Lines that a table takes beside its rows."""


class Order(StrEnum):
    """What a table of agents is sorted by; the first letter is the key that asks for it."""

    NAME = "name"
    PHASE = "phase"
    TOKENS = "tokens"
    MAIL = "mail"


ORDERS: Mapping[Order, Callable[[AgentStatus], tuple[int | str, ...]]] = {
    Order.NAME: lambda row: (row.agent,),
    Order.PHASE: lambda row: (row.phase, row.agent),
    Order.TOKENS: lambda row: (-row.tokens, row.agent),
    Order.MAIL: lambda row: (-row.waiting, row.agent),
}


def phases(rows: Iterable[AgentStatus]) -> str:
    """How many agents are in each phase, the most frequent first."""
    return ", ".join(f"{count:,} {phase}" for phase, count in Counter(row.phase for row in rows).most_common())


@dataclass
class Board:
    """What is known of a fleet, and how it is shown.

    Attributes:
        fleet: Its name.
        order: What the table is sorted by.
        tally: What its notices come to.
        alerts: The last troubles, oldest first.
    """

    fleet: str
    order: Order = Order.NAME
    tally: Tally = field(default_factory=Tally)
    alerts: deque[Notice] = field(default_factory=lambda: deque[Notice](maxlen=ALERTS))

    def add(self, notice: Notice) -> None:
        """Take one notice in."""
        self.tally.add(notice)
        if is_alert(notice):
            self.alerts.append(notice)

    def drawn(
        self, rows: Sequence[AgentStatus], accounts: Iterable[Account], width: int, height: int | None, now: float
    ) -> Group:
        """The screen.

        Args:
            rows: One for each agent.
            accounts: The Supervisor's.
            width: Columns there are.
            height: Lines there are; None: as many as it takes.
            now: Unix seconds, to tell how long each phase lasts.
        """
        who = f"{plural(len(rows), 'agent')}: {phases(rows)}" if rows else "no agents"
        heading = Text(f"fleet {self.fleet}: {who}; tokens {tokens(*spent(accounts))}", style="bold")
        below = [
            Text(harmless(line(alert)), style="yellow", no_wrap=True, overflow="ellipsis") for alert in self.alerts
        ]
        chosen = sorted(rows, key=ORDERS[self.order])
        room = len(chosen) if height is None else max(1, height - FRAME - 1 - len(below) - bool(below))
        shown = chosen[:room]
        table = fleet_table(shown, self.tally.latest, width, now)
        if len(shown) < len(chosen):
            table.title = f"the first {len(shown):,} of {len(chosen):,} by {self.order}"
        parts: list[RenderableType] = [heading]
        parts += [table] if shown else []
        parts += [Text("last troubles:"), *below] if below else []
        return Group(*parts)
