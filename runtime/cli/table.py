"""The fleet as a table: one row for each agent."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from rich.table import Table
from rich.text import Text

from ...protocols.checkin import AgentStatus
from ...protocols.ids import AgentId
from ...protocols.limits import Unit, dollars, shown
from .visible import harmless

__all__ = ("fleet_table", "one_line", "row_shown", "spending", "tokens")

COLOURS: Mapping[str, str] = {
    "acting": "cyan",
    "thinking": "blue",
    "waiting": "yellow",
    "winding_down": "magenta",
    "paused": "yellow",
    "stopped": "red",
    "dead": "red",
}

WIDE = 110
"""Columns of a terminal from which the counts of mail have columns of their own."""


def fleet_table(
    rows: Iterable[AgentStatus], notes: Mapping[AgentId, str], width: int, now: float | None = None
) -> Table:
    """A table of agents.

    Args:
        rows: One for each agent.
        width: Columns there are. In few the counts of mail share one; a note is what has to give way. In many it is
            told who is on which node, if there are several.
        notes: The last thing known of an agent, shown where its own row says nothing.
        now: Unix seconds, to tell how long each phase lasts; None: not told.
    """
    rows, wide = tuple(rows), width >= WIDE
    spread = wide and len({row.node for row in rows if row.node}) > 1
    table = Table(caption=None if wide else "mail: waiting/sent/consumed", caption_justify="left")
    table.add_column("agent", no_wrap=True, style="bold")
    table.add_column("phase", no_wrap=True)
    for heading in ("Step", *(("waiting", "sent", "consumed") if wide else ("mail",)), "tokens"):
        table.add_column(heading, no_wrap=True, justify="right")
    for heading in (*(("node",) if spread else ()), "note"):
        table.add_column(heading)
    for row in rows:
        mail = tuple(f"{count:,}" for count in (row.waiting, row.sent, row.consumed))
        lasting = "" if now is None else f" {max(0.0, now - row.since):.0f} s"
        table.add_row(
            Text(harmless(row.agent)),
            Text(f"{row.phase}{lasting}", style=COLOURS.get(row.phase, "")),
            f"{row.step:,}",
            *(mail if wide else ("/".join(mail),)),
            spending(row),
            *((row.node,) if spread else ()),
            one_line(row.note or notes.get(row.agent, "")),
        )
    return table


def one_line(text: str) -> Text:
    """A text on one line, which ends in an ellipsis where the table would be too wide.

    Its column must be one that may wrap: Rich narrows no other, as long as one is left.
    """
    return Text(harmless(" ".join(text.split())), no_wrap=True, overflow="ellipsis")


def spending(row: AgentStatus) -> str:
    """What an agent has spent: its tokens, and on a line each what else is limited of it."""
    lines, limits, spent = [tokens(row.tokens, row.limit)], row.limits, row.spent
    if limits is not None and limits.dollars is not None:
        lines.append(f"{dollars(spent.dollars)} / {dollars(limits.dollars)}")
    if limits is not None and limits.model_calls is not None:
        lines.append(f"{spent.model_calls:,} / {shown(Unit.MODEL_CALLS, limits.model_calls)}")
    if limits is not None and limits.tool_calls is not None:
        lines.append(f"{spent.tool_calls:,} / {shown(Unit.TOOL_CALLS, limits.tool_calls)}")
    return "\n".join(lines)


def tokens(spent: int, limit: int | None) -> str:
    """Tokens against their limit."""
    return f"{spent:,}" if limit is None else f"{spent:,} / {limit:,}"


def row_shown(row: AgentStatus) -> dict[str, Any]:
    """A row as JSON."""
    return asdict(row)
