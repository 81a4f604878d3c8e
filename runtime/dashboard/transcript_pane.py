"""The transcript of one agent, and what its model says at the moment. All of it is shown as text, never as markup."""

from contextlib import ExitStack

from nicegui import ui

from ...protocols.insight import NOTHING, Insight, Said
from ..gateway.ears import Ear
from .seat import Seat

__all__ = ("TranscriptPane",)

FOLDED = 700
"""Characters of an output above which it is folded."""

LIVE = 4000
"""Characters of a reply that are shown while it comes, the last ones."""

LIVE_PACE = 0.1
"""Seconds between two drawings of it."""


class TranscriptPane:
    """What was said, oldest first; it stays at its end while more is said."""

    def __init__(self, seat: Seat, name: str) -> None:
        """Show that it is asked for."""
        self._name = name
        self._shown: Insight | None = None
        self._told = ui.label(f"Asking {name} ...").classes("af-soft").props("role=status")
        self._scroll = ui.element("div").classes("af-scroll af-card").props('tabindex=0 aria-label="Transcript"')
        with self._scroll, ui.column().classes("w-full gap-3"):
            self._turns = ui.column().classes("w-full gap-3")
            self._live = LiveReply(seat, name)
        self._scroll.set_visibility(False)

    def show(self, seen: Insight) -> None:
        """Show how it is now; of one that only went on, only the new part is made."""
        before, self._shown = self._shown, seen
        more = f"{seen.earlier:,} older messages are not shown." if seen.earlier else ""
        self._tell(more if seen.transcript else "Nothing has been said yet.")
        self._scroll.set_visibility(True)
        self._live.settled()
        if before is not None and (seen.transcript, seen.earlier) == (before.transcript, before.earlier):
            return
        gone, kept = common(before, seen)
        for _ in range(gone):
            self._turns.remove(0)
        with self._turns:
            for said in seen.transcript[kept:]:
                turn(self._name, said)

    def fail(self, reason: str) -> None:
        """Say why there is nothing newer to show."""
        self._tell(reason)

    def listen(self, *, seen: bool) -> None:
        """Follow what the model says only while somebody sees it."""
        self._live.listen(seen=seen)

    def _tell(self, text: str) -> None:
        self._told.set_text(text)
        self._told.set_visibility(bool(text))


def common(before: Insight | None, now: Insight) -> tuple[int, int]:
    """What of a transcript that is shown is shown later too.

    Returns:
        How many of its oldest elements are not, and how many of the new one's are there already.
    """
    if before is None:
        return 0, 0
    shown = before.transcript
    gone = min(max(0, now.earlier - before.earlier), len(shown))
    rest = shown[gone:]
    if now.earlier >= before.earlier and now.transcript[: len(rest)] == rest:
        return gone, len(rest)
    return len(shown), 0


class LiveReply:
    """What the model says now, until the transcript has it."""

    def __init__(self, seat: Seat, name: str) -> None:
        """Listen to nobody yet."""
        self._ears = seat.feed.ears
        self._name = name
        self._following: ExitStack | None = None
        self._ear: Ear | None = None
        ui.context.client.on_delete(lambda: self.listen(seen=False))
        self._seen = NOTHING
        with ui.element("div").classes("af-turn af-assistant af-live").props("aria-live=off") as self._card:
            ui.label(f"{name} is answering").classes("af-label")
            with fold("Reasoning") as self._fold:
                self._thought = ui.label().classes("af-text af-soft")
            self._text = ui.label().classes("af-text")
        self._card.set_visibility(False)
        ui.timer(LIVE_PACE, self._look)

    def listen(self, *, seen: bool) -> None:
        """Follow the agent while somebody sees this, and else do not."""
        if seen and self._following is None:
            self._following = ExitStack()
            self._ear = self._following.enter_context(self._ears.following([self._name]))[self._name]
        elif not seen and self._following is not None:
            self._following.close()
            self._following = None

    def settled(self) -> None:
        """What is over is in the transcript now."""
        if self._ear is None or self._ear.heard.over:
            self._card.set_visibility(False)

    def _look(self) -> None:
        ear = self._ear
        if ear is None or ear.heard == self._seen:
            return
        self._seen = ear.heard
        if not ear.heard.over:  # of one that is over before anybody has seen it, the transcript tells
            self._card.set_visibility(True)
        self._text.set_text(tail(ear.text))
        self._thought.set_text(tail(ear.reasoning))
        self._fold.set_visibility(bool(ear.reasoning))


def tail(text: str) -> str:
    """The end of a text."""
    return text if len(text) <= LIVE else f"... {text[-LIVE:]}"


def turn(name: str, said: Said) -> None:
    """One element of a transcript."""
    who = {"system": "Instructions", "user": f"To {name}", "assistant": name, "tool": f"Output of {said.tool}"}
    with ui.element("div").classes(f"af-turn af-{said.role}"):
        ui.label(who.get(said.role, said.role)).classes("af-label")
        if said.reasoning:
            with fold(f"Reasoning, {len(said.reasoning):,} characters"):
                ui.label(said.reasoning).classes("af-text af-soft")
        if said.role == "system" or (said.role == "tool" and len(said.text) > FOLDED):
            with fold(f"{len(said.text):,} characters"):
                ui.label(said.text).classes("af-text")
        elif said.text:
            ui.label(said.text).classes("af-text")
        for call in said.calls:
            ui.label(f"calls {call.tool}").classes("af-call")
            ui.label(call.arguments).classes("af-text af-code")
        if said.cut:
            ui.label(f"{said.cut:,} characters more are not shown.").classes("af-soft")


def fold(summary: str) -> ui.element:
    """Something that is opened by a click, Enter or the space bar; what is made in it stands in it."""
    with ui.element("details").classes("af-fold") as made, ui.element("summary"):
        ui.label(summary)
    return made
