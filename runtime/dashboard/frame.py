"""What all pages have around them: the fleet's name, the way to the others, colours, and what keeps it fresh."""

from collections.abc import Callable, Generator
from contextlib import contextmanager

from nicegui import ui

from .live_grid import SCRIPT
from .seat import Seat
from .style import CSS

__all__ = ("VIEWS", "frame", "kept_fresh")

VIEWS = {"/": "Fleet", "/messages": "Messages", "/budgets": "Budgets", "/alerts": "Alerts"}
"""The pages that are linked from all, by their paths."""

PACE = 0.5
"""Seconds between two looks at what has changed, for each open page."""

THEMES = ((None, "brightness_auto", "as the system"), (False, "light_mode", "light"), (True, "dark_mode", "dark"))

REMEMBERED = "localStorage.getItem('amrita-fleet-theme') || '0'"


@contextmanager
def frame(seat: Seat, here: str) -> Generator[None, None, None]:
    """The frame of the page at a path; what is made meanwhile stands in it."""
    ui.add_css(CSS)
    ui.add_head_html(SCRIPT)
    ui.page_title(f"{VIEWS.get(here, here.rpartition('/')[2])} - {seat.view.fleet}")
    ui.colors(primary="#2563eb", positive="#15803d", negative="#b91c1c", warning="#b45309")
    with ui.element("header").classes("af-head"):
        with ui.row(wrap=False).classes("w-full items-center gap-3"):
            ui.label("Amrita Fleet").classes("af-brand").style("white-space: nowrap")
            ui.label(seat.view.fleet).classes("af-fleet")
            if not seat.source.moves:
                ui.label("a recording: nothing can be steered").classes("af-fleet")
            ui.space()
            theme_switch()
        with ui.element("nav").classes("af-nav").props('aria-label="Pages"'):
            for path, name in VIEWS.items():
                link = ui.link(name, path)
                if path == here:
                    link.classes("af-here").props("aria-current=page")
    over = ui.label().classes("af-over").props("role=alert")
    over.set_visibility(False)

    def tell() -> None:
        ended, trouble = seat.feed.over, seat.feed.trouble
        over.set_text(
            f"This shows the fleet as it was last: {ended}" if ended else f"The fleet does not answer now: {trouble}"
        )
        over.set_visibility(bool(ended or trouble))

    kept_fresh(seat, tell)
    with ui.element("div").classes("af-body" if seat.source.moves else "af-body af-still"):
        yield
    watch(seat)


def theme_switch() -> None:
    """A button that goes from the system's colours to light ones and dark ones. The browser remembers which."""
    dark = ui.dark_mode(None)
    chosen = 0
    button = ui.button(icon=THEMES[0][1]).props('flat round dense aria-label="Colours"')
    with button:
        told = ui.tooltip("Colours: as the system")

    def choose(index: int) -> None:
        nonlocal chosen
        chosen = index % len(THEMES)
        dark.value, icon, words = THEMES[chosen]
        button.props(f"icon={icon}")
        told.set_text(f"Colours: {words}")

    def turn() -> None:
        choose(chosen + 1)
        ui.run_javascript(f"localStorage.setItem('amrita-fleet-theme', '{chosen}')")

    async def recall() -> None:
        said = f"{await ui.run_javascript(REMEMBERED, timeout=5)}"
        if said in {"1", "2"}:
            choose(int(said))

    button.on_click(turn)
    ui.timer(0, recall, once=True)


def watch(seat: Seat) -> None:
    """Have the fleet read for as long as this page is open."""
    watching = seat.feed.watching()
    watching.__enter__()
    ui.context.client.on_delete(lambda: watching.__exit__(None, None, None))


def kept_fresh(seat: Seat, show: Callable[[], object]) -> None:
    """Call `show` now, and again whenever the view is other than before, for as long as this page is open."""
    seen: tuple[object, ...] = ()

    def look() -> None:
        nonlocal seen
        seat.catch_up()
        now = (seat.view.version, seat.chronicle.last, seat.feed.over, seat.feed.trouble)
        if now != seen:
            seen = now
            show()

    look()
    ui.timer(PACE, look)
