"""The HTTP face of a simulated provider. Each wire format has its path; all answer from the same provider."""

import asyncio
import json
import time
from collections.abc import Mapping
from typing import cast

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ...protocols.messages import Json
from .conversation import Request
from .delivery import Delivery, HangUp, stream_chunks
from .errors import Refused
from .modes import HEADER, Active
from .provider import SimulatedProvider
from .shape import read_json
from .speech import Speech
from .wire import AnthropicWire, OpenAIWire, Wire, wire_for

__all__ = ("build_app",)


def build_app(provider: SimulatedProvider, hang_up: HangUp) -> Starlette:
    """The application that serves `provider`; `hang_up` breaks a connection."""
    face = Face(provider, hang_up)
    return Starlette(
        routes=[
            Route("/v1/chat/completions", face.complete, methods=["POST"]),
            Route("/v1/messages", face.converse, methods=["POST"]),
            Route("/v1/models", face.models, methods=["GET"]),
            Route("/simulator/totals", face.totals, methods=["GET"]),
        ],
        exception_handlers={Refused: face.refuse, HTTPException: face.lost},
    )


class Face:
    """The provider's paths."""

    def __init__(self, provider: SimulatedProvider, hang_up: HangUp) -> None:
        """Answer from `provider`."""
        self.provider = provider
        self.hang_up = hang_up

    async def complete(self, http: HttpRequest) -> Response:
        """`POST /v1/chat/completions`."""
        return await self.answer(http, OpenAIWire())

    async def converse(self, http: HttpRequest) -> Response:
        """`POST /v1/messages`."""
        return await self.answer(http, AnthropicWire())

    async def answer(self, http: HttpRequest, wire: Wire) -> Response:
        """Answer a request in its wire format."""
        raw = await http.body()
        http.state.wire = wire
        http.state.number = number = self.provider.count()
        admission = self.provider.admit(number, wire.key(http.headers), wire.words)
        wire.check(http.headers)
        read = wire.read(read_json(raw, wire.words))
        asked, active = self.provider.hit(read, http.headers.get(HEADER, ""))
        await asyncio.sleep(active.get("latency", self.provider.faults.delay(number)))
        speech = self.provider.answer(asked, admission, raw.decode(errors="replace"), active)
        return cast("Response", self.deliver(speech, asked, wire, active))

    def deliver(self, speech: Speech, asked: Request, wire: Wire, active: Active) -> Delivery:
        """The answer as it was asked for: whole, or as a stream."""
        created, headers = int(time.time()), wire.headers(speech.number)
        failed = wire.words.overloaded()
        if asked.stream:
            events = wire.events(speech, asked, created, active)
            chunks = stream_chunks(events, active, wire.failure(failed))
            headers["content-type"] = "text/event-stream; charset=utf-8"
            return Delivery(chunks, headers, active=active, hang_up=self.hang_up)
        whole = wire.refusal(failed, speech.number) if "error" in active else wire.whole(speech, created, active)
        body = encoded(whole)[: int(active["end"]) if "end" in active else None]
        headers |= {"content-type": "application/json", "content-length": str(len(body))}
        return Delivery([body], headers, active=active, hang_up=self.hang_up)

    async def models(self, http: HttpRequest) -> Response:
        """`GET /v1/models`."""
        wire = wire_for(http.headers)
        self.provider.check_key(wire.key(http.headers), wire.words)
        return JSONResponse(wire.models(self.provider.models))

    async def totals(self, _http: HttpRequest) -> Response:
        """`GET /simulator/totals`."""
        return JSONResponse(self.provider.totals.shown())

    async def refuse(self, http: HttpRequest, error: Exception) -> Response:
        """Answer a refusal in the shape of its wire format."""
        refused = cast("Refused", error)
        self.provider.totals.refused += 1
        wire: Wire = getattr(http.state, "wire", None) or wire_for(http.headers)
        number: int = getattr(http.state, "number", 0)
        headers = wire.headers(number)
        if refused.after is not None:
            headers["retry-after"] = f"{refused.after:g}"
        return JSONResponse(wire.refusal(refused, number), refused.status, headers)

    async def lost(self, http: HttpRequest, error: Exception) -> Response:
        """Answer a path or method that does not exist, in the shape of the client's wire format."""
        status = cast("HTTPException", error).status_code
        refused = Refused(message=f"Invalid URL ({http.method} {http.url.path})", status=status)
        return JSONResponse(wire_for(http.headers).refusal(refused, 0), status)


def encoded(body: Mapping[str, Json]) -> bytes:
    """A body as bytes."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
