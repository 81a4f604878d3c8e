"""Streamed answers: faults that users of other programs reported."""

import pytest

from amrita_fleet.protocols.errors import BadRequest, ProviderError, ProviderOverloaded, StreamBroken
from amrita_fleet.protocols.messages import Finish, Json

from .wire_talk import answer_of, chat, claude, draft_of, hear, read, sse

pytestmark = pytest.mark.slow

DONE = "data: [DONE]\n\n"
END: Json = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}


def piece(identifier: str | None, name: str | None, arguments: str, index: int = 0) -> Json:
    call: Json = {"index": index, "id": identifier, "function": {"name": name, "arguments": arguments}}
    return {"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}


def called(*events: Json) -> list[tuple[str, str]]:
    return [(each.name, each.arguments) for each in hear(chat(), sse(*events, END) + DONE).message.calls]


def says(text: str, reason: Json = None) -> Json:
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": reason}]}


class TestCalls:
    def test_parallel_calls_that_all_have_index_0_are_told_apart_by_their_ids(self) -> None:
        first, second = piece("c1", "add", '{"t":"a"}'), piece("c2", "add", '{"t":"b"}')
        assert called(first, second) == [("add", '{"t":"a"}'), ("add", '{"t":"b"}')]

    def test_the_same_whole_call_twice_is_one_call(self) -> None:
        assert called(*[piece("tk85", "weather", "{}")] * 2) == [("weather", "{}")]

    def test_a_name_that_comes_with_every_piece_is_said_once(self) -> None:
        pieces = [piece("c1", "read_file", part) for part in ("", '{"p":', '"a"}')]
        assert called(*pieces) == [("read_file", '{"p":"a"}')]

    def test_a_name_that_comes_in_pieces_is_put_together(self) -> None:
        assert called(piece("c1", "edit_ex", ""), piece(None, "isting_file", "{}")) == [("edit_existing_file", "{}")]

    def test_calls_that_never_get_an_id_are_given_one(self) -> None:
        reply = hear(chat(), sse(piece("", "now", "{}"), piece("", "then", "{}", 1), END) + DONE)
        ids = [each.id for each in reply.message.calls]
        assert all(ids)
        assert len(set(ids)) == 2
        bare: Json = {"function": {"name": "now", "arguments": "{}"}}
        assert read(chat(), answer_of({"content": None, "tool_calls": [bare]})).message.calls[0].id

    @pytest.mark.parametrize("reason", ["stop", "", "eos", "other", "unknown", None])
    def test_calls_count_whatever_reason_is_given(self, reason: Json) -> None:
        end: Json = {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}
        reply = hear(chat(), sse(says("Let me see."), piece("a", "look", "{}"), end) + DONE)
        assert (reply.finish, reply.message.content, len(reply.message.calls)) == (Finish.CALLS, "Let me see.", 1)

    @pytest.mark.parametrize(("reason", "finish"), [("length", Finish.LENGTH), ("content_filter", Finish.FILTER)])
    def test_but_a_cut_or_a_filter_counts_more(self, reason: str, finish: Finish) -> None:
        end: Json = {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}
        assert hear(chat(), sse(piece("a", "look", "{}"), end) + DONE).finish is finish


class TestFraming:
    def test_comments_are_passed_over(self) -> None:
        raw = f": PROCESSING\n\n: ping\n\nid: 7\n{sse(says('hi', 'stop'))}: ping\n\n{DONE}"
        assert hear(chat(), raw).message.content == "hi"

    def test_the_space_after_the_colon_may_be_missing(self) -> None:
        usage: Json = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        last: Json = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage}
        raw = (sse(says("hi"), last) + DONE).replace("data: ", "data:")
        reply = hear(chat(), f"event:message\n{raw}")
        assert (reply.message.content, reply.usage.total, reply.usage.estimated) == ("hi", 2, False)

    @pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
    def test_lines_end_in_any_way_and_may_be_cut_at_every_byte(self, ending: str) -> None:
        raw = 'data: {"choices":[{"index":0,\ndata: "delta":{"content":"x"},"finish_reason":"stop"}]}\n\n' + DONE
        body = raw.replace("\n", ending).encode()
        for cut in range(len(body) + 1):
            reader = chat().stream({}, draft_of(chat()))
            reader.feed(body[:cut])
            reader.feed(body[cut:])
            assert reader.close().message.content == "x"

    def test_chunks_without_choices_may_stand_anywhere(self) -> None:
        empty: Json = {"choices": [], "prompt_filter_results": [{"prompt_index": 0}]}
        null: Json = {"choices": [{"index": 0, "delta": None}]}
        usage: Json = {"usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}}
        raw = sse(empty, says("hi"), {"choices": []}, {"choices": None}, null, says("", "stop"), usage)
        reply = hear(chat(), raw + DONE)
        assert (reply.message.content, reply.usage.prompt, reply.usage.completion) == ("hi", 3, 1)


class TestEnds:
    @pytest.mark.parametrize(
        ("error", "kind"),
        [
            ({"message": "upstream", "code": 502}, ProviderOverloaded),
            ({"message": "no such field", "type": "invalid_request_error"}, BadRequest),
        ],
    )
    def test_an_error_in_the_stream_is_never_an_answer(self, error: Json, kind: type[ProviderError]) -> None:
        event: Json = {"error": error, "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}]}
        with pytest.raises(kind):
            hear(chat(), sse(says("half"), event))

    def test_nor_is_one_on_anthropics_wire(self) -> None:
        start: Json = {"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 5}}}
        event: Json = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
        with pytest.raises(ProviderOverloaded, match="Overloaded") as caught:
            hear(claude(), sse(start, event))
        assert (caught.value.retryable, caught.value.billed) == (True, True)

    @pytest.mark.parametrize("last", [says("and"), piece("c1", "look", '{"path":"a')], ids=["text", "arguments"])
    def test_a_stream_that_ends_early_is_broken(self, last: Json) -> None:
        with pytest.raises(StreamBroken) as caught:
            hear(chat(), sse(says("half"), last))
        assert caught.value.retryable

    @pytest.mark.parametrize(
        "raw",
        [sse(says("a", "stop")), sse(says("a", "stop")) + DONE, sse(says("a")) + DONE],
        ids=["reason", "both", "mark"],
    )
    def test_a_reason_or_the_mark_of_the_end_is_enough(self, raw: str) -> None:
        assert hear(chat(), raw).message.content == "a"

    def test_nothing_is_read_after_the_mark(self) -> None:
        reader = chat().stream({}, draft_of(chat()))
        reader.feed((sse(says("a", "stop")) + DONE).encode())
        assert reader.done
        assert reader.feed(sse(says("b")).encode()) == ()
        assert reader.close().message.content == "a"


class TestEmptyAnswers:
    def test_an_empty_answer_is_a_reply_with_an_id_to_quote(self) -> None:
        reply = read(chat(), answer_of({"content": "", "tool_calls": None}), **{"x-ds-trace-id": "d1"})
        assert (reply.message.content, reply.message.calls, reply.finish) == ("", (), Finish.STOP)
        assert reply.request_id == "d1"
        empty = read(claude(), {"id": "m1", "content": [], "stop_reason": "end_turn"})
        assert (empty.message.content, empty.finish, empty.request_id) == ("", Finish.STOP, "m1")

    def test_reasoning_alone_is_kept_and_never_shown_as_the_answer(self) -> None:
        reply = read(chat(), answer_of({"content": "", "reasoning_content": "It must be 12."}))
        assert (reply.message.content, reply.message.reasoning_content) == ("", "It must be 12.")
