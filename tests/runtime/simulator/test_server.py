"""The simulator over HTTP."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from amrita_fleet.runtime.errors import SystemUnavailable
from amrita_fleet.runtime.simulator import tokens
from amrita_fleet.runtime.simulator.errors import ScenarioInvalid
from amrita_fleet.runtime.simulator.faults import Faults
from amrita_fleet.runtime.simulator.scenario import parse_scenario
from amrita_fleet.runtime.simulator.server import Simulator

from .client import client_of

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

ECHO = {"models": ["echo", "echo-thinking"], "rules": [{"when": {"user": "^Say (?P<what>.*)$"}, "say": "{what}"}]}
KEY = "planted-key"


def echoing(*, key: str = "", faults: Faults | None = None) -> Simulator:
    return Simulator(scenarios=[parse_scenario("echo", ECHO)], key=key, faults=faults)


def port_of(simulator: Simulator) -> int:
    return httpx.URL(simulator.base_url).port or 0


def body(text: str = "Say hello", model: str = "echo", **fields: object) -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": text}], **fields}


@pytest.fixture(scope="module")
async def simulator() -> AsyncIterator[Simulator]:
    async with echoing() as running:
        yield running


@pytest.fixture(scope="module")
async def client(simulator: Simulator) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(simulator.base_url) as opened:
        yield opened


async def post(client: httpx.AsyncClient, content: dict[str, Any], **headers: str) -> httpx.Response:
    return await client.post("/chat/completions", json=content, headers=headers)


async def test_a_plain_answer_has_openais_shape(client: httpx.AsyncClient) -> None:
    answer = await post(client, body())
    whole = answer.json()
    assert answer.status_code == 200
    assert whole["object"] == "chat.completion"
    assert whole["choices"] == [
        {"index": 0, "message": {"role": "assistant", "content": "hello"}, "logprobs": None, "finish_reason": "stop"}
    ]


async def test_a_streamed_answer_says_the_same(client: httpx.AsyncClient) -> None:
    words = "one two three four five six seven"
    whole = (await post(client, body(f"Say {words}", "echo-thinking"))).json()
    options = {"stream": True, "stream_options": {"include_usage": True}}
    streamed = await post(client, body(f"Say {words}", "echo-thinking", **options))
    assert streamed.headers["content-type"].startswith("text/event-stream")
    *events, done = streamed.text.strip().split("\n\n")
    chunks = [json.loads(event.removeprefix("data: ")) for event in events]
    deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
    message = whole["choices"][0]["message"]
    assert done == "data: [DONE]"
    assert "".join(delta.get("content") or "" for delta in deltas) == message["content"] == words
    assert "".join(delta.get("reasoning_content", "") for delta in deltas) == message["reasoning_content"]
    assert chunks[-1]["usage"]["completion_tokens"] == whole["usage"]["completion_tokens"]


async def test_each_answer_has_a_request_id_of_its_own(client: httpx.AsyncClient) -> None:
    answers = [await post(client, body()), await post(client, body()), await post(client, body("Sing."))]
    assert len({answer.headers["x-request-id"] for answer in answers}) == 3


async def test_the_usage_counts_the_body_that_came_and_fits_in_its_bytes(client: httpx.AsyncClient) -> None:
    raw = json.dumps(body("Say ö and 日本"), ensure_ascii=False)
    usage = (await client.post("/chat/completions", content=raw.encode())).json()["usage"]
    assert usage["prompt_tokens"] == tokens.count(raw) <= len(raw.encode())
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]


async def test_the_totals_add_up_what_was_answered() -> None:
    keys = {"authorization": f"Bearer {KEY}"}
    async with echoing() as simulator, client_of(simulator.base_url) as client:
        answers = [await post(client, body(), **keys), await post(client, body(model="echo-thinking"))]
        await post(client, body("Sing."))
        shown = await client.get(f"{simulator.base_url.removesuffix('/v1')}/simulator/totals")
    usages = [answer.json()["usage"] for answer in answers]
    totals = shown.json()
    assert totals == simulator.totals.shown()
    assert (totals["requests"], totals["refused"]) == (3, 1)
    assert totals["prompt_tokens"] == sum(usage["prompt_tokens"] for usage in usages)
    assert totals["completion_tokens"] == sum(usage["completion_tokens"] for usage in usages)
    assert totals["total"] == sum(usage["total_tokens"] for usage in usages)
    assert totals["by_model"]["echo-thinking"]["total"] == usages[1]["total_tokens"]
    assert {count["requests"] for count in totals["by_key"].values()} == {1}
    assert KEY not in shown.text


@pytest.mark.parametrize(
    ("content", "status", "code"),
    [
        pytest.param(body(model="gpt-9"), 404, "model_not_found", id="unknown model"),
        pytest.param(body("Sing."), 400, "no_rule_fits", id="no rule"),
        pytest.param(body(colour="red"), 400, "unknown_parameter", id="broken rule"),
    ],
)
async def test_a_refusal_has_openais_shape(
    client: httpx.AsyncClient, content: dict[str, Any], status: int, code: str
) -> None:
    answer = await post(client, content)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["type"]) == (status, code, "invalid_request_error")
    assert set(error) == {"message", "type", "param", "code"}


async def test_an_unknown_path_or_method_is_refused_in_the_same_shape(client: httpx.AsyncClient) -> None:
    lost, wrong = await client.post("/completions"), await client.get("/chat/completions")
    assert (lost.status_code, wrong.status_code) == (404, 405)
    assert lost.json()["error"]["message"] == "Invalid URL (POST /v1/completions)"


async def test_the_models_are_listed(client: httpx.AsyncClient) -> None:
    listed = (await client.get("/models")).json()["data"]
    assert [model["id"] for model in listed] == ["echo", "echo-thinking"]


async def test_a_server_with_a_key_lets_only_that_key_in() -> None:
    async with echoing(key=KEY) as simulator, client_of(simulator.base_url) as client:
        missing, wrong = await post(client, body()), await post(client, body(), authorization="Bearer other")
        right, listed = await post(client, body(), authorization=f"Bearer {KEY}"), await client.get("/models")
    assert [answer.status_code for answer in (missing, wrong, right, listed)] == [401, 401, 200, 401]
    assert wrong.json()["error"]["code"] == "invalid_api_key"
    assert "other" not in wrong.text


async def test_a_busy_server_refuses_by_count_and_says_when_to_come_again() -> None:
    faults = Faults(busy_every=2, retry_after=0.5)
    async with echoing(faults=faults) as simulator, client_of(simulator.base_url) as client:
        answers = [await post(client, body()) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 429, 200, 429]
    assert answers[1].headers["retry-after"] == "0.5"
    assert answers[1].json()["error"]["code"] == "rate_limit_exceeded"


async def test_latency_lets_other_requests_pass() -> None:
    faults = Faults(latency=0.01)
    async with echoing(faults=faults) as simulator, client_of(simulator.base_url) as client:
        answers = await asyncio.gather(*(post(client, body()) for _ in range(20)))
    assert {answer.status_code for answer in answers} == {200}


async def test_a_port_that_is_taken_is_one_clear_error(simulator: Simulator) -> None:
    port = port_of(simulator)
    with pytest.raises(SystemUnavailable, match=rf"port {port} of 127\.0\.0\.1 is taken"):
        async with Simulator(port=port):
            pass


async def test_an_address_that_is_not_ours_is_one_clear_error() -> None:
    with pytest.raises(SystemUnavailable, match=r"192\.0\.2\.1:0 cannot be listened on"):
        async with Simulator(host="192.0.2.1"):
            pass


async def test_the_port_is_free_again_when_the_context_ends() -> None:
    async with Simulator() as simulator:
        port = port_of(simulator)
    with socket.create_server(("127.0.0.1", port)):
        pass


def test_two_scenarios_cannot_have_the_same_model() -> None:
    with pytest.raises(ScenarioInvalid, match="'first' has the model 'echo' too"):
        Simulator(scenarios=[parse_scenario("first", ECHO), parse_scenario("second", ECHO)])
