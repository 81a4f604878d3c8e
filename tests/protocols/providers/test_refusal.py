import json

import pytest

from amrita_fleet.protocols.errors import (
    AuthRefused,
    BadRequest,
    ContentRefused,
    ContextOverflow,
    ProviderBusy,
    ProviderError,
    ProviderOverloaded,
    QuotaSpent,
    StreamBroken,
)
from amrita_fleet.protocols.messages import Json
from amrita_fleet.protocols.providers.refusal import error_in_answer, refusal


def refused(status: int, error: Json, **headers: str) -> ProviderError:
    return refusal(status, headers, json.dumps({"error": error}).encode())


@pytest.mark.parametrize(
    "words",
    [
        "This model's maximum context length is 1048565 tokens. However, you requested 1250025 tokens",
        "prompt is too long: 214676 tokens > 200000 maximum",
        "input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000",
        "Your input exceeds the context window of this model.",
        "The total length of all messages is too long.",
        "prompt too long; exceeded max context length by 1119046 tokens",
        "the request exceeds the available context size",
        "too many tokens: size limit exceeded by 25836 tokens",
        "Input Tokens Exceeded: Number of input tokens exceeds maximum length.",
        "The prompt is too long: 267657, model maximum context length: 262143",
    ],
)
def test_a_full_window_is_told_in_many_words(words: str) -> None:
    assert type(refused(400, {"message": words, "code": "invalid_request_error"})) is ContextOverflow


@pytest.mark.parametrize(
    ("status", "words", "kind"),
    [
        (400, "You requested a maximum of 40000 output tokens, but 16384 is the most this model gives.", BadRequest),
        (400, "max_tokens must be <= 8192", BadRequest),
        (429, "Request too large: limit 30000 tokens per minute, context length 40000", ProviderBusy),
    ],
)
def test_other_words_about_tokens_are_no_full_window(status: int, words: str, kind: type[ProviderError]) -> None:
    assert type(refused(status, {"message": words})) is kind


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        pytest.param(400, {"message": "no such field"}, BadRequest, id="400"),
        pytest.param(401, {"message": "Authentication Fails"}, AuthRefused, id="401"),
        pytest.param(403, {"message": "not allowed"}, AuthRefused, id="403"),
        pytest.param(403, {"message": "Your input was flagged"}, ContentRefused, id="403 moderation"),
        pytest.param(400, {"message": "API key not valid. Please pass one."}, AuthRefused, id="400 about the key"),
        pytest.param(402, {"message": "Insufficient Balance"}, QuotaSpent, id="402"),
        pytest.param(404, {"message": "The model `x` does not exist"}, BadRequest, id="404"),
        pytest.param(408, {"message": "time-out"}, ProviderOverloaded, id="408"),
        pytest.param(429, {"message": "slow down"}, ProviderBusy, id="429"),
        pytest.param(429, {"message": "x", "code": "insufficient_quota"}, QuotaSpent, id="429 without quota"),
        pytest.param(429, {"message": "Your quota has been exhausted."}, QuotaSpent, id="429 quota in words"),
        pytest.param(
            429, {"message": "You exceeded your current quota. Please retry in 9s."}, ProviderBusy, id="429 per minute"
        ),
        pytest.param(400, {"message": "x", "code": "content_filter"}, ContentRefused, id="filter"),
        pytest.param(413, {"message": "x", "code": "context_length_exceeded"}, ContextOverflow, id="413"),
        pytest.param(500, {"message": "oops"}, ProviderOverloaded, id="500"),
        pytest.param(529, {"type": "overloaded_error"}, ProviderOverloaded, id="529"),
    ],
)
def test_status_codes_and_words_decide_together(status: int, error: Json, kind: type[ProviderError]) -> None:
    error_found = refused(status, error)
    assert type(error_found) is kind
    assert error_found.status == status


def test_a_refusal_says_its_cause_in_the_providers_words_on_one_line() -> None:
    error = refused(404, {"message": "The model `x`\n does not exist"}, **{"x-request-id": "r1"})
    assert str(error) == "The provider refused the request (404): The model `x` does not exist (request_id=r1)"


def test_a_busy_provider_says_when_to_come_again() -> None:
    assert refused(429, {"message": "slow down"}, **{"retry-after": "3"}).after == 3.0


@pytest.mark.parametrize(
    ("body", "words"),
    [
        pytest.param(b'[{"error":{"code":400,"message":"no signature"}}]', ": no signature", id="list of objects"),
        pytest.param(b'{"error":"plain text"}', ": plain text", id="error as text"),
        pytest.param(b'"only text"', ": only text", id="JSON text"),
        pytest.param(b'{"detail":"Invalid"}', ": Invalid", id="detail"),
        pytest.param(b'{"detail":[{"msg":"a"},{"msg":"b"}]}', ": a; b", id="list of details"),
        pytest.param(b'{"error":{"message":"a","metadata":{"raw":"b"}}}', ": a: b", id="router"),
        pytest.param(b"upstream  died", ": upstream died", id="no JSON"),
        pytest.param(b"<html><title>502\nBad Gateway</title>", ": 502 Bad Gateway", id="page"),
        pytest.param(b"<html>", ".", id="page without a title"),
        pytest.param(b"", ".", id="nothing"),
        pytest.param(b"[]", ".", id="empty list"),
        pytest.param(b"[" * 100_000, ": " + "[" * 600, id="nested too deep"),
        pytest.param(b"\xff\xfe\x00", ": \ufffd\ufffd\x00", id="no text at all"),
    ],
)
def test_a_body_of_any_form_is_read(body: bytes, words: str) -> None:
    assert refusal(400, {}, body).sentence == f"The provider refused the request (400){words}"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        pytest.param({"message": "x", "code": 502}, ProviderOverloaded, id="numeric code"),
        pytest.param({"message": "x", "code": "429"}, ProviderBusy, id="digits"),
        pytest.param({"message": "x", "type": "overloaded_error"}, ProviderOverloaded, id="type"),
        pytest.param({"message": "x", "type": "invalid_request_error", "status_code": 400}, BadRequest, id="final"),
        pytest.param({"message": "x", "code": "content_filter"}, ContentRefused, id="filter"),
        pytest.param({"message": "something"}, StreamBroken, id="unknown"),
    ],
)
def test_an_error_in_a_stream_says_its_kind_itself(error: Json, kind: type[ProviderError]) -> None:
    found = error_in_answer({"x-request-id": "r1"}, {"error": error}, streamed=True)
    assert type(found) is kind
    assert found.request_id == "r1"


def test_what_an_error_inside_an_answer_billed_is_unknown() -> None:
    assert error_in_answer({}, {"error": {"message": "x", "code": 400}}).billed
    assert not refused(400, {"message": "x"}).billed


def test_an_unknown_error_instead_of_an_answer_is_final() -> None:
    assert type(error_in_answer({}, {"error": {"message": "something"}})) is BadRequest
