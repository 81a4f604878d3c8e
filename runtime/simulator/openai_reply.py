"""An answer in the shape of OpenAI's chat completions, whole or as server-sent events."""

import json
from collections.abc import Iterator, Mapping

from ...protocols.messages import Json
from .errors import Refused
from .pieces import pieces
from .speech import Speech, SpokenCall

__all__ = ("completion", "events", "failure", "models", "refusal")

Fields = dict[str, Json]


def completion(speech: Speech, *, created: int, counted: bool = True) -> Fields:
    """The whole answer as one object; `created` is in Unix seconds."""
    message: Fields = {"role": "assistant", "content": None if speech.calls and not speech.text else speech.text}
    if speech.calls:
        message["tool_calls"] = [whole_call(call) for call in speech.calls]
    if speech.reasoning is not None:
        message["reasoning_content"] = speech.reasoning
    choice: Fields = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish_reason(speech)}
    whole: Fields = {**head(speech, "chat.completion", created), "choices": [choice]}
    return {**whole, "usage": usage(speech)} if counted else whole


def events(speech: Speech, *, created: int, include_usage: bool, twice: bool = False) -> Iterator[str]:
    """The answer as server-sent events, `[DONE]` included.

    Args:
        speech: The answer.
        created: Unix seconds.
        include_usage: One more chunk holds the usage.
        twice: Each call comes whole, and again, as from some providers.
    """
    top = head(speech, "chat.completion.chunk", created)
    if include_usage:
        top["usage"] = None
    for delta in deltas(speech, twice=twice):
        yield event({**top, "choices": [choice(delta, None)]})
    yield event({**top, "choices": [choice({}, finish_reason(speech))]})
    if include_usage:
        yield event({**top, "choices": [], "usage": usage(speech)})
    yield "data: [DONE]\n\n"


def deltas(speech: Speech, *, twice: bool) -> Iterator[Fields]:
    """The pieces of the message: the role, the reasoning, the text, the calls."""
    yield {"role": "assistant", "content": None if speech.calls or speech.reasoning else ""}
    for piece in pieces(speech.reasoning or ""):
        yield {"reasoning_content": piece}
    for piece in pieces(speech.text):
        yield {"content": piece}
    for place, call in enumerate(speech.calls):
        for part in [whole_call(call)] * 2 if twice else call_parts(call):
            yield {"tool_calls": [{"index": place, **part}]}


def call_parts(call: SpokenCall) -> Iterator[Fields]:
    """A call's head, then its arguments in pieces."""
    yield {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}
    for piece in pieces(call.arguments):
        yield {"function": {"arguments": piece}}


def failure(refused: Refused) -> str:
    """The event that says a stream has failed."""
    return event(refusal(refused))


def refusal(refused: Refused) -> Fields:
    """The body of an error."""
    facts: Fields = {
        "message": refused.message,
        "type": refused.kind,
        "param": refused.param,
        "code": refused.code,
    }
    return {"error": facts}


def models(names: tuple[str, ...]) -> Fields:
    """The list of models."""
    listed: list[Json] = [{"id": name, "object": "model", "created": 0, "owned_by": "simulator"} for name in names]
    return {"object": "list", "data": listed}


def head(speech: Speech, kind: str, created: int) -> Fields:
    """What each object of an answer begins with."""
    return {"id": f"chatcmpl-{speech.number}", "object": kind, "created": created, "model": speech.model}


def choice(delta: Fields, finish: str | None) -> Fields:
    """The one choice of a chunk."""
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}


def whole_call(call: SpokenCall) -> Fields:
    """A call in a whole message."""
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def finish_reason(speech: Speech) -> str:
    """Why the model stopped."""
    if speech.cut:
        return "length"
    return "tool_calls" if speech.calls else "stop"


def usage(speech: Speech) -> Fields:
    """The count of tokens."""
    return {
        "prompt_tokens": speech.prompt_tokens,
        "completion_tokens": speech.completion_tokens,
        "total_tokens": speech.prompt_tokens + speech.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": speech.reasoning_tokens},
    }


def event(fields: Mapping[str, Json]) -> str:
    """One server-sent event."""
    return f"data: {json.dumps(fields, ensure_ascii=False)}\n\n"
