"""The page of one agent: what it is, what it did, Step by Step, what was said, what waits in its mailbox, its levers.

What was said and what waits is asked of the agent's own process, only while somebody looks at it.
"""

from typing import Any

from nicegui import ui

from ...protocols.errors import FleetError
from ..supervision.account import Account, Level
from .agent_model import facts, timeline_rows
from .fleet_model import tone
from .frame import frame, kept_fresh
from .levers import BY_PAGE, ask_first, limit_lever, pull, send_lever
from .live_grid import TIME, LiveGrid
from .mailbox_pane import MailboxPane
from .seat import Seat
from .transcript_pane import TranscriptPane
from .views import views

__all__ = ("agent_page",)

TRANSCRIPT, MAILBOX = "Transcript", "Mailbox"

LOOK_PACE = 0.5
"""Seconds between two looks at whether the agent is to be asked anew."""

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
        with ui.element("div").classes("af-cards af-steers"):
            with ui.element("div").classes("af-card").style("flex: 2 1 320px"):
                send_lever(seat, name)
            with ui.element("div").classes("af-card").style("flex: 1 1 300px"):
                levers(seat, name)
        inside(seat, name)


def inside(seat: Seat, name: str) -> None:
    """What it did, what was said, what waits: one of them at a time."""
    panes: list[TranscriptPane | MailboxPane] = []
    seen = views(
        f"Views of {name}",
        {
            "Timeline": lambda: timeline(seat, name),
            TRANSCRIPT: lambda: panes.append(TranscriptPane(seat, name)),
            MAILBOX: lambda: panes.append(MailboxPane(seat, name)),
        },
    )
    known: object = None

    async def look() -> None:
        nonlocal known
        for pane in panes:
            if isinstance(pane, TranscriptPane):
                pane.listen(seen=seen() == TRANSCRIPT)
        told = seat.chronicle.told(name)
        now = (told[-1].number if told else 0, seat.view.rows.find(name))
        if seen() not in {TRANSCRIPT, MAILBOX} or now == known:
            return
        known = now
        try:
            insight = await seat.source.look(name)
        except FleetError as error:
            known = None  # it is asked again, although nothing new is told of it
            for pane in panes:
                pane.fail(str(error))
            return
        for pane in panes:
            pane.show(insight)

    ui.timer(LOOK_PACE, look)


def timeline(seat: Seat, name: str) -> None:
    """What it did, Step by Step, the newest first."""
    grid = LiveGrid(
        COLUMNS,
        timeline_rows(seat.chronicle.told(name)),
        "Nothing has happened yet.",
        wide=("at",),
        options={"rowClassRules": {"af-first": "data.first"}},
    )
    grid.height("max(360px, calc(100vh - 460px))")
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
    """Pause, resume, stop, kill, and its limit."""

    async def pause() -> None:
        await pull(seat, seat.source.pause(name, f"paused {BY_PAGE}"), f"{name} pauses at its next boundary.")

    async def resume() -> None:
        await pull(seat, seat.source.pause(name, None), f"{name} may go on.")

    async def stop() -> None:
        await pull(seat, seat.source.stop((name,), f"stopped {BY_PAGE}"), f"{name} is stopped.")

    async def kill() -> None:
        await pull(seat, seat.source.kill(name), f"The process of {name} was ended.")

    below = f"{name} and those below it"
    ask_pause = ask_first(f"Pause {below} at their next boundary?", "Pause", pause)
    ask_resume = ask_first(f"Let {below} go on?", "Resume", resume)
    question = f"Stop {below}, for good? What it has not finished stays undone."
    ask_stop = ask_first(question, "Stop", stop, colour="negative")
    question = f"End the process of {name} at once? It is restarted as after any other death, if its fleet restarts it."
    ask_kill = ask_first(question, "Kill", kill, colour="negative")
    with ui.element("div").classes("af-levers"):
        ui.button("Pause", icon="pause", on_click=ask_pause).props("outline")
        ui.button("Resume", icon="play_arrow", on_click=ask_resume).props("outline")
        ui.button("Stop", icon="stop", on_click=ask_stop).props("outline color=negative")
        ui.button("Kill", icon="power_off", on_click=ask_kill).props("outline color=negative")
    with ui.element("div").classes("af-levers").style("margin-top: 12px"):
        limit_lever(seat, name, lambda: account_of(seat, name))


def account_of(seat: Seat, name: str) -> Account | None:
    """An agent's account; None: it has spent nothing yet, and has no limit."""
    return next((each for each in seat.view.accounts if each.level is Level.AGENT and each.name == name), None)
