"""The id to quote to a provider."""

from collections.abc import Mapping

from ..messages import Json
from .lenient import mapping, text

__all__ = ("request_id",)

HEADERS = (
    "x-request-id",
    "x-ds-trace-id",
    "eo-log-uuid",
    "request-id",
    "mistral-correlation-id",
    "x-generation-id",
    "apim-request-id",
)
"""Where providers put it, in the order in which they are asked."""


def request_id(headers: Mapping[str, str], answer: Json = None) -> str:
    """The id a provider gave a request: in a header, else in its answer; empty when it gave none.

    Args:
        headers: Names in lower case.
        answer: The answer's body, or one event of it.
    """
    for name in HEADERS:
        if value := headers.get(name):
            return value
    fields = mapping(answer)
    return text(fields.get("request_id")) or text(fields.get("id"))
