import pytest

from amrita_fleet.protocols.errors import BadRequest, ProviderError, ProviderOverloaded, StreamBroken
from amrita_fleet.protocols.messages import Finish, Json
from amrita_fleet.protocols.providers.base import Delta

from .wire_talk import claude, draft_of, hear, sse

pytestmark = pytest.mark.slow

USAGE: Json = {"input_tokens": 14, "cache_read_input_tokens": 6, "output_tokens": 1}
PING: Json = {"type": "ping"}
STOP: Json = {"type": "message_stop"}


def start(identifier: str = "msg_1", usage: Json = USAGE) -> Json:
    return {"type": "message_start", "message": {"id": identifier, "content": [], "usage": usage}}


def block(index: int, begin: Json, *deltas: object) -> tuple[object, ...]:
    events = ({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
    return (
        {"type": "content_block_start", "index": index, "content_block": begin},
        *events,
        {"type": "content_block_stop", "index": index},
    )


def end(reason: Json = "end_turn", **usage: int) -> Json:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {**usage}}


def says(*pieces: str, index: int = 0) -> tuple[object, ...]:
    return block(index, {"type": "text", "text": ""}, *({"type": "text_delta", "text": piece} for piece in pieces))


def calls(*pieces: str, index: int = 0, identifier: str = "toolu_1") -> tuple[object, ...]:
    begin: Json = {"type": "tool_use", "id": identifier, "name": "look", "input": {}}
    return block(index, begin, *({"type": "input_json_delta", "partial_json": piece} for piece in pieces))


THINKS = block(
    0,
    {"type": "thinking", "thinking": "", "signature": ""},
    {"type": "thinking_delta", "thinking": "I "},
    {"type": "thinking_delta", "thinking": "think."},
    {"type": "signature_delta", "signature": "sig"},
)
HIDDEN = block(1, {"type": "redacted_thinking", "data": "d"})


def test_text_thinking_and_calls_are_put_together() -> None:
    raw = sse(
        start(), PING, *THINKS, *says("a", "b", index=1), *calls('{"at"', ':"x"}', index=2), end("tool_use"), STOP
    )
    reply = hear(claude(), raw, **{"request-id": "req_1"})
    assert (reply.message.content, reply.message.reasoning_content) == ("ab", "I think.")
    assert (reply.message.reasoning_signature, reply.message.calls[0].arguments) == ("sig", '{"at":"x"}')
    assert (reply.finish, reply.request_id) == (Finish.CALLS, "req_1")


def test_redacted_thinking_is_kept_as_it_came() -> None:
    message = hear(claude(), sse(start(), *THINKS, *HIDDEN, *says("x", index=2), end(), STOP)).message
    thought: Json = {"type": "thinking", "thinking": "I think.", "signature": "sig"}
    assert message.extra == {
        "blocks": [thought, {"type": "redacted_thinking", "data": "d"}, {"type": "text", "text": "x"}]
    }


def test_what_comes_can_be_shown() -> None:
    reader = claude().stream({}, draft_of(claude()))
    shown = [reader.feed(sse(event).encode()) for event in (start(), *THINKS, *says("a"))]
    assert [delta for deltas in shown for delta in deltas] == [
        Delta("I ", reasoning=True),
        Delta("think.", reasoning=True),
        Delta("a"),
    ]


@pytest.mark.parametrize("pieces", [(), ("",), (" ",), ("{}",)], ids=["none", "empty", "blank", "object"])
def test_a_call_without_arguments_has_an_empty_object(pieces: tuple[str, ...]) -> None:
    reply = hear(claude(), sse(start(), *calls(*pieces), end("tool_use"), STOP))
    assert [each.arguments for each in reply.message.calls] == ["{}"]


def test_arguments_that_end_in_the_middle_mean_that_the_answer_was_cut() -> None:
    assert hear(claude(), sse(start(), *calls('{"at":"x'), end("tool_use"), STOP)).finish is Finish.LENGTH


def test_a_message_that_begins_again_is_told_from_its_start() -> None:
    first, second = calls('{"at":"Spark', identifier="toolu_1"), calls('{"at":"y"}', identifier="toolu_2")
    reply = hear(claude(), sse(start("m1"), *first[:-1], start("m2"), *second, end("tool_use", output_tokens=65), STOP))
    assert [(each.id, each.arguments) for each in reply.message.calls] == [("toolu_2", '{"at":"y"}')]
    assert (reply.usage.prompt, reply.usage.completion, reply.request_id) == (20, 65, "m2")


def test_the_same_beginning_twice_is_one_beginning() -> None:
    reply = hear(claude(), sse(start(), start(), *says("a"), end(output_tokens=2), STOP))
    assert (reply.message.content, reply.usage.prompt, reply.usage.completion) == ("a", 20, 2)


def test_citations_are_collected() -> None:
    deltas: list[Json] = [{"type": "citations_delta", "citation": {"n": n}} for n in (1, 2)]
    text = block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "a"}, *deltas)
    message = hear(claude(), sse(start(), *text, end(), STOP)).message
    assert message.extra["blocks"] == [{"type": "text", "text": "a", "citations": [{"n": 1}, {"n": 2}]}]


def test_what_a_later_version_adds_is_passed_over() -> None:
    odd: Json = {"type": "content_block_delta", "index": 0, "delta": {"type": "shine_delta", "shine": 1}}
    assert hear(claude(), sse(start(), {"type": "shine"}, *says("a"), odd, end(), STOP)).message.content == "a"


def test_a_block_whose_beginning_never_came_is_read_all_the_same() -> None:
    delta: Json = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a"}}
    assert hear(claude(), sse(delta, end(), STOP)).message.content == "a"


@pytest.mark.parametrize("ending", [(end(),), (STOP,), (end(), STOP)], ids=["reason", "stop", "both"])
def test_a_reason_or_the_end_is_enough(ending: tuple[Json, ...]) -> None:
    assert hear(claude(), sse(start(), *says("a"), *ending)).message.content == "a"


def test_an_answer_that_never_ends_is_broken() -> None:
    with pytest.raises(StreamBroken, match="ended before the answer did") as caught:
        hear(claude(), sse(start("m1"), *says("half an ans")))
    assert caught.value.request_id == "m1"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"type": "overloaded_error", "message": "Overloaded"}, ProviderOverloaded),
        ({"type": "invalid_request_error", "message": "no"}, BadRequest),
        ({"type": "odd_error", "message": "?"}, StreamBroken),
    ],
)
def test_an_error_in_the_stream_is_that_error(error: Json, kind: type[ProviderError]) -> None:
    with pytest.raises(kind) as caught:
        hear(claude(), sse(start("m1"), *says("a"), {"type": "error", "error": error}))
    assert (type(caught.value), caught.value.request_id) == (kind, "m1")


def test_an_end_without_a_message_is_no_answer() -> None:
    with pytest.raises(BadRequest, match="has no content"):
        hear(claude(), sse(STOP))


def test_the_numbers_of_both_events_are_kept_once() -> None:
    reply = hear(claude(), sse(start(), *says("a"), end(input_tokens=14, output_tokens=300), STOP))
    assert (reply.usage.prompt, reply.usage.cached, reply.usage.completion) == (20, 6, 300)
    assert reply.usage.raw == {"input_tokens": 14, "cache_read_input_tokens": 6, "output_tokens": 300}


def test_usage_that_is_missing_is_estimated() -> None:
    usage = hear(claude(), sse(start(usage=None), *says("x" * 30), end(), STOP)).usage
    assert usage.estimated
    assert usage.completion > 9
