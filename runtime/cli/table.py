"""The fleet as a table: one row for each agent."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from rich.table import Table
from rich.text import Text

from ...protocols.checkin import AgentStatus
from ...protocols.ids import AgentId

__all__ = ("fleet_table", "row_shown", "tokens")

COLOURS: Mapping[str, str] = {
    "acting": "cyan",
    "thinking": "blue",
    "waiting": "yellow",
    "winding_down": "magenta",
    "paused": "yellow",
    "stopped": "red",
    "dead": "red",
}

NOTE = 60
"""Characters of a note."""


def fleet_table(rows: Iterable[AgentStatus], notes: Mapping[AgentId, str], now: float | None = None) -> Table:
    """A table of agents.

    Args:
        rows: One for each agent.
        notes: The last thing known of an agent, shown where its own row says nothing.
        now: Unix seconds, to tell how long each phase lasts; None: not told.
    """
    table = Table()
    table.add_column("agent", no_wrap=True, style="bold")
    table.add_column("phase", no_wrap=True)
    for heading in ("Step", "waiting", "sent", "consumed", "tokens"):
        table.add_column(heading, no_wrap=True, justify="right")
    table.add_column("note", no_wrap=True, overflow="ellipsis", max_width=NOTE)
    for row in rows:
        counts = (row.step, row.waiting, row.sent, row.consumed)
        lasting = "" if now is None else f" {max(0.0, now - row.since):.0f} s"
        note = " ".join((row.note or notes.get(row.agent, "")).split())
        table.add_row(
            row.agent,
            Text(f"{row.phase}{lasting}", style=COLOURS.get(row.phase, "")),
            *(f"{count:,}" for count in counts),
            tokens(row.tokens, row.limit),
            Text(note),
        )
    return table


def tokens(spent: int, limit: int | None) -> str:
    """Tokens against their limit."""
    return f"{spent:,}" if limit is None else f"{spent:,} / {limit:,}"


def row_shown(row: AgentStatus) -> dict[str, Any]:
    """A row as JSON."""
    return asdict(row)
