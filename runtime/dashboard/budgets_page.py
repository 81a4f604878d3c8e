"""The page of budgets: what is spent and set aside in each account, how the fleet's limit went, and who needs more."""

from typing import Any

from nicegui import ui

from ...protocols.limits import Unit
from ...protocols.notices import Notice
from ..supervision.account import Account, Level
from .budgets_model import account_rows, burn_down, joined, members
from .chronicle import Spent
from .fleet_model import amount_shown, fleet_account
from .frame import frame, kept_fresh
from .levers import ask_first, limit_lever, pull
from .live_grid import BIG, LiveGrid
from .seat import Seat

__all__ = ("budgets_page",)

BAR = (
    "p => p.data.settled_part == null ? {} : { backgroundImage: 'linear-gradient(90deg, #2563eb88 '"
    " + p.data.settled_part + '%, #f59e0baa ' + p.data.settled_part + '% '"
    " + Math.min(100, p.data.settled_part + p.data.reserved_part) + '%, transparent 0)', backgroundRepeat:"
    " 'no-repeat' }"
)
"""Draws what is spent and what is set aside, as parts of the limit, behind the words."""

COLUMNS: list[dict[str, Any]] = [
    {"headerName": "Account", "field": "name", "width": 160, "pinned": "left"},
    {"headerName": "Level", "field": "level", "width": 90},
    {"headerName": "Spent of limit", "field": "settled_part", "flex": 2, "minWidth": 200, ":cellStyle": BAR,
     ":valueFormatter": "p => p.value == null ? 'no limit' : p.value + ' % of ' + p.data.of",
     "filter": "agNumberColumnFilter"},
    {"headerName": "Spent", "field": "spent", "width": 110, ":valueFormatter": BIG, "filter": "agNumberColumnFilter"},
    {"headerName": "Set aside", "field": "reserved", "width": 110, ":valueFormatter": BIG, "filter": False},
    {"headerName": "Limit", "field": "limit", "width": 150},
    {"headerName": "Calls", "field": "calls", "width": 90, ":valueFormatter": BIG, "filter": False},
]  # fmt: skip


def budgets_page(seat: Seat) -> None:
    """Build it."""
    with frame(seat, "/budgets"):
        with ui.element("div").classes("af-cards"):
            history(seat)
            cost(seat)
        ui.label("Who needs more").classes("af-title")
        askers(seat)
        ui.label("Accounts").classes("af-title")
        rows = account_rows(seat.view.accounts)
        grid = LiveGrid(COLUMNS, rows, "Nothing was spent yet.", wide=("level", "reserved", "calls")).height(
            "max(320px, 45vh)"
        )
    kept_fresh(seat, lambda: grid.show(account_rows(seat.view.accounts)))


def history(seat: Seat) -> None:
    """What was left of a limit over time: the fleet's, a team's or an agent's, as one chooses."""
    with ui.element("div").classes("af-card").style("flex: 2 1 380px"):
        with ui.row(wrap=False).classes("w-full items-center gap-3"):
            title = ui.label().classes("af-label grow")
            chosen = ui.select({"": "the fleet"}, value="", label="Account").props("outlined dense options-dense")
            chosen.classes("af-choice")
        chart = ui.echart(curve()).style("height: 180px; width: 100%")

    def show() -> None:
        names = {path_of(each): shown_name(each) for each in seat.view.accounts if each.level is not Level.RUN}
        if chosen.options != (choices := {"": "the fleet", **names}):
            chosen.set_options(choices)
        account = find(seat, chosen.value)
        most = None if account is None or account.limit is None else account.limit.tokens
        title.set_text("Tokens spent, over time" if most is None else f"Tokens left of {most:,}, over time")
        now = 0 if account is None else account.spent.tokens
        data = burn_down(points(seat, account), now, most)
        if chart.options["series"][0]["data"] != data:
            chart.options["series"][0]["data"] = data

    chosen.on_value_change(show)
    kept_fresh(seat, show)


def path_of(account: Account) -> str:
    """An account's path as one text; the fleet's, which is at the top of the list already, has none."""
    return "/".join(account.path[1:])


def shown_name(account: Account) -> str:
    """How an account is named in the list."""
    return "the fleet" if account.level is Level.FLEET else f"{account.level} {account.name}"


def find(seat: Seat, path: str) -> Account | None:
    """The account of that path."""
    return next((each for each in seat.view.accounts if path_of(each) == path), None)


def points(seat: Seat, account: Account | None) -> list[Spent]:
    """How the spending of an account rose."""
    if account is None or account.level is Level.FLEET:
        return seat.chronicle.spent
    return joined(members(account, seat.view.accounts), seat.chronicle.spent_by)


def cost(seat: Seat) -> None:
    """What the fleet has spent, and its limit."""
    with ui.element("div").classes("af-card").style("flex: 1 1 300px"):
        ui.label("The fleet has spent").classes("af-label")
        spent = ui.label().classes("af-big")
        with ui.element("div").classes("af-levers").style("margin-top: 12px"):
            limit_lever(seat, None, lambda: fleet_account(seat.view.accounts))
    kept_fresh(seat, lambda: spent.set_text(amount_shown(fleet_account(seat.view.accounts))))


def askers(seat: Seat) -> None:
    """A card for each agent that a limit holds."""
    nobody = ui.label("No agent waits for a higher limit.").classes("af-soft")
    asking = ui.column().classes("w-full gap-3")
    cards: dict[str, tuple[int, ui.element]] = {}

    def show() -> None:
        wanted = {str(agent): notice.number for agent, notice in seat.chronicle.asking.items()}
        for agent in [agent for agent, (number, _) in cards.items() if wanted.get(agent) != number]:
            cards.pop(agent)[1].delete()
        for agent in [agent for agent in wanted if agent not in cards]:
            with asking:
                cards[agent] = (wanted[agent], asking_card(seat, agent))
        nobody.set_visibility(not cards)

    kept_fresh(seat, show)


def asking_card(seat: Seat, agent: str) -> ui.element:
    """One agent that a limit holds."""
    notice = next(each for name, each in seat.chronicle.asking.items() if name == agent)
    account = str(notice.data.get("account", "")) or agent
    whole = str(notice.data.get("limit", "")).startswith(f"{Level.FLEET}_")  # an agent may be named like its fleet
    named = None if whole else account

    def known() -> Account | None:
        accounts = [each for each in seat.view.accounts if (each.level is Level.FLEET) == whole]
        return next((each for each in accounts if whole or each.name == account), None)

    async def no_more() -> None:
        await pull(seat, seat.source.grant_no_more(named), "Who needs more gives its last answer.")

    with ui.element("div").classes("af-card w-full") as card:
        with ui.row().classes("items-baseline gap-2"):
            ui.link(agent, f"/agent/{agent}").classes("af-title")
            ui.label(notice.text).classes("af-text")
        with ui.element("div").classes("af-levers").style("margin-top: 8px"):
            limit_lever(seat, named, known, short_unit(notice))
            question = f"Grant {account} no more? Who needs more of it gives its last answer."
            ask = ask_first(question, "Grant no more", no_more, colour="negative")
            ui.button("Grant no more", on_click=ask).props("flat color=negative")
    return card


def short_unit(notice: Notice) -> Unit:
    """Of what an agent needs more, as a notice says it: `tokens`, `fleet_model_calls`."""
    said = str(notice.data.get("limit", ""))
    return next((unit for unit in Unit if said.endswith(unit)), Unit.TOKENS)


def curve() -> dict[str, Any]:
    """A line over time."""
    soft = {"color": "#7c8798"}
    faint = {"lineStyle": {"color": "#7c879833"}}
    return {
        "animation": False,
        "textStyle": soft,
        "grid": {"left": 8, "right": 12, "top": 12, "bottom": 4, "containLabel": True},
        "tooltip": {"trigger": "axis"},
        "xAxis": {"type": "time", "axisLabel": {**soft, "hideOverlap": True}, "splitLine": {"show": False}},
        "yAxis": {"type": "value", "min": 0, "axisLabel": soft, "splitLine": faint},
        "series": [{"type": "line", "step": "end", "showSymbol": False, "areaStyle": {"opacity": 0.12},
                    "color": "#2563eb", "data": []}],
    }  # fmt: skip
