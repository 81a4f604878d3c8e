import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.protocols.errors import BadRequest, ProviderError, ProviderOverloaded, StreamBroken
from amrita_fleet.protocols.messages import Finish, Json, Message, Reply, Role, ToolCall, Usage
from amrita_fleet.protocols.presets import ModelPreset
from amrita_fleet.protocols.providers.base import Delta, Draft
from amrita_fleet.protocols.providers.openai_chat import OpenAIChat

ADAPTER = OpenAIChat(ModelPreset(model="m", base_url="http://127.0.0.1/v1"))
DRAFT = ADAPTER.draft((Message(Role.USER, "hi"),), (), None)
USAGE: Json = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}


def chunk(delta: Json, reason: Json = None, **fields: Json) -> str:
    return json.dumps({"id": "c1", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}], **fields})


def bare(**fields: Json) -> str:
    return json.dumps(fields)


def call_piece(index: int, identifier: str, name: str, arguments: Json) -> Json:
    return {"tool_calls": [{"index": index, "id": identifier, "function": {"name": name, "arguments": arguments}}]}


def framed(*events: str) -> bytes:
    return "".join(f"data: {event}\n\n" for event in events).encode()


def read(*chunks: bytes, draft: Draft = DRAFT, headers: dict[str, str] | None = None) -> Reply:
    reader = ADAPTER.stream(headers or {}, draft)
    for each in chunks:
        reader.feed(each)
    return reader.close()


THINKING = framed(
    chunk({"role": "assistant", "content": None, "reasoning_content": "I "}),
    chunk({"content": None, "reasoning_content": "think."}),
    chunk({"content": "4 \U0001f600", "reasoning_content": None}),
    chunk({}, "stop"),
    bare(choices=[], usage=USAGE),
    "[DONE]",
)
CALLING = framed(
    chunk({"role": "assistant", "content": ""}),
    chunk(call_piece(0, "a", "f", "")),
    chunk(call_piece(0, "", "", '{"x":')),
    chunk(call_piece(0, "", "", "1}")),
    chunk(call_piece(1, "b", "g", "{}")),
    chunk({}, "tool_calls"),
    bare(choices=[], usage=USAGE),
    "[DONE]",
)
CRLF = THINKING.replace(b"\n", b"\r\n")
SAMPLES = {"thinking": THINKING, "calling": CALLING, "crlf": CRLF}


def test_text_and_reasoning_are_put_together() -> None:
    reply = read(THINKING)
    assert reply.message == Message(Role.ASSISTANT, "4 \U0001f600", reasoning_content="I think.", profile="unknown")
    assert (reply.usage, reply.finish, reply.request_id) == (Usage(7, 2), Finish.STOP, "c1")


def test_calls_are_put_together() -> None:
    reply = read(CALLING)
    assert reply.message.calls == (ToolCall("a", "f", '{"x":1}'), ToolCall("b", "g", "{}"))
    assert reply.finish is Finish.CALLS


def test_pieces_are_shown_as_they_come() -> None:
    reader = ADAPTER.stream({}, DRAFT)
    assert reader.feed(THINKING) == (
        Delta("I ", reasoning=True),
        Delta("think.", reasoning=True),
        Delta("4 \U0001f600"),
    )
    assert reader.done


def test_reasoning_under_its_other_name_goes_back_under_it() -> None:
    details: list[Json] = [{"type": "reasoning.text", "text": "hm", "index": 0}]
    events = (chunk({"reasoning": "h"}), chunk({"reasoning": "m", "reasoning_details": details}), chunk({}, "stop"))
    message = read(framed(*events)).message
    assert message.reasoning_content == "hm"
    assert message.extra == {"reasoning": "hm", "reasoning_details": details}


def test_events_without_choices_are_no_end_wherever_they_stand() -> None:
    events = (
        bare(choices=[], prompt_filter_results=[]),
        chunk({"content": "hi"}),
        bare(choices=None),
        chunk(None, "stop"),
        bare(usage=USAGE),
        "[DONE]",
    )
    reply = read(framed(*events))
    assert (reply.message.content, reply.usage) == ("hi", Usage(7, 2))


def test_usage_in_each_event_is_a_running_total() -> None:
    first: Json = {"prompt_tokens": 100, "completion_tokens": 1, "total_tokens": 101}
    last: Json = {"prompt_tokens": 100, "completion_tokens": 2, "total_tokens": 102}
    events = (chunk({"content": "a"}, usage=first), chunk({"content": "b"}, usage=last), chunk({}, "stop", usage=last))
    assert read(framed(*events)).usage == Usage(100, 2)


def test_usage_may_stand_in_the_choice() -> None:
    last = bare(choices=[{"index": 0, "delta": {"content": "a"}, "finish_reason": "stop", "usage": USAGE}])
    assert read(framed(last)).usage == Usage(7, 2)


def test_a_message_in_place_of_the_delta_is_the_delta() -> None:
    assert read(framed(bare(choices=[{"message": {"content": "a"}, "finish_reason": "stop"}]))).message.content == "a"


def test_a_message_beside_the_delta_is_not_said_twice() -> None:
    both = bare(choices=[{"message": {"content": "a"}, "delta": {"content": ""}, "finish_reason": "stop"}])
    assert read(framed(chunk({"content": "a"}), both)).message.content == "a"


@pytest.mark.parametrize(
    "events",
    [
        pytest.param((chunk({"content": "a"}, "stop"),), id="finish reason without [DONE]"),
        pytest.param((chunk({"content": "a"}), "[DONE]"), id="[DONE] without finish reason"),
    ],
)
def test_a_finish_reason_or_done_is_enough(events: tuple[str, ...]) -> None:
    assert read(framed(*events)).message.content == "a"


def test_what_comes_after_done_is_not_read() -> None:
    assert read(framed(chunk({"content": "a"}), "[DONE]", chunk({"content": "b"}))).message.content == "a"


def test_the_last_event_counts_without_its_blank_line() -> None:
    assert read(THINKING.rstrip(b"\n")) == read(THINKING)


@pytest.mark.parametrize(
    "events",
    [
        pytest.param((), id="nothing"),
        pytest.param((chunk({"content": "half"}),), id="text"),
        pytest.param((chunk(call_piece(0, "a", "f", '{"path":"a')),), id="arguments"),
    ],
)
def test_a_stream_that_ends_before_its_answer_is_broken(events: tuple[str, ...]) -> None:
    with pytest.raises(StreamBroken):
        read(framed(*events))


def test_a_stream_without_choices_is_no_answer() -> None:
    with pytest.raises(BadRequest):
        read(framed(bare(choices=[], usage=USAGE), "[DONE]"))


def test_an_event_that_is_no_json_breaks_the_stream() -> None:
    with pytest.raises(StreamBroken, match="no JSON: upstream error"):
        read(framed("upstream error"))


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(bare(error={"message": "busy", "code": 502}), id="error"),
        pytest.param(chunk({"content": ""}, "error", error={"message": "busy", "code": 502}), id="error and choices"),
        pytest.param(bare(object="error", message="busy", code=502), id="bare error"),
        pytest.param('[{"error":{"message":"busy","code":502}}]', id="list"),
    ],
)
def test_an_error_inside_a_stream_is_raised_at_once(event: str) -> None:
    reader = ADAPTER.stream({"x-request-id": "r1"}, DRAFT)
    with pytest.raises(ProviderOverloaded, match=r"busy.*r1") as caught:
        reader.feed(framed(chunk({"content": "half"}), event))
    assert caught.value.billed


def test_halves_of_a_character_in_two_events_become_one() -> None:
    events = (r'{"choices":[{"delta":{"content":"\ud83d"}}]}', r'{"choices":[{"delta":{"content":"\ude00"}}]}')
    assert read(framed(*events, "[DONE]")).message.content == "\U0001f600"


@given(st.sampled_from(sorted(SAMPLES)), st.data())
def test_where_a_stream_is_cut_into_chunks_makes_no_difference(name: str, data: st.DataObject) -> None:
    whole = SAMPLES[name]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=12)))
    chunks = [whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    assert read(*chunks) == read(whole)


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_the_beginning_of_a_stream_is_never_another_answer(name: str) -> None:
    whole = SAMPLES[name]
    expected = read(whole)
    for end in range(len(whole)):
        try:
            reply = read(whole[:end])
        except ProviderError:
            continue
        assert (reply.message, reply.finish) == (expected.message, expected.finish)
        assert reply.usage == expected.usage or reply.usage.estimated


def test_an_error_in_a_stream_keeps_the_id_that_the_events_before_it_gave() -> None:
    reader = ADAPTER.stream({}, DRAFT)
    reader.feed(b'data: {"id":"c7","choices":[{"delta":{"content":"a"}}]}\n\n')
    with pytest.raises(BadRequest) as caught:
        reader.feed(b'data: {"error":{"message":"no","status_code":400}}\n\n')
    assert caught.value.request_id == "c7"
