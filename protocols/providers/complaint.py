"""What a provider's error says, in whichever shape it comes: an object, a list of objects, a text, a page."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from ..messages import Json
from .lenient import items, mapping, parse, text

__all__ = ("Complaint", "is_error", "read_body", "read_error")

SHOWN = 600
"""Characters of a body that is no JSON."""

TITLE: Final = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
CODE_FIELDS = ("code", "type", "status", "error_type")
STATUS_FIELDS = ("status_code", "status", "code")
STATUSES = range(400, 600)


@dataclass(frozen=True, slots=True)
class Complaint:
    """An error as a provider tells it.

    Attributes:
        sentence: Its words, on one line; empty when it has none.
        codes: Every code and type it names, in lower case.
        status: The HTTP status it names itself.
        error: The error object.
        answer: All that came, for the request id.
    """

    sentence: str = ""
    codes: frozenset[str] = frozenset()
    status: int | None = None
    error: Mapping[str, Json] = field(default_factory=dict[str, Json])
    answer: Json = None


def is_error(answer: Json) -> bool:
    """Whether an answer of status 200, or an event of one, is an error."""
    fields = mapping(first(answer))
    return bool(fields.get("error")) or "error" in (fields.get("object"), fields.get("type"))


def read_body(body: bytes) -> Complaint:
    """The complaint in the body of a refusal."""
    try:
        answer = parse(body)
    except ValueError:
        return Complaint(one_line(page_text(body.decode("utf-8", "replace"))))
    return read_error(answer)


def read_error(answer: Json) -> Complaint:
    """The complaint in a JSON value."""
    outer = mapping(first(answer))
    inner = mapping(outer.get("error")) or outer
    codes = {text(each.get(name)).lower() for each in (outer, inner) for name in CODE_FIELDS}
    return Complaint(
        sentence=one_line(words(first(answer), outer, inner)),
        codes=frozenset(codes - {"", "error"}),
        status=next((status for name in STATUS_FIELDS if (status := as_status(inner.get(name)))), None),
        error=inner,
        answer=outer,
    )


def words(answer: Json, outer: Mapping[str, Json], inner: Mapping[str, Json]) -> str:
    """The sentence, wherever it stands, and what a router says of the provider behind it."""
    detail = inner.get("detail")
    told = (
        text(answer)
        or text(outer.get("error"))
        or text(inner.get("message"))
        or text(detail)
        or "; ".join(text(mapping(each).get("msg")) for each in items(detail))
    )
    behind = text(mapping(inner.get("metadata")).get("raw"))
    return f"{told}: {behind}" if told and behind else told or behind


def first(answer: Json) -> Json:
    """The error of a list of errors; any other value itself."""
    return answer[0] if isinstance(answer, list) and answer else answer


def as_status(value: Json) -> int | None:
    """An HTTP status of the error ranges, be it a number or its digits."""
    number = int(value) if isinstance(value, str) and value.isdecimal() and len(value) == len("400") else value
    return number if isinstance(number, int) and number in STATUSES else None


def page_text(body: str) -> str:
    """What a text says; of a web page its title."""
    if not body.lstrip().startswith("<"):
        return body[:SHOWN]
    title = TITLE.search(body)
    return title[1] if title else ""


def one_line(told: str) -> str:
    """The words with single spaces between them."""
    return " ".join(told.split())
