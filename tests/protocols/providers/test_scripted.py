from typing import Any

import pytest

from amrita_fleet.protocols import codec
from amrita_fleet.protocols.errors import BadRequest, PresetInvalid, ProviderBusy, StreamBroken
from amrita_fleet.protocols.messages import Finish, Json, Message, Reply, Role, ToolCall, Usage
from amrita_fleet.protocols.presets import ModelPreset
from amrita_fleet.protocols.providers.base import Delta, Draft, Watcher
from amrita_fleet.protocols.providers.connection import connect
from amrita_fleet.protocols.providers.script import Move
from amrita_fleet.protocols.providers.scripted import (
    ScriptedProvider,
    call,
    calls,
    fail,
    repeat,
    say,
    scripted,
)

pytestmark = pytest.mark.anyio

NAMELESS: dict[str, Json] = {}


def provider_of(preset: ModelPreset) -> ScriptedProvider:
    provider = connect(preset)
    assert isinstance(provider, ScriptedProvider)
    return provider


async def ask(provider: ScriptedProvider, output: int = 1000, watch: Watcher | None = None) -> Reply:
    return await provider.call(draft_of(provider), output, watch)


def draft_of(provider: ScriptedProvider) -> Draft:
    return provider.draft((Message(Role.USER, "hi"),), (), None)


async def test_moves_are_made_in_order() -> None:
    provider = provider_of(scripted(call("f", a=1), say("yes", reasoning="hm")))
    first, second = [await ask(provider) for _ in range(2)]
    assert first.message.calls == (ToolCall("call_0_0", "f", '{"a":1}'),)
    assert first.finish is Finish.CALLS
    assert (second.message.content, second.message.reasoning_content, second.finish) == ("yes", "hm", Finish.STOP)
    assert first.request_id != second.request_id


@pytest.mark.parametrize("moves", [(), (say("x"),)], ids=["none", "one"])
async def test_a_script_that_is_over_fails_instead_of_saying_something(moves: tuple[Move, ...]) -> None:
    provider = provider_of(scripted(*moves))
    for _ in moves:
        await ask(provider)
    for _ in range(2):
        with pytest.raises(BadRequest, match="no more moves"):
            await ask(provider)


async def test_several_calls_stand_in_one_reply() -> None:
    reply = await ask(provider_of(scripted(calls(call("f", a=1), call("g")))))
    assert [(each.id, each.name, each.arguments) for each in reply.message.calls] == [
        ("call_0_0", "f", '{"a":1}'),
        ("call_0_1", "g", "{}"),
    ]


async def test_arguments_may_be_a_text_that_no_model_should_send() -> None:
    reply = await ask(provider_of(scripted({"calls": [{"name": "f", "arguments": "{no"}], "say": "x"})))
    assert (reply.message.content, reply.message.calls[0].arguments) == ("x", "{no")


async def test_a_move_may_fail() -> None:
    provider = provider_of(scripted(fail("ProviderBusy", sentence="later", after=2.0), say("yes")))
    with pytest.raises(ProviderBusy, match="later") as caught:
        await ask(provider)
    assert caught.value.after == 2.0
    assert (await ask(provider)).message.content == "yes"


async def test_the_last_move_may_be_repeated_for_ever() -> None:
    provider = provider_of(scripted(say("a"), repeat(call("f"))))
    replies = [await ask(provider) for _ in range(4)]
    assert [len(reply.message.calls) for reply in replies] == [0, 1, 1, 1]


async def test_usage_follows_from_the_bytes() -> None:
    provider = provider_of(scripted(say("x" * 40)))
    usage = (await ask(provider, output=99)).usage
    assert usage == Usage(len(draft_of(provider).body(99)) // 4 + 1, 11)


async def test_a_move_may_name_its_usage_and_finish() -> None:
    reply = await ask(provider_of(scripted(say("x", usage={"prompt": 5, "completion": 6}, finish="length"))))
    assert (reply.usage, reply.finish) == (Usage(5, 6), Finish.LENGTH)


@pytest.mark.parametrize("output", [1, 2, 9, 10])
async def test_an_answer_longer_than_its_cap_is_cut(output: int) -> None:
    reply = await ask(provider_of(scripted(say("é" * 30, reasoning="r" * 9))), output)
    assert (reply.usage.completion, reply.finish) == (output, Finish.LENGTH)
    kept = (reply.message.reasoning_content or "") + reply.message.content
    assert len(kept.encode()) <= 4 * (output - 1)


async def test_calls_that_do_not_fit_are_lost_and_never_half_made() -> None:
    reply = await ask(provider_of(scripted(call("f", text="x" * 100))), output=5)
    assert (reply.message.calls, reply.finish) == ((), Finish.LENGTH)


async def test_what_is_said_can_be_watched() -> None:
    seen: list[Delta] = []
    await ask(provider_of(scripted(say("yes", reasoning="hm"))), watch=seen.append)
    await ask(provider_of(scripted(call("f"))), watch=seen.append)
    assert seen == [Delta("hm", reasoning=True), Delta("yes")]


async def test_every_request_is_kept_the_failed_ones_too() -> None:
    provider = provider_of(scripted(fail("StreamBroken"), say("x")))
    with pytest.raises(StreamBroken, match="The script says StreamBroken"):
        await ask(provider)
    await ask(provider)
    assert [draft.turns[-1] for draft in provider.requests] == [Message(Role.USER, "hi")] * 2
    assert provider.requests[0].head == b'{"model":"scripted","messages":['
    await provider.aclose()


@pytest.mark.parametrize(
    ("move", "sentence"),
    [
        ("hello", r"scripted takes moves, as in scripted\(.*, not 'hello'"),
        ({"sy": "hello"}, r"script\[0\]: a move has one of the fields say"),
    ],
)
def test_what_is_no_move_is_refused_where_the_script_is_written(move: Any, sentence: str) -> None:  # noqa: ANN401
    with pytest.raises(PresetInvalid, match=sentence):
        scripted(move)


def test_a_scripted_preset_is_plain_data() -> None:
    preset = scripted(say("x"), repeat(calls(call("f"), call("g"))), model="other")
    assert (preset.model, preset.protocol) == ("other", "scripted")
    codec.encode(dict(preset.extra_body))


@pytest.mark.parametrize(
    ("script", "where"),
    [
        pytest.param({"say": "x"}, "script: a script is a list", id="no list"),
        pytest.param(["x"], r"script\[0\]: a move has one of", id="no object"),
        pytest.param([{"say": "x", "tell": 1}], r"script\[0\]: no field 'tell'", id="unknown field"),
        pytest.param([{"say": "x"}, {"calls": [NAMELESS]}], r"script\[1\].calls\[0\]: a call has a name", id="no name"),
        pytest.param([{"fail": "Oops"}], r"script\[0\]: fail names one of", id="unknown error"),
        pytest.param([{"fail": "FleetError"}], r"script\[0\]: fail names one of", id="no provider error"),
        pytest.param([{"fail": "StreamBroken", "after": "x"}], r"script\[0\]: after is a number", id="after"),
        pytest.param([{"say": "x", "finish": "end"}], r"script\[0\]: finish is one of", id="finish"),
        pytest.param([{"say": "x", "usage": {"total": 1}}], r"script\[0\].usage: no field 'total'", id="usage"),
        pytest.param([{"repeat": {"say": "x"}}, {"say": "y"}], r"script\[0\]: repeat is for ever", id="not last"),
        pytest.param([{"repeat": {"repeat": {"say": "x"}}}], r"script\[0\].repeat: repeat is", id="twice"),
    ],
)
def test_a_script_that_is_none_is_refused_when_it_is_connected(script: Json, where: str) -> None:
    preset = ModelPreset(model="m", protocol="scripted", extra_body={"script": script})
    with pytest.raises(PresetInvalid, match=where):
        connect(preset)
