"""What the page of messages shows: who talks to whom, as a graph. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from ...protocols.checkin import AgentStatus
from .correspondence import Unread, Way
from .fleet_model import tone

__all__ = ("FEW", "MOST", "graph", "letter_rows")

MOST = 300
"""Agents that are drawn: those with the most mail. All are in the table."""

FEW = 60
"""Agents that find their places by themselves; more stand in a circle, drawn smaller."""

LARGEST = 60
"""Pixels of an agent with much mail, among few."""

FIRST = 10**9
"""More than anybody sends."""

COLOURS: Mapping[str, str] = {
    "work": "#2563eb",
    "wait": "#d97706",
    "hold": "#9333ea",
    "bad": "#dc2626",
    "calm": "#64748b",
}
"""Of the names of colours that a phase has."""


def graph(
    rows: Iterable[AgentStatus], letters: Mapping[Way, int], stalled: Mapping[Way, str]
) -> dict[str, list[dict[str, Any]]]:
    """Nodes, whose size is the mail that waits, and edges, whose width is how much was sent; stalled ones are red."""
    known: dict[str, AgentStatus] = {row.agent: row for row in rows}
    busy: dict[str, int] = dict.fromkeys(known, 0)
    ways = {way: letters.get(way, 0) for way in (*letters, *stalled)}
    for way, count in ways.items():
        for each in way:  # who stands in a stalled way is drawn first
            busy[each] = busy.get(each, 0) + count + (FIRST if way in stalled else 0)
    chosen = sorted(busy, key=lambda name: (-busy[name], name))[:MOST]
    drawn = set(chosen)
    largest = LARGEST if len(chosen) <= FEW else LARGEST / 4
    return {
        "nodes": [node(name, known.get(name), largest) for name in chosen],
        "links": [
            {"source": way[0], "target": way[1], "value": count, "lineStyle": line(count, stalled=way in stalled)}
            for way, count in sorted(ways.items())
            if drawn.issuperset(way)
        ],
    }  # fmt: skip


def line(count: int, *, stalled: bool) -> dict[str, Any]:
    """How a way is drawn on which so many messages were sent."""
    style: dict[str, Any] = {"width": min(8, 1 + count / 4)}
    return {**style, "width": max(2.5, style["width"]), "color": COLOURS["bad"], "type": "dashed"} if stalled else style


def node(name: str, row: AgentStatus | None, largest: float) -> dict[str, Any]:
    """One agent, or somebody who is none: the user."""
    if row is None:
        return {
            "id": name,
            "name": name,
            "symbol": "roundRect",
            "symbolSize": 16 * largest / LARGEST,
            "itemStyle": {"color": "#0d9488"},
        }
    return {
        "id": name,
        "name": name,
        "value": row.waiting,
        "symbolSize": min(LARGEST, 16 + 3 * row.waiting) * largest / LARGEST,
        "itemStyle": {"color": COLOURS[tone(row.phase)]},
    }


def letter_rows(
    letters: Mapping[Way, int], unread: Iterable[Unread], stalled: Mapping[Way, str]
) -> list[dict[str, Any]]:
    """A row for each pair of who has written to whom, or waits for whom."""
    waiting = Counter((each.sender, each.recipient) for each in unread)
    return [
        {
            "id": " > ".join(way),
            "sender": way[0],
            "recipient": way[1],
            "count": letters.get(way, 0),
            "unread": waiting[way],
            "stalled": stalled.get(way, ""),
        }
        for way in dict.fromkeys((*letters, *stalled))
    ]
