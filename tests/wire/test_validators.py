"""What our adapters write is what others, who know nothing of this project, take for a request."""

from dataclasses import replace
from http import HTTPStatus
from itertools import product
from pathlib import Path
from typing import Final

import pytest

from amrita_fleet.protocols.adapters import adapter_class
from amrita_fleet.protocols.errors import PresetInvalid, ProviderError
from amrita_fleet.protocols.messages import Json, Message, Reply, Role, ToolCall, ToolResult, Turn
from amrita_fleet.protocols.presets import ModelConfig, ModelPreset
from amrita_fleet.protocols.profiles import PROFILES
from amrita_fleet.protocols.providers.base import Adapter, ToolSchema
from amrita_fleet.protocols.providers.openai_chat import OpenAIChat
from amrita_fleet.protocols.thinking import ContentMode, ThinkingConfig

from .bodies import Bodies, Body
from .official import check_conversation, check_types
from .recording import Recording, preset_for, recordings

pytestmark = pytest.mark.slow  # importing what others wrote takes seconds

LOOK: Final = ToolSchema("look", "Look at a city.", {"type": "object", "properties": {"city": {"type": "string"}}})
SHOWN = 5
"""Failures that are told at once."""


def check(body: Body) -> None:
    check_types(body)
    if body.protocol == "openai" and body.sent:
        check_conversation(body)


def refusals() -> tuple[type[Exception], ...]:
    """What the validators raise."""
    from mistral_common.exceptions import MistralCommonException

    return ValueError, AssertionError, MistralCommonException


def answered(reply: Reply) -> tuple[Turn, ...]:
    """A conversation that goes on after an answer."""
    results: list[Turn] = [ToolResult(call.id, call.name, "done") for call in reply.message.calls]
    before = (Message(Role.SYSTEM, "Be brief."), Message(Role.USER, "Go on."), reply.message)
    return (*before, *(results or [Message(Role.USER, "And then?")]))


def read(adapter: Adapter, recording: Recording) -> Reply:
    if recording.status != HTTPStatus.OK:
        raise adapter.refusal(recording.status, recording.headers, recording.body)
    draft = adapter.draft((Message(Role.USER, "Go on."),), (), None)
    if not recording.streamed:
        return adapter.reply(recording.headers, recording.body, draft)
    stream = adapter.stream(recording.headers, draft)
    stream.feed(recording.body)
    return stream.close()


@pytest.mark.parametrize("path", recordings())
def test_a_recorded_answer_goes_back_in_a_request_that_others_take(path: Path) -> None:
    recording = Recording.load(path)
    adapter: Adapter = adapter_class(recording.protocol)(preset_for(recording, "http://127.0.0.1/v1"))
    try:
        reply = read(adapter, recording)
    except ProviderError:
        return  # an error does not go back
    for tools in ((), (LOOK,)):
        check(Body.of(adapter, adapter.draft(answered(reply), tools, None), 4096, sent=True))


CALLS: Final = (
    ToolCall("toolu_01A.long:id/with?odd*characters-and-more-than-forty", "look", '{"city":"Oslo"}'),
    ToolCall("0", "look", "no JSON"),
)
HISTORY: Final[tuple[Turn, ...]] = (
    Message(Role.SYSTEM, "Be brief."),
    Message(Role.USER, "Weather?"),
    Message(Role.ASSISTANT, "", calls=CALLS, reasoning_content="Two cities.", reasoning_signature="c2ln"),
    ToolResult(CALLS[0].id, "look", "rain"),
    ToolResult(CALLS[1].id, "look", "ERROR: the arguments are no JSON object"),
    Message(Role.ASSISTANT, "Rain.", reasoning_content="That is all."),
    Message(Role.USER, "Thank you."),
)


@pytest.mark.parametrize("family", [profile.name for profile in PROFILES])
def test_every_family_is_written_to_in_a_way_that_others_take(family: str) -> None:
    protocol = "anthropic" if family == "anthropic" else "openai"
    for streamed, thinking, mode, budget in product((False, True), (False, True), ContentMode, (None, 2048)):
        try:
            preset = ModelPreset(
                protocol=protocol,
                model="m",
                base_url="http://127.0.0.1/v1",
                config=ModelConfig(stream=streamed, temperature=1.0, top_p=0.9, prompt_cache=True),
                thinking_config=ThinkingConfig(enabled=thinking, content_mode=mode, budget_tokens=budget),
                profile=family,
            )
            adapter: Adapter = adapter_class(protocol)(preset)
        except PresetInvalid:
            continue  # this family takes no such mode
        for turns, tools in product((HISTORY[:2], HISTORY[:5], HISTORY), ((), (LOOK,))):
            check(Body.of(adapter, adapter.draft(turns, tools, None), 4096, sent=True))


@pytest.mark.parametrize(
    ("turns", "fields"),
    [
        pytest.param(HISTORY[:2], {"stop": 5}, id="a field of the wrong type"),
        pytest.param(HISTORY[:2], {"stops": "x"}, id="a field that nobody knows"),
        pytest.param((*HISTORY[:2], *HISTORY[3:5]), {}, id="results of no call"),
        pytest.param(HISTORY[:4], {}, id="a call without its result"),
    ],
)
def test_what_others_do_not_take_is_noticed(turns: tuple[Turn, ...], fields: dict[str, Json]) -> None:
    adapter = OpenAIChat(ModelPreset(model="m", base_url="http://127.0.0.1/v1", extra_body=fields))
    body = Body.of(adapter, adapter.draft(turns, (), None), 4096, sent=True)
    with pytest.raises(refusals()):
        check(replace(body, own=frozenset()))


def test_every_body_of_this_session_is_one_that_others_take(bodies: Bodies) -> None:
    """The last test of a session; alone it has nothing to do."""
    failures: dict[str, Body] = {}
    for body in bodies.kept:
        try:
            check(body)
        except refusals() as error:
            failures.setdefault(f"{type(error).__name__}: {error}"[:400], body)
    told = [f"{body.raw[:500]!r}\n  {why}" for why, body in list(failures.items())[:SHOWN]]
    assert not failures, f"{len(failures)} kinds of bodies are refused, as these:\n" + "\n".join(told)
