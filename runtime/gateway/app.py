"""The API's routes. What they read is the gateway's own copy of the fleet; what they change goes to the fleet."""

from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, Header, Query
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from ...protocols.checkin import AgentStatus
from ..errors import AgentUnknown, ArgumentInvalid
from ..ports import Clock
from .errors import MessageUnknown, TooManyWatchers
from .events import Encoder, stream
from .feed import Feed
from .problem import tell_problems
from .shapes import (
    AccountsShown,
    AgentsShown,
    Answered,
    AnswerGiven,
    ApprovalsShown,
    FleetShown,
    FleetStop,
    Killed,
    Limited,
    LimitGiven,
    MailboxShown,
    MessageGiven,
    NoticesShown,
    Paused,
    ProblemShown,
    ReasonGiven,
    ReceiptShown,
    StoppedShown,
    TranscriptShown,
    account_shown,
    fleet_shown,
    plain,
    receipt_shown,
    stopped_shown,
)
from .source import FleetSource
from .view import View

__all__ = ("build_app",)

MOST_WATCHERS = 256
"""Event streams at once: each costs a connection and its share of what is sent."""

PAGE = 1000
"""Notices in one answer, at most."""

DIGITS = 18
"""Of the number of a notice, at most."""

FOLLOWED = 16
"""Agents that one stream follows, at most."""

EVENT_HEADERS = {"x-accel-buffering": "no"}
"""Asks proxies to pass on what comes."""

BY_API = "by a person, through the gateway"

DESCRIPTION = """A running fleet of agents: what it does, and the levers of a person.

Every request needs the gateway's token, as `Authorization: Bearer ...`. Errors have one shape, whatever went wrong."""

SCHEME = {"token": {"type": "http", "scheme": "bearer"}}


def build_app(source: FleetSource, feed: Feed, clock: Clock) -> FastAPI:
    """The application. It lets everybody in: `Guard` stands before it."""
    app = FastAPI(
        title="Amrita Fleet",
        version="1",
        description=DESCRIPTION,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        responses={"default": {"model": ProblemShown, "description": "Why the request was not answered."}},
    )
    tell_problems(app)
    app.include_router(Sights(feed, clock, source).routes())
    app.include_router(Levers(source, feed).routes())
    document = app.openapi()  # made once, and kept by the application
    document.setdefault("components", {})["securitySchemes"] = SCHEME
    document["security"] = [{"token": []}]
    return app


Follow = Annotated[
    tuple[str, ...], Query(max_length=FOLLOWED, description="Agents whose models' words come as they are said.")
]
After = Annotated[int, Query(description="The number of the last notice that is known; below 0: from the end.")]


class Sights:
    """What is to be seen."""

    def __init__(self, feed: Feed, clock: Clock, source: FleetSource) -> None:
        """Answer from the feed's view; calls that wait for a person are asked for."""
        self._feed = feed
        self._clock = clock
        self._source = source
        self._encoder = Encoder()
        self._streams = Streams(feed)

    def routes(self) -> APIRouter:
        """The routes."""
        router = APIRouter()
        router.get("/", include_in_schema=False)(self.entrance)
        router.get("/api/fleet", response_model=FleetShown)(self.fleet)
        router.get("/api/agents", response_model=AgentsShown)(self.agents)
        router.get("/api/agents/{name}", response_model=AgentStatus)(self.agent)
        router.get("/api/agents/{name}/transcript", response_model=TranscriptShown)(self.transcript)
        router.get("/api/agents/{name}/mailbox", response_model=MailboxShown)(self.mailbox)
        router.get("/api/accounts", response_model=AccountsShown)(self.accounts)
        router.get("/api/notices", response_model=NoticesShown)(self.notices)
        router.get("/api/events", response_class=EventStream)(self.events)
        router.get("/api/approvals", response_model=ApprovalsShown)(self.approvals)
        return router

    async def entrance(self) -> Response:
        """Where to go on."""
        return answer({"fleet": self._feed.view.fleet, "api": "/api/openapi.json"})

    async def fleet(self) -> Response:
        """The fleet in short: how many agents are in which phase, what is spent, and the limit."""
        view = await self._feed.look()
        return answer(fleet_shown(view.fleet, view.rows.all(), view.accounts))

    async def agents(self) -> Response:
        """A row for each agent, dead and stopped ones included, in the order they came."""
        view = await self._feed.look()
        return answer({"fleet": view.fleet, "agents": [plain(row) for row in view.rows.all()]})

    async def agent(self, name: str) -> Response:
        """One agent's row."""
        return answer(plain(row_of(await self._feed.look(), name)))

    async def transcript(self, name: str) -> Response:
        """What was said to an agent's model and by it, the newest of it; the agent itself is asked, and goes on."""
        seen = await self._source.look(name)
        turns = [plain(each) for each in seen.transcript]
        return answer({"agent": name, "step": seen.step, "earlier": seen.earlier, "transcript": turns})

    async def mailbox(self, name: str) -> Response:
        """The messages that wait for an agent, the oldest of them; the agent itself is asked, and goes on."""
        seen = await self._source.look(name)
        return answer({"agent": name, "waiting": seen.waiting, "mailbox": [plain(each) for each in seen.mailbox]})

    async def accounts(self) -> Response:
        """What was spent, against which limits."""
        view = await self._feed.look()
        return answer({"fleet": view.fleet, "accounts": [account_shown(each) for each in view.accounts]})

    async def notices(self, after: After = 0, limit: Annotated[int, Query(ge=1, le=PAGE)] = 100) -> Response:
        """Notices that the gateway remembers, oldest first; what is forgotten is named as a gap."""
        view = self._feed.view
        page = view.notices.read(after, limit)
        return answer({
            "fleet": view.fleet,
            "notices": [plain(notice) for notice in page.notices],
            "gap": None if page.gap is None else plain(page.gap),
            "after": page.after,
            "last": view.notices.last,
        })  # fmt: skip

    async def events(
        self,
        after: After = 0,
        follow: Follow = (),
        last_event_id: Annotated[str, Header(description="Counts before `after`.")] = "",
    ) -> Response:
        """Server-sent events: `notice`, `rows`, `fleet`, `gap`, `delta` of who is followed, and, at the end, `over`."""
        begin = after if not last_event_id else number_of(last_event_id)
        if follow:
            view = await self._feed.look()
            for name in follow:
                row_of(view, name)
        if self._streams.open >= MOST_WATCHERS:
            raise TooManyWatchers(most=MOST_WATCHERS)
        return Watched(self._streams, stream(self._feed, self._encoder, begin, self._clock, follow))

    async def approvals(self) -> Response:
        """The calls that wait for a person."""
        pending = await self._source.approvals()
        return answer({"fleet": self._feed.view.fleet, "approvals": [plain(each) for each in pending]})


class Levers:
    """What a person can do."""

    def __init__(self, source: FleetSource, feed: Feed) -> None:
        """Do it to the fleet, and have the feed look anew."""
        self._source = source
        self._feed = feed

    def routes(self) -> APIRouter:
        """The routes."""
        router = APIRouter()
        router.post("/api/approvals/{approval}", response_model=Answered)(self.approve)
        router.post("/api/agents/{name}/messages", response_model=ReceiptShown)(self.send)
        router.get("/api/receipts/{recipient}/{message}", response_model=ReceiptShown)(self.receipt)
        router.post("/api/agents/{name}/pause", response_model=Paused)(self.pause)
        router.post("/api/agents/{name}/resume", response_model=Paused)(self.resume)
        router.post("/api/agents/{name}/stop", response_model=StoppedShown)(self.stop)
        router.post("/api/agents/{name}/kill", response_model=Killed)(self.kill)
        router.post("/api/fleet/stop", response_model=StoppedShown)(self.stop_all)
        router.post("/api/limits", response_model=Limited)(self.limit)
        return router

    async def approve(self, approval: str, given: AnswerGiven) -> Response:
        """Allow or refuse a call that waits."""
        await self._source.answer(approval, allowed=given.allow, reason=given.reason)
        self._feed.touch()
        return answer({"id": approval, "allowed": given.allow, "reason": given.reason})

    async def send(self, name: str, given: MessageGiven) -> Response:
        """Send an agent a message; the answer is its receipt, also where it was refused."""
        receipt = await self._source.send(name, given.body)
        self._feed.touch()
        return answer(receipt_shown(receipt))

    async def receipt(self, recipient: str, message: str) -> Response:
        """What became of a message, by the recipient and the id of its receipt."""
        receipt = await self._source.receipt(recipient, message)
        if receipt is None:
            raise MessageUnknown(recipient=recipient, message=message)
        return answer(receipt_shown(receipt))

    async def pause(self, name: str, given: ReasonGiven | None = None) -> Response:
        """Pause an agent and those below it at their next boundary."""
        await self._source.pause(name, reason_of(given, "paused"))
        self._feed.touch()
        return answer({"agent": name, "paused": True})

    async def resume(self, name: str) -> Response:
        """Let an agent and those below it go on."""
        await self._source.pause(name, None)
        self._feed.touch()
        return answer({"agent": name, "paused": False})

    async def stop(self, name: str, given: ReasonGiven | None = None) -> Response:
        """Stop an agent and those below it, for good."""
        stopped = await self._source.stop((name,), reason_of(given, "stopped"))
        self._feed.touch()
        return answer(stopped_shown(stopped))

    async def kill(self, name: str) -> Response:
        """End an agent's process at once; it is restarted as after any other death."""
        await self._source.kill(name)
        self._feed.touch()
        return answer({"agent": name, "killed": True})

    async def stop_all(self, given: FleetStop) -> Response:
        """Stop the whole fleet, those to come included, for good."""
        if given.fleet != self._source.name:
            reason = f"to stop the whole fleet, name it: this one is {self._source.name!r}"
            raise ArgumentInvalid(name="fleet", reason=reason)
        stopped = await self._source.stop((), given.reason or f"stopped {BY_API}")
        self._feed.touch()
        return answer(stopped_shown(stopped))

    async def limit(self, given: LimitGiven) -> Response:
        """Limit the fleet, a team, an agent or a run anew; who is paused because too little was left goes on."""
        limits = given.limits
        await self._source.limit(given.account, limits)
        self._feed.touch()
        return answer({"account": given.account, "limit": plain(limits)})


class Streams:
    """Counts the event streams. Pages watch as well, and are none.

    Attributes:
        open: How many there are.
    """

    def __init__(self, feed: Feed) -> None:
        """There is none."""
        self.open = 0
        self._feed = feed

    @contextmanager
    def one(self) -> Generator[None]:
        """Meanwhile there is one more, and the fleet is read for it."""
        self.open += 1
        try:
            with self._feed.watching():
                yield
        finally:
            self.open -= 1


class EventStream(StreamingResponse):
    """An answer that goes on."""

    media_type = "text/event-stream"


class Watched(EventStream):
    """An event stream that counts as a watcher from the moment it is granted: many may ask at once."""

    def __init__(self, streams: "Streams", events: AsyncGenerator[str, None]) -> None:
        """Answer with these events."""
        super().__init__(events, headers=EVENT_HEADERS)
        self._streams = streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send them until there are no more, or nobody reads them."""
        with self._streams.one():
            await super().__call__(scope, receive, send)


def answer(body: Mapping[str, Any]) -> JSONResponse:
    """An answer of plain data. What is in it was checked where it was made, not once more."""
    return JSONResponse(body)


def reason_of(given: ReasonGiven | None, what: str) -> str:
    """Why something is done, where somebody said it."""
    return (given.reason if given else "") or f"{what} {BY_API}"


def row_of(view: View, name: str) -> AgentStatus:
    """One agent's row.

    Raises:
        AgentUnknown: There is no such agent, with near names.
    """
    if (row := view.rows.find(name)) is None:
        near = get_close_matches(name, [each.agent for each in view.rows.all()])
        raise AgentUnknown(name=name, near=tuple(near))
    return row


def number_of(event: str) -> int:
    """The number of the last event that a browser says it has.

    Raises:
        ArgumentInvalid: It is none.
    """
    if not event.isdecimal() or not event.isascii() or len(event) > DIGITS:
        raise ArgumentInvalid(name="Last-Event-ID", reason=f"it is the number of a notice, not {event[:DIGITS]!r}")
    return int(event)
