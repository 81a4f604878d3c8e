"""The mailbox of one agent: what waits in it."""

from typing import Any

from nicegui import ui

from ...protocols.insight import Insight
from .agent_model import letter_rows, unread_rows
from .live_grid import TIME, LiveGrid
from .seat import Seat

__all__ = ("MailboxPane",)

COLUMNS: list[dict[str, Any]] = [
    {"headerName": "From", "field": "sender", "width": 140},
    {"headerName": "Kind", "field": "kind", "width": 110},
    {"headerName": "Written", "field": "at", "width": 120, ":valueFormatter": TIME, "filter": False},
    {"headerName": "Text", "field": "text", "flex": 1, "minWidth": 200, "wrapText": True, "autoHeight": True},
    {"headerName": "Id", "field": "id", "width": 190},
]


class MailboxPane:
    """What waits, oldest first, as the agent's process tells it."""

    def __init__(self, seat: Seat, name: str) -> None:
        """Show that it is asked for."""
        self._seat = seat
        self._name = name
        self._told = ui.label(f"Asking {name} ...").classes("af-soft").props("role=status")
        self._grid = LiveGrid(COLUMNS, (), "No message waits.", wide=("kind", "at")).height("max(300px, 50vh)")

    def show(self, seen: Insight) -> None:
        """Show how it is now."""
        self._grid.show(letter_rows(seen.mailbox))
        left = seen.waiting - len(seen.mailbox)
        self._tell(f"{left:,} newer messages wait as well." if left > 0 else "")

    def fail(self, reason: str) -> None:
        """Show what notices tell of it instead: who wrote, and when."""
        self._tell(f"{reason} Below is what notices tell.")
        self._grid.show(unread_rows(self._seat.chronicle.mail.unread(), self._name))

    def _tell(self, text: str) -> None:
        self._told.set_text(text)
        self._told.set_visibility(bool(text))
