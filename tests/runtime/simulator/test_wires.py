"""Both wire formats over HTTP: whole and streamed answers say the same, and refusals have the provider's shape."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.runtime.simulator.conversation import Answer, Call
from amrita_fleet.runtime.simulator.scenario import parse_scenario
from amrita_fleet.runtime.simulator.server import Simulator
from amrita_fleet.runtime.simulator.speech import speak

from .client import client_of

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

CALLS = [{"name": "look", "arguments": {"n": n, "words": "öäü" * 20}} for n in (1, 2)]
RULES = [{"when": {"last_role": "user"}, "say": "I look at both of them.", "calls": CALLS}, {"say": "I saw both."}]
SCENARIO = {"models": ["m", "m-thinking"], "rules": RULES}
KEY = "planted-key"
VERSION = {"anthropic-version": "2023-06-01"}
Opener = Callable[..., Any]


def looking() -> Simulator:
    return Simulator(scenarios=[parse_scenario("looking", SCENARIO)], key=KEY)


@pytest.fixture(scope="module")
async def simulator() -> AsyncIterator[Simulator]:
    async with looking() as running:
        yield running


@pytest.fixture(scope="module")
async def client(simulator: Simulator) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(simulator.base_url) as opened:
        yield opened


@pytest.mark.parametrize("model", ["m", "m-thinking"])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_a_tool_loop_comes_to_its_end(
    client: httpx.AsyncClient, simulator: Simulator, dialogue_of: Opener, model: str, *, stream: bool
) -> None:
    dialogue = dialogue_of(model, ("look",), KEY)
    dialogue.say("Look.")
    refused = simulator.totals.refused
    texts: list[str] = []
    for _ in range(2):
        whole = (await client.post(dialogue.path, json=dialogue.body(), headers=dialogue.headers)).json()
        if stream:
            sent = await client.post(dialogue.path, json=dialogue.body(stream=True), headers=dialogue.headers)
            assert sent.headers["content-type"].startswith("text/event-stream")
            said, streamed = dialogue.facts(whole), dialogue.assembled(sent.text)
            assert {**streamed, "calls": 0, "tokens": 0} == {**said, "calls": 0, "tokens": 0}
            assert [call[1:] for call in streamed["calls"]] == [call[1:] for call in said["calls"]]
            assert streamed["tokens"][1] == said["tokens"][1]
        facts = dialogue.hear(whole)
        texts.append(facts["text"])
        assert bool(facts["reasoning"]) == ("thinking" in model)
        dialogue.give({name: "seen" for name, _, _ in facts["calls"]})
    assert texts == ["I look at both of them.", "I saw both."]
    assert simulator.totals.refused == refused


async def test_both_formats_are_counted_together() -> None:
    message = {"model": "m", "messages": [{"role": "user", "content": "Look."}]}
    async with looking() as simulator, client_of(simulator.base_url) as client:
        chat = await client.post("/chat/completions", json=message, headers={"authorization": f"Bearer {KEY}"})
        talk = await client.post("/messages", json={**message, "max_tokens": 99}, headers={**VERSION, "x-api-key": KEY})
    count = simulator.totals.by_model["m"]
    assert count.requests == simulator.totals.answered.requests == 2
    assert len(simulator.totals.by_key) == 1
    usages = chat.json()["usage"], talk.json()["usage"]
    assert count.prompt_tokens == usages[0]["prompt_tokens"] + usages[1]["input_tokens"]
    assert count.completion_tokens == usages[0]["completion_tokens"] + usages[1]["output_tokens"]


@pytest.mark.parametrize(
    ("headers", "fields", "status", "kind", "message"),
    [
        pytest.param({}, {}, 401, "authentication_error", "x-api-key header is required", id="no key"),
        pytest.param({"x-api-key": "other"}, {}, 401, "authentication_error", "invalid x-api-key", id="wrong key"),
        pytest.param(
            {"x-api-key": KEY, "anthropic-version": ""},
            {},
            400,
            "invalid_request_error",
            "anthropic-version: header is required",
            id="no version",
        ),
        pytest.param({"x-api-key": KEY}, {"model": "m9"}, 404, "not_found_error", "model: m9", id="unknown model"),
        pytest.param(
            {"x-api-key": KEY}, {"max_tokens": None}, 400, "invalid_request_error", "max_tokens: Input", id="no cap"
        ),
    ],
)
async def test_messages_are_refused_in_anthropics_shape(
    client: httpx.AsyncClient, headers: dict[str, str], fields: dict[str, Any], status: int, kind: str, message: str
) -> None:
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Look."}], **fields}
    answer = await client.post("/messages", json=body, headers=VERSION | headers)
    whole = answer.json()
    assert (answer.status_code, whole["type"], whole["error"]["type"]) == (status, "error", kind)
    assert whole["error"]["message"].startswith(message)
    assert whole["request_id"] == answer.headers["request-id"]


async def test_a_body_that_is_no_json_is_refused_in_both_shapes(client: httpx.AsyncClient, dialogue_of: Opener) -> None:
    dialogue = dialogue_of("m", key=KEY)
    answer = await client.post(dialogue.path, content=b"{", headers=dialogue.headers)
    assert (answer.status_code, answer.json()["error"]["type"]) == (400, "invalid_request_error")


async def test_models_and_lost_paths_answer_in_the_shape_of_the_client(client: httpx.AsyncClient) -> None:
    headers = {**VERSION, "x-api-key": KEY}
    page = (await client.get("/models", headers=headers)).json()
    lost = (await client.post("/nowhere", headers=headers)).json()
    assert [model["id"] for model in page["data"]] == ["m", "m-thinking"]
    assert (page["has_more"], page["first_id"], page["last_id"]) == (False, "m", "m-thinking")
    assert (lost["type"], lost["error"]["message"]) == ("error", "Invalid URL (POST /v1/nowhere)")


@given(
    model=st.sampled_from(["m", "m-thinking"]),
    rounds=st.lists(st.tuples(st.text(), st.integers(0, 3), st.booleans(), st.none() | st.integers(1, 40)), max_size=8),
    data=st.data(),
)
def test_a_conversation_of_the_simulators_own_answers_is_never_refused(
    dialogue_of: Opener, model: str, rounds: list[tuple[str, int, bool, int | None]], data: st.DataObject
) -> None:
    dialogue = dialogue_of(model, ("look",))
    dialogue.instruct("You look.")
    dialogue.say("Look.")
    for number, (text, calls, note, cap) in enumerate(rounds, 1):
        stream = data.draw(st.booleans())
        asked = dialogue.wire.read(dialogue.body(stream=stream, **({"max_tokens": cap} if cap else {})))
        answer = Answer(text, tuple(Call("look", {"n": n}) for n in range(calls)))
        speech = speak(answer, asked, number=number, prompt_tokens=0)
        facts = dialogue.hear(dialogue.wire.whole(speech, 0, {}))
        outputs = {name: data.draw(st.text(max_size=5)) for name, _, _ in facts["calls"]}
        if outputs:
            dialogue.give(outputs)
        if note or not outputs:
            dialogue.say("A note.")
    assert dialogue.wire.read(dialogue.body()).conversation.model == model
