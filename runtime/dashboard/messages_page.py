"""The page of messages: who talks to whom."""

from typing import Any

from nicegui import ui

from .frame import frame, kept_fresh
from .live_grid import BIG, LiveGrid
from .messages_model import MOST, graph, letter_rows
from .seat import Seat

__all__ = ("messages_page",)

COLUMNS: list[dict[str, Any]] = [
    {"headerName": "From", "field": "sender", "flex": 1, "minWidth": 90},
    {"headerName": "To", "field": "recipient", "flex": 1, "minWidth": 90},
    {"headerName": "Sent", "field": "count", "width": 85, "sort": "desc", ":valueFormatter": BIG, "filter": False},
    {"headerName": "Unread", "field": "unread", "width": 95, ":valueFormatter": BIG, "filter": "agNumberColumnFilter"},
    {"headerName": "Stalled", "field": "stalled", "flex": 2, "minWidth": 150, "tooltipField": "stalled",
     ":cellClass": "p => p.value ? 'tone-bad' : ''"},
]  # fmt: skip


def messages_page(seat: Seat) -> None:
    """Build it."""
    with frame(seat, "/messages"):
        nothing = ui.label("Nobody has written to anybody yet.").classes("af-soft")
        with ui.element("div").classes("af-cards"):
            with ui.element("div").classes("af-card").style("flex: 1 1 380px"):
                words = "Colour: state. Size: mail that waits. Width of a line: messages sent; red and dashed: stalled."
                ui.label(f"{words} At most {MOST} agents are drawn.").classes("af-label")
                chart = ui.echart(drawing()).style("height: max(360px, calc(100vh - 230px)); width: 100%")
            with ui.element("div").classes("af-card").style("flex: 1 1 420px"):
                grid = LiveGrid(COLUMNS, rows_of(seat), "No messages yet.").height("max(320px, calc(100vh - 215px))")
    drawn: dict[str, list[dict[str, Any]]] = {}

    def show() -> None:
        nonlocal drawn
        mail, agents = seat.chronicle.mail, seat.view.rows.all()
        nothing.set_visibility(not mail.letters)
        grid.show(rows_of(seat))
        now = graph(agents, mail.letters, mail.stalled(agents))
        if now != drawn:  # each drawing lets the nodes find their places anew
            drawn = now
            series = chart.options["series"][0]
            series["data"], series["links"] = now["nodes"], now["links"]

    kept_fresh(seat, show)


def rows_of(seat: Seat) -> list[dict[str, Any]]:
    """The rows of the table."""
    mail = seat.chronicle.mail
    return letter_rows(mail.letters, mail.unread(), mail.stalled(seat.view.rows.all()))


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
                "force": {"repulsion": 420, "edgeLength": [60, 150], "gravity": 0.12},
                "emphasis": {"focus": "adjacency"},
                "data": [],
                "links": [],
            }
        ],
    }
