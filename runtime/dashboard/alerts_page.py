"""The page of alerts: what waits for a person, and what went wrong, with the evidence."""

from typing import Any

from nicegui import ui

from .alerts_model import alert_rows
from .frame import frame, kept_fresh
from .levers import answer_lever
from .live_grid import TIME, LiveGrid
from .seat import Seat

__all__ = ("alerts_page",)

COLUMNS: list[dict[str, Any]] = [
    {"field": "number", "hide": True, "sort": "desc"},
    {"headerName": "Time", "field": "at", "width": 110, ":valueFormatter": TIME, "filter": False},
    {"headerName": "Agent", "field": "agent", "width": 110},
    {"headerName": "What", "field": "kind", "width": 190, "cellClass": "tone-bad af-top"},
    {"headerName": "Told", "field": "text", "flex": 3, "minWidth": 230, "wrapText": True, "autoHeight": True},
    {"headerName": "Evidence", "field": "evidence", "flex": 3, "minWidth": 230, "wrapText": True, "autoHeight": True},
]


def alerts_page(seat: Seat) -> None:
    """Build it."""
    with frame(seat, "/alerts"):
        ui.label("Waiting for a person").classes("af-title")
        nobody = ui.label("No call waits for you.").classes("af-soft")
        waiting = ui.column().classes("w-full gap-3")
        ui.label("Troubles, the newest first").classes("af-title")
        seat.catch_up()
        rows = alert_rows(seat.chronicle.alerts)
        grid = LiveGrid(COLUMNS, rows, "Nothing went wrong so far.", opens="agent", wide=("at", "kind")).height(
            "max(360px, 60vh)"
        )
    cards: dict[str, ui.element] = {}

    def show() -> None:
        grid.show(alert_rows(seat.chronicle.alerts))
        for key in [key for key in cards if key not in seat.chronicle.waiting]:
            cards.pop(key).delete()
        for key in [key for key in seat.chronicle.waiting if key not in cards]:
            with waiting:
                cards[key] = approval_card(seat, key)
        nobody.set_visibility(not cards)

    kept_fresh(seat, show)


def approval_card(seat: Seat, approval: str) -> ui.element:
    """One call that waits. A card stays as it is until the call is answered, so that nobody answers another one."""
    notice = seat.chronicle.waiting[approval]
    with ui.element("div").classes("af-card w-full") as card:
        ui.label(f"{notice.agent} asks to run {notice.data.get('tool', '')}").classes("af-title")
        ui.label(str(notice.data.get("arguments", ""))).classes("af-text").style("font-family: monospace")
        ui.label(str(notice.data.get("reason", ""))).classes("af-soft")
        with ui.element("div").classes("af-levers").style("margin-top: 8px"):
            answer_lever(seat, approval, f"{notice.agent}'s call of {notice.data.get('tool', '')}")
    return card
