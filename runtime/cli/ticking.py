"""A sign of life while a command waits for something slow, such as Ray."""

import time
from collections.abc import Generator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner

__all__ = ("ticking",)


class Elapsed:
    """A spinner with the seconds since it was made."""

    def __init__(self) -> None:
        """Begin to count."""
        self._began = time.monotonic()
        self._spinner = Spinner("dots")

    def __rich__(self) -> Spinner:
        """The spinner as it is now."""
        self._spinner.update(text=f"{time.monotonic() - self._began:.0f} s")
        return self._spinner


@contextmanager
def ticking(console: Console) -> Generator[None, None, None]:
    """Show on a terminal how long this has lasted, and nothing once it is over; elsewhere show nothing at all."""
    if not console.is_terminal:
        yield
        return
    with Live(Elapsed(), console=console, transient=True, refresh_per_second=8):
        yield
