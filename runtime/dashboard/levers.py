"""What a person does from a page: each lever tells how it went, and asks first where nothing can be undone."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, cast

from nicegui import ui

from ...protocols.errors import FleetError
from ...protocols.limits import Limits, Unit
from ...protocols.mail import Receipt
from ..supervision.account import Account
from .seat import Seat

__all__ = ("answer_lever", "ask_first", "limit_lever", "pull", "send_lever")

BY_PAGE = "by a person, at the dashboard"

RECEIPT_PACE = 0.5
"""Seconds between two questions for what became of a message."""

FOLLOWED = 8
"""Messages of one page whose receipts are shown, the newest."""


async def pull(seat: Seat, lever: Awaitable[object], done: str) -> bool:
    """Do something to the fleet, and tell how it went; gives whether it did."""
    try:
        await lever
    except FleetError as error:
        ui.notify(str(error), type="negative", timeout=10_000, close_button="Close")
        return False
    finally:
        seat.feed.touch()
    ui.notify(done, type="positive")
    return True


def ask_first(
    question: str | Callable[[], str], yes: str, act: Callable[[], Awaitable[object]], *, colour: str = "primary"
) -> Callable[[], None]:
    """A dialogue that asks before something is done to the fleet; gives what opens it.

    Escape closes it, and nothing is done.

    Args:
        question: What is asked, or what gives it; where that gives an empty text, nothing is asked and nothing done.
        yes: The word on the button that does it.
        act: What is done.
        colour: The button's: `negative` for what cannot be undone.
    """

    async def go() -> None:
        dialog.close()
        await act()

    with ui.dialog() as dialog, ui.card().classes("af-ask"):
        asked = ui.label().classes("af-text")
        with ui.row().classes("w-full justify-end"):
            ui.button("Cancel", on_click=dialog.close).props("flat autofocus")
            ui.button(yes, color=colour, on_click=go)

    def ask() -> None:
        asked.set_text(question if isinstance(question, str) else question())
        if asked.text:
            dialog.open()

    return ask


def receipt_words(receipt: Receipt) -> str:
    """What became of a message, for people."""
    why = "" if receipt.refusal is None else f": {receipt.refusal}"
    where = "" if receipt.step is None else f" at Step {receipt.step}"
    return f"{receipt.state}{where}{why}"


def send_lever(seat: Seat, agent: str) -> None:
    """A field for a message, and below it what became of those that were sent from here."""
    text = ui.textarea(f"Message to {agent}").props("outlined dense autogrow").classes("w-full")
    button = ui.button("Send", icon="send").style("margin: 8px 0")
    sent = Receipts(seat)

    async def send() -> None:
        body = str(text.value or "")
        if not body.strip():
            ui.notify("Write a message first.", type="warning")
            return
        try:
            receipt = await seat.source.send(agent, body)
        except FleetError as error:
            ui.notify(str(error), type="negative", timeout=10_000, close_button="Close")
            return
        seat.feed.touch()
        text.set_value("")
        sent.add(receipt, body)

    button.on_click(send)


class Receipts:
    """A list of messages, each with what became of it."""

    def __init__(self, seat: Seat) -> None:
        """Begin with none."""
        self._seat = seat
        self._list = ui.column().classes("w-full gap-1").props("aria-live=polite")
        self._open: list[tuple[Receipt, ui.label]] = []
        ui.timer(RECEIPT_PACE, self._follow)

    def add(self, receipt: Receipt, body: str) -> None:
        """One more."""
        with self._list, ui.row(wrap=False).classes("w-full items-center gap-2"):
            state = ui.label(receipt_words(receipt)).classes("af-receipt")
            ui.label(body[:200]).classes("af-soft af-line")
        self._open.append((receipt, state))
        del self._open[:-FOLLOWED]

    async def _follow(self) -> None:
        waiting = [each for each in self._open if not each[0].final]
        for receipt, state in waiting:
            try:
                found = await self._seat.source.receipt(receipt.recipient, receipt.id)
            except FleetError as error:
                state.set_text(f"{receipt_words(receipt)}, and now nobody says: {error}")
                continue
            if found is not None:
                state.set_text(receipt_words(found))
                self._open = [(found, state) if each[1] is state else each for each in self._open]


FIELDS = {
    Unit.TOKENS: "Token limit",
    Unit.DOLLARS: "Limit in dollars",
    Unit.MODEL_CALLS: "Limit of model calls",
    Unit.TOOL_CALLS: "Limit of tool calls",
    Unit.SECONDS: "Limit in seconds",
}


def limit_lever(seat: Seat, account: str | None, known: Callable[[], Account | None], unit: Unit = Unit.TOKENS) -> None:
    """A field for a new limit of one unit; of a limit that there is, all else stays as it is."""
    shown, whole = "the fleet" if account is None else account, unit not in {Unit.DOLLARS, Unit.SECONDS}
    field = ui.number(f"{FIELDS[unit]} of {shown}", min=1 if whole else None, precision=0 if whole else None)
    field.props("outlined dense")
    wanted: Limits | None = None

    def question() -> str:
        nonlocal wanted
        if field.value is None:
            ui.notify("Write a number first.", type="warning")
            return ""
        most, found = int(field.value) if whole else float(field.value), known()
        now, given = None if found is None else found.limit, cast("dict[str, Any]", {unit.value: most})
        try:
            wanted = Limits(**given) if now is None else replace(now, **given)
        except FleetError as error:
            ui.notify(str(error), type="negative")
            return ""
        return f"Limit {shown} to {wanted}? Until now: {'no limit' if now is None else now}."

    async def limit() -> None:
        await pull(seat, seat.source.limit(account, wanted), f"The limit of {shown} is {wanted}.")

    ui.button("Set limit", on_click=ask_first(question, "Set", limit)).props("outline")


def answer_lever(seat: Seat, approval: str, call: str) -> None:
    """Buttons that allow or refuse a call, which is named as in `ana's call of weigh`, and a field for the reason."""
    reason = ui.input("Reason, for the model").props("outlined dense").classes("grow")

    async def allow() -> None:
        await pull(seat, seat.source.answer(approval, allowed=True, reason=""), "The call may run.")

    async def refuse() -> None:
        why = str(reason.value or "") or f"refused {BY_PAGE}"
        await pull(seat, seat.source.answer(approval, allowed=False, reason=why), "The call is refused.")

    ask = ask_first(f"Let {call} run, as it is written on the card? What it does may not be undone.", "Allow", allow)
    ui.button("Allow", icon="check", on_click=ask).props("color=positive")
    ask = ask_first(f"Refuse {call}? The model reads that, and why.", "Refuse", refuse, colour="negative")
    ui.button("Refuse", icon="close", on_click=ask).props("outline color=negative")
