"""What the page of messages shows: who talks to whom, as a graph. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from ...protocols.checkin import AgentStatus
from .fleet_model import tone

__all__ = ("MOST", "graph", "letter_rows")

MOST = 300
"""Agents that are drawn: those with the most mail. All are in the table."""

COLOURS: Mapping[str, str] = {
    "work": "#2563eb",
    "wait": "#d97706",
    "hold": "#9333ea",
    "bad": "#dc2626",
    "calm": "#64748b",
}
"""Of the names of colours that a phase has."""


def graph(rows: Iterable[AgentStatus], letters: Mapping[tuple[str, str], int]) -> dict[str, list[dict[str, Any]]]:
    """Nodes, whose size is the mail that waits, and edges, whose width is how much was sent."""
    known: dict[str, AgentStatus] = {row.agent: row for row in rows}
    busy: dict[str, int] = dict.fromkeys(known, 0)
    for (sender, recipient), count in letters.items():
        for each in (sender, recipient):
            busy[each] = busy.get(each, 0) + count
    chosen = sorted(busy, key=lambda name: (-busy[name], name))[:MOST]
    drawn = set(chosen)
    return {
        "nodes": [node(name, known.get(name)) for name in chosen],
        "links": [
            {
                "source": sender,
                "target": recipient,
                "value": count,
                "lineStyle": {"width": min(8, 1 + count / 4)},
            }
            for (sender, recipient), count in sorted(letters.items())
            if {sender, recipient} <= drawn
        ],
    }  # fmt: skip


def node(name: str, row: AgentStatus | None) -> dict[str, Any]:
    """One agent, or somebody who is none: the user."""
    if row is None:
        return {"id": name, "name": name, "symbol": "roundRect", "symbolSize": 16, "itemStyle": {"color": "#0d9488"}}
    return {
        "id": name,
        "name": name,
        "value": row.waiting,
        "symbolSize": min(60, 16 + 3 * row.waiting),
        "itemStyle": {"color": COLOURS[tone(row.phase)]},
    }


def letter_rows(letters: Mapping[tuple[str, str], int]) -> list[dict[str, Any]]:
    """A row for each pair of who has written to whom."""
    return [
        {"id": f"{sender}>{recipient}", "sender": sender, "recipient": recipient, "count": count}
        for (sender, recipient), count in letters.items()
    ]
