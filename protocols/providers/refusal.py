"""Which error of the tree a provider's refusal is.

The status alone does not tell: a 429 may mean "later" or "no money left", a 400 may mean a full window, an answer of
status 200 may hold an error. So the codes and the words are read too, in the order of `KINDS`: the first that fits.
"""

import re
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Final

from ..errors import (
    AuthRefused,
    BadRequest,
    Circumstances,
    ContentRefused,
    ContextOverflow,
    ProviderBusy,
    ProviderError,
    ProviderOverloaded,
    QuotaSpent,
    StreamBroken,
)
from ..messages import Json
from .complaint import Complaint, read_body, read_error
from .request_id import request_id
from .retry_after import retry_after
from .window import window

__all__ = ("error_in_answer", "refusal")

FILTER_CODES = frozenset({
    "content_filter",
    "content_policy_violation",
    "data_inspection_failed",
    "moderation_blocked",
    "responsibleaipolicyviolation",
})  # fmt: skip
QUOTA_CODES = frozenset({
    "billing_error",
    "billing_hard_limit_reached",
    "insufficient_balance",
    "insufficient_quota",
})  # fmt: skip
OVERFLOW_CODES = frozenset({
    "context_length_exceeded",
    "exceed_context_size_error",
    "request_too_large",
    "too_many_prompt_tokens",
    "too_many_tokens",
})  # fmt: skip
STATUS_OF_CODE: Final = {
    "authentication_error": 401,
    "invalid_api_key": 401,
    "permission_error": 403,
    "invalid_request_error": 400,
    "not_found_error": 404,
    "insufficient_quota": 429,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "ratelimitreached": 429,
    "resource_exhausted": 429,
    "api_error": 500,
    "internal_error": 500,
    "internal_server_error": 500,
    "server_error": 500,
    "service_unavailable": 503,
    "unavailable": 503,
    "timeout": 504,
    "overloaded": 529,
    "overloaded_error": 529,
}
"""The status that an error inside an answer of status 200 would have had."""

FILTERED: Final = re.compile(r"content (management )?policy|content[ _]filter|was flagged|content exists risk")
UNPAID: Final = re.compile(
    r"insufficient (account )?(balance|quota|credits?|funds)|credit balance is too low|more credits"
    r"|quota (has been|is) (exhausted|used up)|exceeded your current quota|billing"
)
NO_KEY: Final = re.compile(r"(invalid|incorrect|missing|not a valid) api[ _-]?key|api key (is )?(not valid|invalid)")
OVERFLOWN: Final = re.compile(
    r"(maximum|max) context length|context (window|limit|length|size)|(prompt|input|request) (is )?too long"
    r"|(length|number) of (all )?(messages|input tokens).{0,20}(too long|exceeds)|too many (input |prompt )?tokens"
    r"|input tokens exceed"
)
DENIED = frozenset({401, 403})
UNPAID_STATUSES = frozenset({400, 402, 403, 429})
OVERFLOW_STATUSES = frozenset({400, 413, 422, 500})
PASSING = frozenset({408, 409, 425})
"""Below 500 and yet worth another try: a time-out, a lock, too early."""

Fits = Callable[[int, Complaint, float | None], bool]


def is_filtered(status: int, complaint: Complaint, _after: float | None) -> bool:
    """A content filter refused."""
    if complaint.codes & FILTER_CODES:
        return True
    return status in {400, 403, 422} and bool(FILTERED.search(complaint.sentence.lower()))


def is_unpaid(status: int, complaint: Complaint, after: float | None) -> bool:
    """The account has nothing left; who says when to come again means a rate, whatever words are used."""
    if status == HTTPStatus.PAYMENT_REQUIRED or complaint.codes & QUOTA_CODES:
        return True
    return status in UNPAID_STATUSES and after is None and bool(UNPAID.search(complaint.sentence.lower()))


def is_denied(status: int, complaint: Complaint, _after: float | None) -> bool:
    """The key is wrong or may not do this."""
    return status in DENIED or (status == HTTPStatus.BAD_REQUEST and bool(NO_KEY.search(complaint.sentence.lower())))


def is_busy(status: int, _complaint: Complaint, _after: float | None) -> bool:
    """Too many requests or tokens for now."""
    return status == HTTPStatus.TOO_MANY_REQUESTS


def is_overflow(status: int, complaint: Complaint, _after: float | None) -> bool:
    """The request does not fit into the model's window; one that asks for too much output is no such request."""
    if status not in OVERFLOW_STATUSES:
        return False
    return bool(complaint.codes & OVERFLOW_CODES or OVERFLOWN.search(complaint.sentence.lower()))


def is_passing(status: int, _complaint: Complaint, _after: float | None) -> bool:
    """The provider cannot answer now."""
    return status in PASSING or status >= HTTPStatus.INTERNAL_SERVER_ERROR


KINDS: Final[tuple[tuple[Fits, type[ProviderError], str], ...]] = (
    (is_filtered, ContentRefused, "The provider's content filter refused the request"),
    (is_unpaid, QuotaSpent, "The provider says that the account has nothing left"),
    (is_denied, AuthRefused, "The provider refused the key"),
    (is_busy, ProviderBusy, "The provider is asked too often"),
    (is_overflow, ContextOverflow, "The request is longer than the model's window"),
    (is_passing, ProviderOverloaded, "The provider cannot answer now"),
)
OTHERWISE: Final = (BadRequest, "The provider refused the request")


def refusal(status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
    """The error that an answer of another status than 200 means.

    Args:
        status: HTTP status.
        headers: Names in lower case.
        body: The body, of any form.
    """
    return classify(status, headers, read_body(body))


def error_in_answer(
    headers: Mapping[str, str], answer: Json, *, streamed: bool = False, known_id: str = ""
) -> ProviderError:
    """The error that an answer of status 200, or one event of it, holds; what was billed is unknown.

    One of no known kind is final for a whole answer; in a stream it is an answer that broke off. `known_id` is the id
    that earlier events of the stream gave.
    """
    complaint = read_error(answer)
    status = complaint.status or max((STATUS_OF_CODE.get(code, 0) for code in complaint.codes), default=0)
    if not status and streamed and not complaint.codes & (FILTER_CODES | OVERFLOW_CODES | QUOTA_CODES):
        told = complaint.sentence or "no reason given"
        sentence = f"The provider broke off its answer: {told}"
        return StreamBroken(sentence=sentence, request_id=request_id(headers, complaint.answer) or known_id)
    return classify(status or HTTPStatus.BAD_REQUEST.value, headers, complaint, billed=True, known_id=known_id)


def classify(
    status: int, headers: Mapping[str, str], complaint: Complaint, *, billed: bool | None = None, known_id: str = ""
) -> ProviderError:
    """The first kind that fits."""
    after = retry_after(headers, complaint.error, complaint.sentence)
    kinds = ((kind, cause) for fits, kind, cause in KINDS if fits(status, complaint, after))
    kind, cause = next(kinds, OTHERWISE)
    told = f": {complaint.sentence}" if complaint.sentence else "."
    sentence = f"{cause} ({status}){told}"
    facts = Circumstances(
        status=status, request_id=request_id(headers, complaint.answer) or known_id, after=after, billed=billed
    )
    if kind is ContextOverflow:
        tokens, limit = window(complaint)
        return ContextOverflow(sentence=sentence, tokens=tokens, limit=limit, **facts)
    return kind(sentence=sentence, **facts)
