"""What watchers are sent: a fleet's notices and what changes in its rows, as server-sent events.

A watcher has no queue: it has a number of the notices and a version of the rows, and is sent what came after. So one
that reads slowly costs nothing; where notices are forgotten before it reads them, it is told which.

Source: HTML Living Standard, 9.2 Server-sent events.
"""

import json
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any

from ...protocols.checkin import AgentStatus
from ...protocols.ids import AgentId
from ...protocols.notices import Notice
from ..first_of import first_of
from ..ports import Clock
from .ears import Ear
from .feed import Feed
from .shapes import fleet_shown, plain
from .view import Gap, View

__all__ = ("HEARTBEAT", "Cursor", "Encoder", "Told", "deltas", "frame", "stream")

HEARTBEAT = 15.0
"""Seconds without news after which a comment says that the connection lives."""

RETRY_MS = 2000
"""Milliseconds until a browser that has lost its connection comes again."""

PAGE = 200
"""Notices that are sent at once, at most."""

CACHED = 2000
"""Notices whose text is kept: watchers are mostly sent the same ones."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """What a watcher has been sent.

    Attributes:
        after: The number of its last notice.
        version: The version of the rows.
        fleet: The last event that told of the fleet in short.
    """

    after: int
    version: int = 0
    fleet: str = ""


class Encoder:
    """Makes events of values; what many watchers are sent is made once."""

    def __init__(self) -> None:
        """Nothing is made yet."""
        self._notices: dict[int, str] = {}
        self._rows: dict[AgentId, tuple[AgentStatus, str]] = {}
        self._fleet = (-1, "")

    def next(self, view: View, cursor: Cursor) -> tuple[str, Cursor]:
        """The events that follow what a watcher has been sent, and what it has been sent then; none: an empty text."""
        page = view.notices.read(cursor.after, PAGE)
        parts = [] if page.gap is None else [gap_frame(page.gap)]
        parts.extend(map(self._notice, page.notices))
        if rows := view.rows.since(cursor.version):
            body = ",".join(map(self._row, rows))
            parts.append(frame("rows", f'{{"agents":[{body}]}}'))
        if (fleet := self._in_short(view)) != cursor.fleet:
            parts.append(fleet)
        return "".join(parts), Cursor(page.after, view.rows.version, fleet)

    def _in_short(self, view: View) -> str:
        version, text = self._fleet
        if version != view.version:
            text = frame("fleet", encoded(fleet_shown(view.fleet, view.rows.all(), view.accounts)))
            self._fleet = (view.version, text)
        return text

    def _notice(self, notice: Notice) -> str:
        if notice.number not in self._notices:
            self._notices[notice.number] = frame("notice", encoded(plain(notice)), notice.number)
            if len(self._notices) > CACHED:
                del self._notices[next(iter(self._notices))]
        return self._notices[notice.number]

    def _row(self, row: AgentStatus) -> str:
        known = self._rows.get(row.agent)
        if known is None or known[0] is not row:
            self._rows[row.agent] = known = (row, encoded(plain(row)))
        return known[1]


@dataclass(slots=True)
class Told:
    """How far a watcher was told what an agent says: the reply, characters of its text and reasoning, and its end.

    Attributes:
        lost: It was told that nobody listens to the agent any more.
    """

    reply: str = ""
    text: int = 0
    reasoning: int = 0
    over: bool = True
    lost: bool = False


def deltas(ears: Mapping[str, Ear], told: dict[str, Told]) -> str:
    """The events that follow what a watcher was told, which is kept in `told`; none: an empty text.

    They have no number: a browser that comes again is told the reply from its beginning.
    """
    parts: list[str] = []
    for agent, ear in ears.items():
        known = told.setdefault(agent, Told())
        parts += [delta(agent, ear, known), unheard(agent, ear, known)]
    return "".join(parts)


def unheard(agent: str, ear: Ear, told: Told) -> str:
    """The event, once, of an agent to whom nobody listens any more."""
    if told.lost or not ear.lost:
        return ""
    told.lost = True
    return frame("unheard", encoded({"agent": agent, "reason": ear.lost}))


def delta(agent: str, ear: Ear, told: Told) -> str:
    """The event of one agent."""
    heard = ear.heard
    begins = heard.reply != told.reply
    if begins:
        told.reply, told.text, told.reasoning, told.over = heard.reply, 0, 0, False
    text, reasoning = ear.text[told.text :], ear.reasoning[told.reasoning :]
    if not (begins or text or reasoning or heard.over != told.over):
        return ""
    told.text, told.reasoning, told.over = len(ear.text), len(ear.reasoning), heard.over
    data = {"agent": agent, "reply": heard.reply, "begins": begins, "text": text, "reasoning": reasoning}
    return frame("delta", encoded({**data, "over": heard.over}))


async def stream(
    feed: Feed, encoder: Encoder, after: int, clock: Clock, follow: tuple[str, ...] = ()
) -> AsyncGenerator[str, None]:
    """All rows as they are, then the notices numbered above `after` and what changes, for as long as the fleet lasts.

    Below 0, `after` counts from the end. What the models of agents say that are in `follow` comes beside. Whoever sends
    it on is `feed.watching()` meanwhile.
    """
    with feed.ears.following(follow) as ears:
        cursor, told, trouble = Cursor(after), dict[str, Told](), ""
        yield f"retry: {RETRY_MS}\n\n"
        due = clock.monotonic() + HEARTBEAT
        while True:
            news, said = feed.news, feed.ears.news  # before they are read: what comes later sets them
            text, cursor = encoder.next(feed.view, cursor)
            text += deltas(ears, told)
            if feed.trouble != trouble:
                trouble = feed.trouble
                text += frame("trouble", encoded({"reason": trouble}))
            if text:
                yield text
                due = clock.monotonic() + HEARTBEAT
            elif feed.over:
                yield frame("over", encoded({"reason": feed.over}))
                return
            else:
                quiet = due - clock.monotonic()  # what others are told puts it off no further
                if quiet > 0:
                    await first_of(news.wait(), clock.sleep(quiet), *([said.wait()] if follow else []))
                else:
                    yield ": nothing new\n\n"
                    due = clock.monotonic() + HEARTBEAT


def frame(event: str, data: str, number: int | None = None) -> str:
    """One event; its data is JSON on one line. `number`: what a browser says that it has read, when it comes again."""
    head = "" if number is None else f"id: {number}\n"
    return f"{head}event: {event}\ndata: {data}\n\n"


def gap_frame(gap: Gap) -> str:
    """What a watcher is told in the place of notices that are forgotten."""
    first = gap.last + 1
    return frame(
        "gap",
        encoded({
            "first": gap.first,
            "last": gap.last,
            "next": first,
            "catch_up": "These notices are forgotten. How the fleet is now, all of them included, is in /api/agents and"
            f" /api/accounts; notices go on with {first}.",
        }),
    )  # fmt: skip


def encoded(value: dict[str, Any]) -> str:
    """JSON on one line, in ASCII: half a character of somebody's text breaks no stream."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)
