"""The page of messages: who talks to whom."""

from typing import Any

from nicegui import ui

from .frame import frame, kept_fresh
from .live_grid import BIG, LiveGrid
from .messages_model import FEW, MOST, graph, letter_rows
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


DRAWING_PACE = 3.0
"""Seconds between two drawings of more than these."""


def messages_page(seat: Seat) -> None:
    """Build it."""
    with frame(seat, "/messages"):
        nothing = ui.label("Nobody has written to anybody yet.").classes("af-soft")
        with ui.element("div").classes("af-cards"):
            with ui.element("div").classes("af-card").style("flex: 1 1 380px"):
                words = "Colour: state. Size: mail that waits. Width of a line: messages sent; red and dashed: stalled."
                ui.label(f"{words} At most {MOST} agents are drawn.").classes("af-label")
                chart = ui.echart(empty_graph()).style("height: max(360px, calc(100vh - 230px)); width: 100%")
            with ui.element("div").classes("af-card").style("flex: 1 1 420px"):
                grid = LiveGrid(COLUMNS, rows_of(seat), "No messages yet.").height("max(320px, calc(100vh - 215px))")
    drawing = Drawing(seat, chart)

    def show() -> None:
        nothing.set_visibility(not seat.chronicle.mail.letters)
        grid.show(rows_of(seat))
        drawing.draw()

    kept_fresh(seat, show)
    ui.timer(DRAWING_PACE, drawing.draw)  # what was not drawn because it came too soon


class Drawing:
    """The graph. Each drawing lets its nodes find their places anew, which takes a browser long when they are many."""

    def __init__(self, seat: Seat, chart: ui.echart) -> None:
        """Nothing is drawn yet."""
        self._seat = seat
        self._chart = chart
        self._drawn: dict[str, list[dict[str, Any]]] = {}
        self._at = 0.0

    def draw(self) -> None:
        """Draw it, if it is other than before, and of many agents not too soon after the last time."""
        mail, agents = self._seat.chronicle.mail, self._seat.view.rows.all()
        now = graph(agents, mail.letters, mail.stalled(agents))
        many, moment = len(now["nodes"]) > FEW, self._seat.clock.monotonic()
        if now == self._drawn or (many and moment < self._at + DRAWING_PACE):
            return
        self._drawn, self._at = now, moment
        series = self._chart.options["series"][0]
        series["layout"] = "circular" if many else "force"
        series["label"]["fontSize"] = 8 if many else 12
        series["data"], series["links"] = now["nodes"], now["links"]


def rows_of(seat: Seat) -> list[dict[str, Any]]:
    """The rows of the table."""
    mail = seat.chronicle.mail
    return letter_rows(mail.letters, mail.unread(), mail.stalled(seat.view.rows.all()))


def empty_graph() -> dict[str, Any]:
    """An empty graph."""
    return {
        "animationDurationUpdate": 300,
        "series": [
            {
                "type": "graph",
                "layout": "force",
                "circular": {"rotateLabel": True},
                "roam": True,
                "draggable": True,
                "label": {"show": True, "position": "right", "color": "#7c8798"},
                "labelLayout": {"hideOverlap": True},
                "top": 50,
                "bottom": 50,
                "left": 40,
                "right": 60,
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
