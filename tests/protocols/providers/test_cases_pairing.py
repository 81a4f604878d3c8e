"""Calls and their results: faults that users of other programs reported."""

import re
from typing import Any

import pytest

from amrita_fleet.protocols.errors import BadRequest
from amrita_fleet.protocols.messages import Json, Message, Role, ToolCall, ToolResult, Turn
from amrita_fleet.runtime.errors import HistoryInvalid
from amrita_fleet.runtime.step.last_answer import last_request
from amrita_fleet.runtime.step.transcript import Transcript

from .wire_talk import USER, answer_of, call, chat, claude, messages_of, read

pytestmark = pytest.mark.slow

FORMATS = [pytest.param(chat(), id="chat"), pytest.param(claude(), id="messages")]


def pairs(messages: list[Any]) -> list[tuple[list[str], list[str]]]:
    """Of each answer with calls: its ids, and the ids of the results that stand directly after it."""
    found: list[tuple[list[str], list[str]]] = []
    for place, message in enumerate(messages):
        parts: list[Any] = message["content"] if isinstance(message["content"], list) else []
        if ids := [each["id"] for each in message.get("tool_calls", ())]:
            after = messages[place + 1 : place + 1 + len(ids)]
            found.append((ids, [each["tool_call_id"] for each in after if each["role"] == "tool"]))
        elif ids := [each["id"] for each in parts if each["type"] == "tool_use"]:
            after = messages[place + 1]["content"][: len(ids)]
            found.append((ids, [each["tool_use_id"] for each in after if each["type"] == "tool_result"]))
    return found


def conversation(*ids: tuple[str, ...]) -> tuple[Turn, ...]:
    turns: list[Turn] = [USER]
    for each in ids:
        turns.append(Message(Role.ASSISTANT, "", calls=tuple(ToolCall(one, "look", "{}") for one in each)))
        turns += [ToolResult(one, "look", "seen") for one in each]
    return tuple(turns)


def test_a_history_that_is_cut_to_fit_has_no_output_without_its_call() -> None:
    asked_call, _ = call("c1")
    transcript = Transcript.begin("Be brief.").note("q1").reply(Message(Role.ASSISTANT, "", calls=(asked_call,)))
    transcript = transcript.close(("r" * 5000,)).reply(Message(Role.ASSISTANT, "a1")).note("q2")
    for size in (1000, 3000, 9000):
        turns = last_request(transcript, size)
        sent = messages_of(chat(), *turns)
        assert sum(len(ids) for ids, _ in pairs(sent)) == sum(each["role"] == "tool" for each in sent)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_no_cut_falls_between_a_batch_and_its_outputs(count: int) -> None:
    calls = tuple(ToolCall(f"c{number}", "look", "{}") for number in range(count))
    transcript = Transcript.begin("").note("do it").reply(Message(Role.ASSISTANT, "", calls=calls))
    transcript = transcript.close(tuple("x" * 900 for _ in calls)).note("and now")
    for size in range(1000, 6000, 250):
        sent = messages_of(chat(), *last_request(transcript, size))
        assert all(ids == answered for ids, answered in pairs(sent))
        assert sum(len(ids) for ids, _ in pairs(sent)) == sum(each["role"] == "tool" for each in sent)


def test_nothing_can_be_asked_while_a_call_has_no_output() -> None:
    asked_call, _ = call("toolu_9")
    transcript = Transcript.begin("").note("go").reply(Message(Role.ASSISTANT, "Looking.", calls=(asked_call,)))
    with pytest.raises(HistoryInvalid):
        transcript.note("sum it all up")


def test_what_was_cancelled_gets_an_output_before_anything_else() -> None:
    calls = tuple(ToolCall(name, "look", "{}") for name in ("A", "B"))
    transcript = Transcript.begin("").note("go").reply(Message(Role.ASSISTANT, "", calls=calls))
    with pytest.raises(HistoryInvalid):
        transcript.close(("done",))
    turns = transcript.close(("done", "Cancelled: by the user.")).note("never mind, what is 2+2?").turns
    for adapter in (chat(), claude()):
        assert pairs(messages_of(adapter, *turns)) == [(["A", "B"], ["A", "B"])]


@pytest.mark.parametrize("adapter", FORMATS)
def test_ids_that_begin_again_each_round_lose_no_call(adapter: Any) -> None:  # noqa: ANN401
    rounds = (("search:0", "search:1"), ("search:0",))
    found = pairs(messages_of(adapter, *conversation(*rounds)))
    assert [len(ids) for ids, _ in found] == [2, 1]
    assert all(ids == answered for ids, answered in found)


def test_they_are_unique_where_a_provider_wants_them_so() -> None:
    found = pairs(messages_of(claude(), *conversation(("search:0", "search:1"), ("search:0",))))
    ids = [one for ids, _ in found for one in ids]
    assert len(set(ids)) == len(ids) == 3


def test_two_calls_with_one_id_both_run() -> None:
    eval_call: dict[str, Json] = {
        "id": "functions.eval:301",
        "type": "function",
        "function": {"name": "look", "arguments": '{"x":1}'},
    }
    again: Json = {**eval_call, "function": {"name": "look", "arguments": '{"x":2}'}}
    message = read(chat(), answer_of({"content": None, "tool_calls": [eval_call, again]})).message
    ids = [each.id for each in message.calls]
    assert len(set(ids)) == 2
    assert [each.arguments for each in message.calls] == ['{"x":1}', '{"x":2}']
    results = tuple(ToolResult(one, "look", "seen") for one in ids)
    assert pairs(messages_of(chat(), USER, message, *results)) == [(ids, ids)]


@pytest.mark.parametrize(
    "came",
    [
        "call_PTLP8xhu3uwZk4l3nlnrrJha",
        "toolu_bdrk_01ADw53o3uvrGvccVaVYUX4G",
        "search:0",
        "fc_bfb39741-3748-4def-9886-a93fc9c64a90",
    ],
)
@pytest.mark.parametrize(
    ("adapter", "form"),
    [
        pytest.param(chat("mistral"), "[A-Za-z0-9]{9}", id="mistral"),
        pytest.param(chat("openai"), ".{1,40}", id="openai"),
        pytest.param(claude(), "[a-zA-Z0-9_-]+", id="anthropic"),
    ],
)
def test_an_id_of_another_provider_gets_the_form_that_this_one_takes(came: str, adapter: Any, form: str) -> None:  # noqa: ANN401
    turns = conversation((came,), (f"{came}x",))
    first, second = pairs(messages_of(adapter, *turns))
    assert first[0] == first[1]
    assert first[0] != second[0]
    assert all(re.fullmatch(form, one) for one in (*first[0], *second[0]))
    assert pairs(messages_of(adapter, *turns)) == [first, second]
    assert isinstance(turns[1], Message)
    assert turns[1].calls[0].id == came


def test_all_results_of_a_batch_are_one_message_and_notes_come_after_them() -> None:
    turns = (*conversation(("a", "b")), Message(Role.USER, "note from the supervisor"))
    sent = messages_of(claude(), *turns)
    assert [message["role"] for message in sent] == ["user", "assistant", "user"]
    assert [block["type"] for block in sent[2]["content"]] == ["tool_result", "tool_result", "text"]


@pytest.mark.parametrize(("profile", "blank"), [("unknown", None), ("openai", None), ("ollama", "")])
def test_a_message_that_only_calls_has_the_content_its_server_takes(profile: str, blank: str | None) -> None:
    assert messages_of(chat(profile), *conversation(("c1",)))[1]["content"] == blank


def test_it_has_no_text_block_at_all_on_anthropics_wire() -> None:
    assert [each["type"] for each in messages_of(claude(), *conversation(("c1",)))[1]["content"]] == ["tool_use"]


def test_a_refused_content_is_no_passing_fault() -> None:
    found = chat().refusal(400, {}, b"{\"error\":\"Invalid 'content': 'content' field must be a string\"}")
    assert type(found) is BadRequest
    assert not found.retryable
