"""The page of the fleet: all agents, what they do, and what they cost together."""

from typing import Any

from nicegui import ui

from .budgets_model import spending
from .fleet_model import agent_rows, fleet_account, summary, tone
from .frame import frame, kept_fresh
from .levers import BY_PAGE, ask_first, pull
from .live_grid import AGE, BIG, LiveGrid
from .seat import Seat

__all__ = ("fleet_page",)

COLUMNS: list[dict[str, Any]] = [
    {"headerName": "Agent", "field": "id", "width": 130, "pinned": "left", "sort": "asc"},
    {"headerName": "State", "field": "state", "width": 130, ":cellClass": "p => 'tone-' + p.data.tone"},
    {"headerName": "For", "field": "since", "width": 80, ":valueFormatter": AGE, "filter": False},
    {"headerName": "Step", "field": "step", "width": 80, "filter": "agNumberColumnFilter"},
    {"headerName": "Mail", "field": "waiting", "width": 80, "filter": "agNumberColumnFilter"},
    {"headerName": "Tokens", "field": "tokens", "width": 110, ":valueFormatter": BIG, "filter": "agNumberColumnFilter"},
    {"headerName": "Limit", "field": "limit", "width": 110, ":valueFormatter": BIG, "filter": "agNumberColumnFilter"},
    {"headerName": "Note", "field": "note", "flex": 1, "minWidth": 240, "tooltipField": "note"},
]

AGE_PACE = 1.0
"""Seconds between two drawings of how long states last."""


def fleet_page(seat: Seat) -> None:
    """Build it."""
    with frame(seat, "/"):
        with ui.element("div").classes("af-cards"):
            counts(seat)
            cost(seat)
            history(seat)
        with ui.row().classes("w-full items-center"):
            ui.label("Open an agent with a click or Enter.").classes("af-soft")
            ui.space()
            stop_all(seat)
        rows = agent_rows(seat.view.rows.all())
        grid = LiveGrid(
            COLUMNS,
            rows,
            "No agents yet: they show up here once they are spawned.",
            opens="id",
            wide=("since", "step", "limit"),
        )
        grid.height("max(320px, calc(100vh - 290px))")
    kept_fresh(seat, lambda: grid.show(agent_rows(seat.view.rows.all())))
    ui.timer(AGE_PACE, lambda: grid.refresh("since"))


def counts(seat: Seat) -> None:
    """How many agents are in which state."""
    with ui.element("div").classes("af-card"):
        ui.label("Agents").classes("af-label")
        count = ui.label().classes("af-big")
        chips = ui.element("div").classes("af-chips")

    def show() -> None:
        short = summary(seat.view.rows.all(), seat.view.accounts)
        count.set_text(f"{short.agents:,}")
        chips.clear()
        with chips:
            for phase, agents in short.phases:
                ui.label(f"{agents:,} {phase.replace('_', ' ')}").classes(f"tone-{tone(phase)}")

    kept_fresh(seat, show)


def cost(seat: Seat) -> None:
    """What is spent, against the limit."""
    with ui.element("div").classes("af-card"):
        ui.label("Spent").classes("af-label")
        spent = ui.label().classes("af-big")
        with ui.element("div").classes("af-bar") as bar:
            filled = ui.element("div").classes("af-settled")

    def show() -> None:
        short = summary(seat.view.rows.all(), seat.view.accounts)
        spent.set_text(short.spent)
        bar.set_visibility(short.share is not None)
        filled.style(f"width: {100 * (short.share or 0):.1f}%")

    kept_fresh(seat, show)


def history(seat: Seat) -> None:
    """How the spending rose."""
    with ui.element("div").classes("af-card"):
        ui.label("Tokens over time").classes("af-label")
        line = ui.echart(sparkline()).style("height: 62px; width: 100%")

    def show() -> None:
        account = fleet_account(seat.view.accounts)
        data = spending(seat.chronicle.spent, account.spent.tokens if account else 0)
        if line.options["series"][0]["data"] != data:
            line.options["series"][0]["data"] = data

    kept_fresh(seat, show)


def sparkline() -> dict[str, Any]:
    """A line without axes."""
    return {
        "animation": False,
        "grid": {"left": 0, "right": 4, "top": 6, "bottom": 2},
        "xAxis": {"type": "time", "show": False},
        "yAxis": {"type": "value", "show": False},
        "series": [
            {"type": "line", "showSymbol": False, "areaStyle": {"opacity": 0.15}, "color": "#2563eb", "data": []}
        ],
    }


def stop_all(seat: Seat) -> None:
    """The button that stops everybody."""

    async def act() -> None:
        await pull(seat, seat.source.stop((), f"stopped {BY_PAGE}"), "The fleet is stopped.")

    question = f"Stop all agents of {seat.view.fleet}, for good? What they have not finished stays undone."
    ask = ask_first(question, "Stop all", act, colour="negative")
    ui.button("Stop all", icon="stop", on_click=ask).props("outline color=negative").classes("af-steers")
