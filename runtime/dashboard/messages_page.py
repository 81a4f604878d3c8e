"""The page of messages: who talks to whom."""

from typing import Any

from nicegui import ui

from .frame import frame, kept_fresh
from .live_grid import BIG, LiveGrid
from .messages_model import MOST, graph, letter_rows
from .seat import Seat

__all__ = ("messages_page",)

COLUMNS: list[dict[str, Any]] = [
    {"headerName": "From", "field": "sender", "flex": 1, "minWidth": 120},
    {"headerName": "To", "field": "recipient", "flex": 1, "minWidth": 120},
    {"headerName": "Messages", "field": "count", "width": 140, "sort": "desc", ":valueFormatter": BIG, "filter": False},
]


def messages_page(seat: Seat) -> None:
    """Build it."""
    with frame(seat, "/messages"):
        nothing = ui.label("Nobody has written to anybody yet.").classes("af-soft")
        with ui.element("div").classes("af-cards"):
            with ui.element("div").classes("af-card").style("flex: 3 1 420px"):
                words = "Colour: state. Size: mail that waits. Width of a line: messages sent."
                ui.label(f"{words} At most {MOST} agents are drawn.").classes("af-label")
                chart = ui.echart(drawing()).style("height: max(360px, calc(100vh - 230px)); width: 100%")
            with ui.element("div").classes("af-card").style("flex: 2 1 300px"):
                rows = letter_rows(seat.chronicle.letters)
                grid = LiveGrid(COLUMNS, rows, "No messages yet.").height("max(320px, calc(100vh - 215px))")
    drawn: dict[str, list[dict[str, Any]]] = {}

    def show() -> None:
        nonlocal drawn
        nothing.set_visibility(not seat.chronicle.letters)
        grid.show(letter_rows(seat.chronicle.letters))
        now = graph(seat.view.rows.all(), seat.chronicle.letters)
        if now != drawn:  # each drawing lets the nodes find their places anew
            drawn = now
            series = chart.options["series"][0]
            series["data"], series["links"] = now["nodes"], now["links"]

    kept_fresh(seat, show)


def drawing() -> dict[str, Any]:
    """An empty graph."""
    return {
        "animationDurationUpdate": 300,
        "series": [
            {
                "type": "graph",
                "layout": "force",
                "roam": True,
                "draggable": True,
                "label": {"show": True, "position": "right", "color": "#7c8798"},
                "labelLayout": {"hideOverlap": True},
                "edgeSymbol": ["none", "arrow"],
                "edgeSymbolSize": 7,
                "lineStyle": {"color": "#7c8798", "opacity": 0.6, "curveness": 0.12},
                "force": {"repulsion": 160, "edgeLength": 80, "gravity": 0.25},
                "emphasis": {"focus": "adjacency"},
                "data": [],
                "links": [],
            }
        ],
    }
