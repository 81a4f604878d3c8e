"""The page of one agent: what it is, what it did, Step by Step, and its levers.

What the model was told and said in full is not in what the gateway has: it stays with the agent.
"""

from typing import Any

from nicegui import ui

from ..supervision.account import Account, Level
from .agent_model import facts, timeline_rows
from .fleet_model import tone
from .frame import frame, kept_fresh
from .levers import BY_PAGE, ask_first, limit_lever, pull, send_lever
from .live_grid import TIME, LiveGrid
from .seat import Seat

__all__ = ("agent_page",)

COLUMNS: list[dict[str, Any]] = [
    {"field": "number", "hide": True, "sort": "desc"},
    {"headerName": "Step", "field": "step", "width": 95},
    {"headerName": "Time", "field": "at", "width": 110, ":valueFormatter": TIME, "filter": False},
    {"headerName": "What", "field": "kind", "width": 170, ":cellClass": "p => p.data.bad ? 'tone-bad' : ''"},
    {"headerName": "Told", "field": "text", "flex": 2, "minWidth": 260, "tooltipField": "text"},
    {"headerName": "Facts", "field": "evidence", "flex": 2, "minWidth": 240, "tooltipField": "evidence"},
]


def agent_page(seat: Seat, name: str) -> None:
    """Build it."""
    with frame(seat, f"/agent/{name}"):
        seat.catch_up()
        if seat.view.rows.find(name) is None:
            with ui.element("div").classes("af-card"):
                ui.label(f"There is no agent {name!r} in this fleet.").classes("af-title")
                ui.link("All agents", "/")
            return
        with ui.element("div").classes("af-card"):
            state_card(seat, name)
        with ui.element("div").classes("af-cards"):
            with ui.element("div").classes("af-card").style("flex: 2 1 320px"):
                send_lever(seat, name)
            with ui.element("div").classes("af-card").style("flex: 1 1 300px"):
                levers(seat, name)
        ui.label("What it did, the newest first").classes("af-title")
        grid = LiveGrid(
            COLUMNS,
            timeline_rows(seat.chronicle.told(name)),
            "Nothing has happened yet.",
            options={"rowClassRules": {"af-first": "data.first"}},
        )
        grid.height("max(360px, calc(100vh - 430px))")
        kept_fresh(seat, lambda: grid.show(timeline_rows(seat.chronicle.told(name))))


def state_card(seat: Seat, name: str) -> None:
    """Its state, what is known of it, and why it is as it is."""
    with ui.row().classes("items-baseline gap-3"):
        ui.label(name).classes("af-big")
        state = ui.label()
    note = ui.label().classes("af-text")
    known = ui.element("div").classes("af-chips").style("margin-top: 8px; gap: 6px 24px")

    def show() -> None:
        row = seat.view.rows.find(name)
        if row is None:
            return
        state.set_text(row.phase.replace("_", " "))
        state.classes(replace=f"af-state tone-{tone(row.phase)}")
        note.set_text(row.stopped or row.note)
        note.set_visibility(bool(row.stopped or row.note))
        known.clear()
        with known:
            for what, value in facts(row):
                with ui.element("div"):
                    ui.label(what).classes("af-label")
                    ui.label(value).classes("af-text")

    kept_fresh(seat, show)


def levers(seat: Seat, name: str) -> None:
    """Pause, resume, stop, and its limit."""

    async def pause() -> None:
        await pull(seat, seat.source.pause(name, f"paused {BY_PAGE}"), f"{name} pauses at its next boundary.")

    async def resume() -> None:
        await pull(seat, seat.source.pause(name, None), f"{name} may go on.")

    async def stop() -> None:
        await pull(seat, seat.source.stop((name,), f"stopped {BY_PAGE}"), f"{name} is stopped.")

    question = f"Stop {name} and those below it, for good? What it has not finished stays undone."
    dialog = ask_first(question, "Stop", stop)
    with ui.element("div").classes("af-levers"):
        ui.button("Pause", icon="pause", on_click=pause).props("outline")
        ui.button("Resume", icon="play_arrow", on_click=resume).props("outline")
        ui.button("Stop", icon="stop", on_click=dialog.open).props("outline color=negative")
    with ui.element("div").classes("af-levers").style("margin-top: 12px"):
        limit_lever(seat, name, lambda: account_of(seat, name))


def account_of(seat: Seat, name: str) -> Account | None:
    """An agent's account; None: it has spent nothing yet, and has no limit."""
    return next((each for each in seat.view.accounts if each.level is Level.AGENT and each.name == name), None)
