"""What went wrong with a request, in one shape for whatever it was: `{"error": SENTENCE, "help": PLACE}`."""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import cast

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from ...protocols.errors import FleetError, PresetInvalid
from ..errors import (
    AgentUnknown,
    AnswerInvalid,
    ApprovalUnknown,
    ArgumentInvalid,
    ChannelClosed,
    NameInvalid,
    NumberInvalid,
    RunUnknown,
)
from ..limit_errors import LimitTooLarge, PriceMissing
from .errors import MessageUnknown, NotRecorded, RecordingFixed

__all__ = ("GUIDE", "Problem", "problem_response", "tell_problems")

GUIDE = "docs/gateway.md"
"""The document of the gateway, from the root of the repository."""

STATUSES: tuple[tuple[tuple[type[FleetError], ...], HTTPStatus], ...] = (
    ((AgentUnknown, ApprovalUnknown, MessageUnknown, NotRecorded, RunUnknown), HTTPStatus.NOT_FOUND),
    ((ChannelClosed, RecordingFixed), HTTPStatus.CONFLICT),
    (
        (AnswerInvalid, ArgumentInvalid, LimitTooLarge, NameInvalid, NumberInvalid, PresetInvalid, PriceMissing),
        HTTPStatus.UNPROCESSABLE_ENTITY,
    ),
)
"""What errors mean to who asked; all others that this project raises mean that the fleet cannot answer now."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a request was not answered.

    Attributes:
        status: HTTP's word for it.
        error: One sentence.
        help: Where the documents say more.
    """

    status: HTTPStatus
    error: str
    help: str = GUIDE

    @classmethod
    def of(cls, error: FleetError) -> "Problem":
        """What an error of the fleet's means to who asked."""
        fits = (status for kinds, status in STATUSES if isinstance(error, kinds))
        return cls(next(fits, HTTPStatus.SERVICE_UNAVAILABLE), " ".join(str(error).split()), error.help)


def problem_response(problem: Problem, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """A problem as an answer."""
    more = {"www-authenticate": "Bearer"} if problem.status is HTTPStatus.UNAUTHORIZED else {}
    body = {"error": problem.error, "help": problem.help}
    return JSONResponse(body, problem.status, {**more, **(headers or {})})


def tell_problems(app: FastAPI) -> None:
    """Have an application answer every error in the one shape."""
    app.add_exception_handler(FleetError, of_the_fleet)
    app.add_exception_handler(RequestValidationError, of_the_request)
    app.add_exception_handler(HTTPException, of_the_route)
    app.add_exception_handler(Exception, of_ours)


async def of_the_fleet(_request: Request, error: Exception) -> Response:
    """The fleet refused, or cannot be reached."""
    return problem_response(Problem.of(cast("FleetError", error)))


async def of_the_request(_request: Request, error: Exception) -> Response:
    """The request is not what the route takes: the first thing that is wrong with it."""
    first = cast("RequestValidationError", error).errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    what = str(first["msg"]).removeprefix("Value error, ").rstrip(".")
    return problem_response(Problem(HTTPStatus.UNPROCESSABLE_ENTITY, f"{where}: {what}."))


async def of_the_route(request: Request, error: Exception) -> Response:
    """There is no such route, or it has no such method."""
    raised = cast("HTTPException", error)
    status = HTTPStatus(raised.status_code)
    sentences = {
        HTTPStatus.NOT_FOUND: f"There is nothing at {request.url.path!r}; /api/openapi.json lists what there is.",
        HTTPStatus.METHOD_NOT_ALLOWED: f"{request.url.path!r} takes no {request.method}.",
        HTTPStatus.BAD_REQUEST: "The body cannot be read: send JSON.",
    }
    return problem_response(Problem(status, sentences.get(status, f"{status.phrase}.")), raised.headers)


async def of_ours(_request: Request, _error: Exception) -> Response:
    """A bug. The server writes what it was into its log; who asked learns only that."""
    sentence = "This is a bug in Amrita Fleet: the log of the gateway's process says more."
    return problem_response(Problem(HTTPStatus.INTERNAL_SERVER_ERROR, sentence))
