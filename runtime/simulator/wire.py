"""The two wire formats that the simulator speaks, behind one contract."""

from collections.abc import Iterator, Mapping
from typing import Protocol

from ...protocols.messages import Json
from . import anthropic_reply, anthropic_request, openai_reply, openai_request
from .anthropic_words import ANTHROPIC
from .conversation import Request
from .errors import Refused
from .modes import Active
from .openai_words import OPENAI
from .speech import Speech
from .words import Words

__all__ = ("AnthropicWire", "OpenAIWire", "Wire", "wire_for")

Headers = Mapping[str, str]
VERSION = "anthropic-version"


class Wire(Protocol):
    """A wire format: how requests are read and answers written."""

    @property
    def words(self) -> Words:
        """How it refuses."""
        ...

    def key(self, headers: Headers) -> str:
        """The key a request came with; empty when it has none."""
        ...

    def check(self, headers: Headers) -> None:
        """Refuse headers that do not suffice."""
        ...

    def read(self, body: object) -> Request:
        """Read a body, or refuse it."""
        ...

    def whole(self, speech: Speech, created: int, active: Active) -> Mapping[str, Json]:
        """An answer as one object; `created` is in Unix seconds."""
        ...

    def events(self, speech: Speech, asked: Request, created: int, active: Active) -> Iterator[str]:
        """An answer as server-sent events."""
        ...

    def failure(self, refused: Refused) -> str:
        """The event that says a stream has failed."""
        ...

    def refusal(self, refused: Refused, number: int) -> Mapping[str, Json]:
        """The body that refuses request number `number`."""
        ...

    def models(self, names: tuple[str, ...]) -> Mapping[str, Json]:
        """The list of models."""
        ...

    def headers(self, number: int) -> dict[str, str]:
        """The id of request number `number`, that a person can quote."""
        ...


class OpenAIWire:
    """Chat completions."""

    words = OPENAI

    def key(self, headers: Headers) -> str:
        """The bearer's token."""
        return bearer(headers)

    def check(self, headers: Headers) -> None:
        """No header but the key is wanted."""

    def read(self, body: object) -> Request:
        """Read a body, or refuse it."""
        return openai_request.read_request(body)

    def whole(self, speech: Speech, created: int, active: Active) -> Mapping[str, Json]:
        """A `chat.completion`."""
        return openai_reply.completion(speech, created=created, counted="no-usage" not in active)

    def events(self, speech: Speech, asked: Request, created: int, active: Active) -> Iterator[str]:
        """The chunks and `[DONE]`."""
        include_usage = asked.include_usage and "no-usage" not in active
        return openai_reply.events(speech, created=created, include_usage=include_usage, twice="duplicate" in active)

    def failure(self, refused: Refused) -> str:
        """A chunk that is an error."""
        return openai_reply.failure(refused)

    def refusal(self, refused: Refused, number: int) -> Mapping[str, Json]:  # noqa: ARG002  no number in the body
        """An error object."""
        return openai_reply.refusal(refused)

    def models(self, names: tuple[str, ...]) -> Mapping[str, Json]:
        """A list of `model` objects."""
        return openai_reply.models(names)

    def headers(self, number: int) -> dict[str, str]:
        """`x-request-id`."""
        return {"x-request-id": f"req_{number}"}


class AnthropicWire:
    """Messages."""

    words = ANTHROPIC

    def key(self, headers: Headers) -> str:
        """The key has a header of its own; newer clients send it as a bearer's token."""
        return headers.get("x-api-key", "") or bearer(headers)

    def check(self, headers: Headers) -> None:
        """The version has to be named."""
        if not headers.get(VERSION):
            raise Refused(message=f"{VERSION}: header is required", param=VERSION)

    def read(self, body: object) -> Request:
        """Read a body, or refuse it."""
        return anthropic_request.read_request(body)

    def whole(self, speech: Speech, created: int, active: Active) -> Mapping[str, Json]:  # noqa: ARG002  bears no date
        """A `message`."""
        return anthropic_reply.message(speech, usage="no-usage" not in active)

    def events(self, speech: Speech, asked: Request, created: int, active: Active) -> Iterator[str]:  # noqa: ARG002
        """From `message_start` to `message_stop`."""
        return anthropic_reply.events(speech, usage="no-usage" not in active, twice="duplicate" in active)

    def failure(self, refused: Refused) -> str:
        """An `error` event."""
        return anthropic_reply.failure(refused)

    def refusal(self, refused: Refused, number: int) -> Mapping[str, Json]:
        """An error object with the request's id."""
        return anthropic_reply.refusal(refused, f"req_{number}")

    def models(self, names: tuple[str, ...]) -> Mapping[str, Json]:
        """A page of `model` objects."""
        return anthropic_reply.models(names)

    def headers(self, number: int) -> dict[str, str]:
        """`request-id`."""
        return {"request-id": f"req_{number}"}


def wire_for(headers: Headers) -> Wire:
    """The format of a client that asks for a path which is not of one format: Anthropic's name a version."""
    return AnthropicWire() if VERSION in headers else OpenAIWire()


def bearer(headers: Headers) -> str:
    """The token of a bearer; empty without one."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""
