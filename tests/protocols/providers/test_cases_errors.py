"""Refusals: faults that users of other programs reported."""

import json
import math

import pytest

from amrita_fleet.protocols.errors import (
    BadRequest,
    ContextOverflow,
    ProviderBusy,
    ProviderError,
    ProviderOverloaded,
    QuotaSpent,
)
from amrita_fleet.protocols.messages import Json

from .wire_talk import answer_of, chat, claude, hear, read, sse

pytestmark = pytest.mark.slow

DATE = "Wed, 21 Oct 2026 07:28:00 GMT"


def refused(status: int, error: Json, **headers: str) -> ProviderError:
    return chat().refusal(status, headers, json.dumps({"error": error}).encode())


@pytest.mark.parametrize(
    "error",
    [
        {"message": "You exceeded your current quota, please check your plan.", "code": "insufficient_quota"},
        {"message": "Your weekly quota has been exhausted. It resets at 2031-01-01 00:00"},
    ],
)
def test_a_429_that_cannot_heal_is_final_and_says_all_it_knows(error: dict[str, Json]) -> None:
    found = refused(429, error)
    assert type(found) is QuotaSpent
    assert not found.retryable
    assert str(error["message"]) in found.sentence


@pytest.mark.parametrize(
    ("headers", "after"),
    [
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT", "date": DATE}, 30.0),
        ({"retry-after": "Wed, 21 Oct 2065 07:28:00 GMT", "date": DATE}, 3600.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT", "date": DATE}, 0.0),
        ({"retry-after": "-5"}, 0.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "1", "retry-after-ms": "0"}, 0.0),
        ({"retry-after": "Fri, 31 Dec 99999 23:59:59 GMT", "date": DATE}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e999"}, 3600.0),
        ({}, None),
    ],
    ids=str,
)
def test_a_wait_is_understood_in_every_form_and_has_an_end(headers: dict[str, str], after: float | None) -> None:
    found = refused(429, {"message": "slow down"}, **headers)
    assert type(found) is ProviderBusy
    assert found.after == after
    assert found.after is None or math.isfinite(found.after)


def test_a_wait_may_stand_in_the_body() -> None:
    info: Json = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "48s"}
    error: Json = {"message": "You exceeded your current quota", "status": "RESOURCE_EXHAUSTED", "details": [info]}
    found = refused(429, error)
    assert (type(found), found.after) == (ProviderBusy, 48.0)


@pytest.mark.parametrize("status", [529, 503, 502, 500, 408, 409])
def test_what_passes_by_itself_can_be_tried_again(status: int) -> None:
    body = b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_x"}'
    found = claude().refusal(status, {}, body)
    assert type(found) is ProviderOverloaded
    assert (found.retryable, found.request_id) == (True, "req_x")


@pytest.mark.parametrize(
    "error",
    [
        {"message": "This model's maximum context length is 1048565 tokens. However, you requested 1250025 tokens"},
        {"message": "prompt is too long: 214676 tokens > 200000 maximum"},
        {"message": "input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000"},
        {"message": "Your input exceeds the limits.", "code": "context_length_exceeded"},
        {"message": "The total length of all messages is too long.", "type": "too_many_prompt_tokens"},
        {"message": "prompt too long; exceeded max context length by 1119046 tokens"},
        {"message": "the request exceeds the available size", "type": "exceed_context_size_error", "n_ctx": 4096},
        {"message": "too many tokens: size limit exceeded by 25836 tokens", "error_type": "TOO_MANY_TOKENS"},
        {"message": "Input Tokens Exceeded: Number of input tokens exceeds maximum length."},
        {"message": "The prompt is too long: 267657, model maximum context length: 262143"},
    ],
    ids=str,
)
def test_a_full_window_is_told_in_a_dozen_ways(error: Json) -> None:
    found = refused(400, error)
    assert type(found) is ContextOverflow
    assert not found.retryable


@pytest.mark.parametrize(
    ("status", "words", "kind"),
    [
        (400, "You requested a maximum of 40000 output tokens, which is more than this model gives.", BadRequest),
        (400, "max_tokens must be <= 8192", BadRequest),
        (429, "Request too large: tokens per minute limit 30000, requested 40000", ProviderBusy),
    ],
)
def test_and_other_words_about_tokens_are_not_taken_for_one(status: int, words: str, kind: type[ProviderError]) -> None:
    assert type(refused(status, {"message": words})) is kind


IDS = ("x-request-id", "x-ds-trace-id", "eo-log-uuid", "request-id", "mistral-correlation-id", "x-generation-id")


@pytest.mark.parametrize("name", IDS)
def test_an_id_to_quote_is_found_whoever_names_it(name: str) -> None:
    assert refused(500, {"message": "x"}, **{name: "id-1"}).request_id == "id-1"
    assert read(chat(), answer_of({"content": "x"}), **{name: "id-1"}).request_id == "id-1"


def test_the_first_of_them_counts_and_the_body_after_them() -> None:
    body = b'{"type":"error","error":{"type":"api_error","message":"x"},"request_id":"req_011B"}'
    for place in range(len(IDS)):
        headers = {name: name for name in reversed(IDS[place:])}
        assert claude().refusal(500, headers, body).request_id == IDS[place]
    assert claude().refusal(500, {}, body).request_id == "req_011B"


def test_an_error_inside_a_stream_has_the_id_of_its_chunks() -> None:
    chunk: Json = {"id": "gen-1", "choices": [{"index": 0, "delta": {"content": "a"}}]}
    with pytest.raises(ProviderError) as caught:
        hear(chat(), sse(chunk, {"error": {"message": "x", "code": 500}}))
    assert caught.value.request_id == "gen-1"
    assert "(request_id=gen-1)" in str(caught.value)
