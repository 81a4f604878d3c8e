"""What a person sees while a fleet works: a live table on a terminal, a line for each event elsewhere, or nothing."""

import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from textwrap import shorten
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from ...protocols.checkin import AgentStatus
from ...protocols.notices import Notice
from .table import fleet_table
from .tally import Tally, tells
from .ticking import ticking
from .visible import harmless

__all__ = ("Lines", "Screen", "TableScreen", "open_screen")

REFRESH = 0.25
"""Seconds between two looks at the fleet for the live table."""

TEXT = 120
"""Characters of a notice's text on a line."""


class Screen:
    """Shows a fleet at work, while it is entered. This one shows nothing: the output is for a program."""

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End; what was shown last stays."""

    def say(self, line: str) -> None:
        """Tell what the command itself is doing."""

    @contextmanager
    def waiting(self, line: str) -> Generator[None, None, None]:
        """Tell what the command is doing, while it does it and that takes long."""
        self.say(line)
        yield

    def tell(self, notice: Notice) -> None:
        """Tell what happened in the fleet."""

    def wants_rows(self) -> bool:
        """Whether it is time to look at the fleet again."""
        return False

    def rows(self, rows: Iterable[AgentStatus], tally: Tally) -> None:
        """Show how the agents are."""


class Lines(Screen):
    """A line for each thing worth telling, as it happens: for pipes and logs."""

    def __init__(self, console: Console) -> None:
        """Write to a console."""
        self._console = console

    def say(self, line: str) -> None:
        """Write a line."""
        self._console.print(Text(harmless(line)), soft_wrap=True)

    @contextmanager
    def waiting(self, line: str) -> Generator[None, None, None]:
        """Write a line, with the seconds below it on a terminal."""
        with super().waiting(line), ticking(self._console):
            yield

    def tell(self, notice: Notice) -> None:
        """Write a line, if it is worth one."""
        if tells(notice):
            self.say(line(notice))


class TableScreen(Screen):
    """A table that changes in its place."""

    def __init__(self, console: Console) -> None:
        """Draw on a terminal."""
        self._console = console
        self._live = Live(console=console, auto_refresh=False)
        self._due = 0.0

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the last table standing."""
        self._live.stop()

    def say(self, line: str) -> None:
        """Write a line above the table."""
        self._console.print(Text(harmless(line)))

    @contextmanager
    def waiting(self, line: str) -> Generator[None, None, None]:
        """Write a line, with the seconds below it."""
        with super().waiting(line), ticking(self._console):
            yield

    def wants_rows(self) -> bool:
        """A few times a second."""
        return time.monotonic() >= self._due

    def rows(self, rows: Iterable[AgentStatus], tally: Tally) -> None:
        """Draw the table, from now on in its place."""
        self._live.start()
        self._live.update(fleet_table(rows, tally.latest, self._console.width), refresh=True)
        self._due = time.monotonic() + REFRESH


def line(notice: Notice) -> str:
    """A notice on one line."""
    text = shorten(notice.text, TEXT, placeholder="...")
    return f"{notice.agent:<10} {f'{notice.type}.{notice.extra_type}':<18} {text}"


def open_screen(console: Console, *, silent: bool, live: bool) -> Screen:
    """The screen that fits the output: nothing if `silent`, a table on a terminal if `live`, else lines."""
    if silent:
        return Screen()
    return TableScreen(console) if live and console.is_terminal else Lines(console)
