"""The HTTP face of a simulated provider. Each wire format has its paths; all answer from the same provider."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import cast

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from . import openai_reply, openai_request
from .conversation import Request
from .errors import Refused
from .provider import SimulatedProvider
from .speech import Speech

__all__ = ("build_app",)


def build_app(provider: SimulatedProvider) -> Starlette:
    """The application that serves `provider`."""
    face = OpenAIFace(provider)
    return Starlette(
        routes=[
            Route("/v1/chat/completions", face.complete, methods=["POST"]),
            Route("/v1/models", face.models, methods=["GET"]),
            Route("/simulator/totals", face.totals, methods=["GET"]),
        ],
        exception_handlers={Refused: face.refuse, HTTPException: face.lost},
    )


class OpenAIFace:
    """Chat completions over HTTP."""

    def __init__(self, provider: SimulatedProvider) -> None:
        """Answer from `provider`."""
        self.provider = provider

    async def complete(self, http: HttpRequest) -> Response:
        """`POST /v1/chat/completions`."""
        raw = await http.body()
        http.state.number = number = self.provider.count()
        admission = self.provider.admit(number, key_of(http))
        asked = openai_request.read_request(openai_request.read_body(raw))
        speech = self.provider.answer(asked, admission, raw.decode())
        await asyncio.sleep(self.provider.faults.latency)
        return said(speech, asked, headers_for(number))

    async def models(self, http: HttpRequest) -> Response:
        """`GET /v1/models`."""
        self.provider.check_key(key_of(http))
        return JSONResponse(openai_reply.models(self.provider.models))

    async def totals(self, _http: HttpRequest) -> Response:
        """`GET /simulator/totals`."""
        return JSONResponse(self.provider.totals.shown())

    async def refuse(self, http: HttpRequest, error: Exception) -> Response:
        """Answer a refusal in OpenAI's shape."""
        refused = cast("Refused", error)
        self.provider.totals.refused += 1
        headers = headers_for(getattr(http.state, "number", 0))
        if refused.after is not None:
            headers["retry-after"] = f"{refused.after:g}"
        return JSONResponse(openai_reply.refusal(refused), refused.status, headers)

    async def lost(self, http: HttpRequest, error: Exception) -> Response:
        """Answer a path or method that does not exist, in OpenAI's shape."""
        status = cast("HTTPException", error).status_code
        refused = Refused(message=f"Invalid URL ({http.method} {http.url.path})", status=status)
        return JSONResponse(openai_reply.refusal(refused), status)


def said(speech: Speech, asked: Request, headers: dict[str, str]) -> Response:
    """The answer as it was asked for: whole, or as a stream."""
    created = int(time.time())
    if not asked.stream:
        return JSONResponse(openai_reply.completion(speech, created=created), headers=headers)

    async def events() -> AsyncIterator[str]:
        for event in openai_reply.events(speech, created=created, include_usage=asked.include_usage):
            yield event

    return StreamingResponse(events(), headers=headers, media_type="text/event-stream")


def key_of(http: HttpRequest) -> str:
    """The key a request came with; empty when it has none."""
    scheme, _, key = http.headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else ""


def headers_for(number: int) -> dict[str, str]:
    """The id that a person can quote."""
    return {"x-request-id": f"req_{number}"}
