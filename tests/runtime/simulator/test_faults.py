"""Each fault over HTTP, in both wire formats, whole and streamed."""

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from amrita_fleet.runtime.simulator.modes import HEADER
from amrita_fleet.runtime.simulator.scenario import parse_scenario
from amrita_fleet.runtime.simulator.server import Simulator

from .client import client_of

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

CALLS = [{"name": "look", "arguments": {"n": n}} for n in (1, 2)]
SCENARIO = {"models": ["m", "m-thinking"], "rules": [{"say": "I look at both of them.", "calls": CALLS}]}
STREAM = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
Opener = Callable[..., Any]


@pytest.fixture(scope="module")
async def simulator(dialogue_of: Opener) -> AsyncIterator[Simulator]:
    # One for each wire format: it counts how often a fault was asked for in the same words.
    async with Simulator(scenarios=[parse_scenario("looking", SCENARIO)]) as running:
        yield running


@pytest.fixture(scope="module")
async def client(simulator: Simulator) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(simulator.base_url) as opened:
        yield opened


def opened(dialogue_of: Opener, model: str) -> Any:  # noqa: ANN401  one of two classes
    dialogue = dialogue_of(model, ("look",))
    dialogue.say("Look.")
    return dialogue


async def ask(client: httpx.AsyncClient, dialogue: Any, *, stream: bool = False, fault: str = "") -> httpx.Response:  # noqa: ANN401
    headers = dialogue.headers | ({HEADER: fault} if fault else {})
    return await client.post(dialogue.path, json=dialogue.body(stream=stream), headers=headers)


async def facts(client: httpx.AsyncClient, dialogue: Any, *, stream: bool, fault: str = "") -> Any:  # noqa: ANN401
    answer = await ask(client, dialogue, stream=stream, fault=fault)
    assert answer.status_code == 200
    return dialogue.assembled(answer.text) if stream else dialogue.facts(answer.json())


async def drain(answer: httpx.Response, into: bytearray) -> None:
    async for chunk in answer.aiter_raw():
        into += chunk


@pytest.mark.parametrize(
    ("fault", "status", "kinds"),
    [
        pytest.param("429=3", 429, ("requests", "rate_limit_error"), id="429"),
        pytest.param("529", 529, ("server_error", "overloaded_error"), id="529"),
        pytest.param("500", 500, ("server_error", "api_error"), id="500"),
    ],
)
async def test_a_refusal_has_the_status_and_shape_of_its_provider_and_ends_when_it_should(
    client: httpx.AsyncClient, dialogue_of: Opener, fault: str, status: int, kinds: tuple[str, str]
) -> None:
    dialogue = opened(dialogue_of, f"m+{fault}*2")
    for stream in (False, True):
        refused = await ask(client, dialogue, stream=stream)
        whole = refused.json()
        assert (refused.status_code, whole["error"]["type"] in kinds) == (status, True)
        assert whole.get("request_id") in {None, refused.headers[dialogue.id_header]}
        assert refused.headers.get("retry-after") == ("3" if status == 429 else None)
    assert [(await ask(client, dialogue, stream=stream)).status_code for stream in (False, True)] == [200, 200]


async def test_a_header_asks_for_faults_as_a_model_name_does(client: httpx.AsyncClient, dialogue_of: Opener) -> None:
    dialogue = opened(dialogue_of, "m")
    answers = [await ask(client, dialogue, fault="529*1") for _ in range(2)]
    assert [answer.status_code for answer in answers] == [529, 200]


async def test_a_fault_that_there_is_not_is_refused(client: httpx.AsyncClient, dialogue_of: Opener) -> None:
    answer = await ask(client, opened(dialogue_of, "m+430"))
    assert answer.status_code == 400
    assert answer.json()["error"]["message"].startswith("The simulator has no fault '430'. It has latency,")


@STREAM
async def test_a_late_answer_is_a_whole_answer(client: httpx.AsyncClient, dialogue_of: Opener, *, stream: bool) -> None:
    late = await facts(client, opened(dialogue_of, "m+latency=0.01"), stream=stream)
    assert late["text"] == "I look at both of them."


@pytest.mark.parametrize("limit", [0, 1, 60])
async def test_a_connection_breaks_after_so_many_bytes(
    client: httpx.AsyncClient, dialogue_of: Opener, limit: int
) -> None:
    dialogue = opened(dialogue_of, f"m+cut={limit}*2")
    for stream in (False, True):
        came = bytearray()
        body = dialogue.body(stream=stream)
        async with client.stream("POST", dialogue.path, json=body, headers=dialogue.headers) as answer:
            with pytest.raises(httpx.RemoteProtocolError):
                await drain(answer, came)
        assert len(came) <= limit
    assert [(await ask(client, dialogue, stream=stream)).status_code for stream in (False, True)] == [200, 200]


@STREAM
@pytest.mark.parametrize("limit", [0, 1, 60])
async def test_a_body_ends_in_peace_after_so_many_bytes(
    client: httpx.AsyncClient, dialogue_of: Opener, limit: int, *, stream: bool
) -> None:
    answer = await ask(client, opened(dialogue_of, f"m+end={limit}"), stream=stream)
    assert (answer.status_code, len(answer.content)) == (200, limit)


@pytest.mark.slow
async def test_a_connection_stays_open_after_the_end_of_a_stream(
    client: httpx.AsyncClient, dialogue_of: Opener
) -> None:
    dialogue = opened(dialogue_of, "m+open")
    last = {"/messages": 'data: {"type": "message_stop"}', "/chat/completions": "data: [DONE]"}[dialogue.path]
    body = dialogue.body(stream=True)
    async with client.stream("POST", dialogue.path, json=body, headers=dialogue.headers, timeout=0.2) as answer:
        lines = answer.aiter_lines()
        async for line in lines:
            if line == last:
                break
        assert await anext(lines) == ""
        with pytest.raises(httpx.ReadTimeout):
            await anext(lines)


async def test_a_stream_has_an_error_in_it_and_no_end(client: httpx.AsyncClient, dialogue_of: Opener) -> None:
    answer = await ask(client, opened(dialogue_of, "m+error=2"), stream=True)
    events = answer.text.strip().split("\n\n")
    failure = json.loads(events[-1].rpartition("data: ")[2])
    assert (answer.status_code, len(events)) == (200, 3)
    assert failure["error"]["type"] in {"server_error", "overloaded_error"}


async def test_a_whole_answer_is_an_error_with_status_200(client: httpx.AsyncClient, dialogue_of: Opener) -> None:
    answer = await ask(client, opened(dialogue_of, "m+error"))
    assert answer.status_code == 200
    assert set(answer.json()) <= {"error", "type", "request_id"}


@STREAM
@pytest.mark.parametrize("model", ["m", "m-thinking"])
@pytest.mark.parametrize(("fault", "reasons"), [("empty", False), ("reasoning-only", True)])
async def test_an_answer_is_empty(
    client: httpx.AsyncClient, dialogue_of: Opener, model: str, fault: str, *, reasons: bool, stream: bool
) -> None:
    found = await facts(client, opened(dialogue_of, f"{model}+{fault}"), stream=stream)
    assert (found["text"], found["calls"], bool(found["reasoning"])) == ("", [], reasons)
    assert found["finish"] in {"stop", "end_turn"}


@STREAM
async def test_a_usage_is_left_out_but_counted(
    client: httpx.AsyncClient, simulator: Simulator, dialogue_of: Opener, *, stream: bool
) -> None:
    before = simulator.totals.answered.completion_tokens
    found = await facts(client, opened(dialogue_of, "m+no-usage"), stream=stream)
    assert found["tokens"] is None
    assert simulator.totals.answered.completion_tokens > before


async def test_calls_come_twice_in_chat_completions(client: httpx.AsyncClient) -> None:
    body = {"model": "m+duplicate", "messages": [{"role": "user", "content": "Look."}], "stream": True}
    stream = (await client.post("/chat/completions", json=body)).text
    chunks = [json.loads(event.removeprefix("data: ")) for event in stream.strip().split("\n\n")[:-1]]
    pieces = [piece for chunk in chunks for piece in chunk["choices"][0]["delta"].get("tool_calls", [])]
    assert [piece["index"] for piece in pieces] == [0, 0, 1, 1]
    assert pieces[0] == pieces[1]
    assert pieces[0]["function"] == {"name": "look", "arguments": '{"n": 1}'}


async def test_a_message_starts_twice_in_messages(client: httpx.AsyncClient) -> None:
    body = {
        "model": "m+duplicate",
        "max_tokens": 99,
        "messages": [{"role": "user", "content": "Look."}],
        "stream": True,
    }
    stream = (await client.post("/messages", json=body, headers={"anthropic-version": "2023-06-01"})).text
    assert stream.count("event: message_start\n") == 2


@pytest.mark.parametrize("fault", ["comments", "crlf", "comments+crlf"])
async def test_comments_and_line_ends_change_nothing_that_is_said(
    client: httpx.AsyncClient, dialogue_of: Opener, fault: str
) -> None:
    plain = await ask(client, opened(dialogue_of, "m-thinking"), stream=True)
    framed = await ask(client, opened(dialogue_of, f"m-thinking+{fault}"), stream=True)
    dialogue = opened(dialogue_of, "m-thinking")
    assert (": keep-alive" in framed.text) == ("comments" in fault)
    assert (framed.text.count("\r\n") == framed.text.count("\n")) == ("crlf" in fault)
    assert without_ids(dialogue.assembled(framed.text)) == without_ids(dialogue.assembled(plain.text))


def without_ids(found: dict[str, Any]) -> dict[str, Any]:
    """The facts apart from what counts requests: the calls' ids and the length of the model's name."""
    return found | {"calls": [call[1:] for call in found["calls"]], "tokens": None}
