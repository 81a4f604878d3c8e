"""Several views of one thing, of which one is seen at a time. What is hidden stays as it is, a table with its rows."""

from collections.abc import Callable, Mapping

from nicegui import ui

__all__ = ("views",)


def views(name: str, build: Mapping[str, Callable[[], object]]) -> Callable[[], str]:
    """Build them, the first one seen.

    Args:
        name: What all of them are of, for those who hear the page.
        build: What makes each, by the word on its button.

    Returns:
        What gives the word of the one that is seen.
    """
    panes: dict[str, ui.element] = {}
    buttons: dict[str, ui.button] = {}
    seen = next(iter(build))

    def see(word: str) -> None:
        nonlocal seen
        seen = word
        for each, pane in panes.items():
            pane.set_visibility(each == word)
            buttons[each].props(f'aria-selected="{str(each == word).lower()}"')
            buttons[each].classes(add="af-here" if each == word else "", remove="" if each == word else "af-here")

    with ui.element("div").classes("af-tabs").props("role=tablist") as bar:
        bar.props["aria-label"] = name  # whatever is in it
        for word in build:
            buttons[word] = ui.button(word, on_click=lambda _, word=word: see(word))
            buttons[word].props("flat no-caps role=tab")
    for word, make in build.items():
        with ui.element("div").classes("w-full").props(f'role=tabpanel aria-label="{word}"') as pane:
            panes[word] = pane
            make()
    see(seen)
    return lambda: seen
