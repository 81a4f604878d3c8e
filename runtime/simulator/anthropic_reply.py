"""An answer in the shape of Anthropic's Messages API, whole or as server-sent events."""

import json
from collections.abc import Iterator

from ...protocols.messages import Json
from . import seal
from .errors import Refused
from .pieces import pieces
from .speech import Speech, SpokenCall

__all__ = ("events", "failure", "message", "models", "refusal")

Fields = dict[str, Json]


def message(speech: Speech, *, usage: bool = True) -> Fields:
    """The whole answer as one object."""
    content: list[Json] = [*thoughts(speech), *texts(speech), *(use(call) for call in speech.calls)]
    spent = counts(speech, speech.completion_tokens) if usage else {}
    return {**head(speech), "content": content, "stop_reason": stop_reason(speech), **spent}


def events(speech: Speech, *, usage: bool = True, twice: bool = False) -> Iterator[str]:
    """The answer as server-sent events; with `twice`, `message_start` comes twice, as was once seen."""
    started: Fields = {**head(speech), **(counts(speech, 1) if usage else {})}
    for _ in range(2 if twice else 1):
        yield event({"type": "message_start", "message": started})
    yield event({"type": "ping"})
    for index, (opening, deltas) in enumerate(blocks(speech)):
        yield event({"type": "content_block_start", "index": index, "content_block": opening})
        for delta in deltas:
            yield event({"type": "content_block_delta", "index": index, "delta": delta})
        yield event({"type": "content_block_stop", "index": index})
    ended: Fields = {"stop_reason": stop_reason(speech), "stop_sequence": None}
    spent = counts(speech, speech.completion_tokens) if usage else {}
    yield event({"type": "message_delta", "delta": ended, **spent})
    yield event({"type": "message_stop"})


def blocks(speech: Speech) -> Iterator[tuple[Fields, list[Fields]]]:
    """Of each block how it starts, and the deltas that fill it."""
    for block in thoughts(speech):
        signed: Fields = {"type": "signature_delta", "signature": block["signature"]}
        filled = deltas("thinking_delta", "thinking", speech.reasoning or "")
        yield {**block, "thinking": "", "signature": ""}, [*filled, signed]
    for block in texts(speech):
        yield {**block, "text": ""}, deltas("text_delta", "text", speech.text)
    for call in speech.calls:
        yield {**use(call), "input": {}}, deltas("input_json_delta", "partial_json", call.arguments)


def deltas(kind: str, name: str, text: str) -> list[Fields]:
    """The deltas of this kind that bring `text` in their field `name`."""
    return [{"type": kind, name: piece} for piece in pieces(text)]


def thoughts(speech: Speech) -> list[Fields]:
    """The thinking block, if the model thought."""
    if speech.reasoning is None:
        return []
    return [{"type": "thinking", "thinking": speech.reasoning, "signature": seal.signature(speech.reasoning)}]


def texts(speech: Speech) -> list[Fields]:
    """The text block, if there is a text: an empty one would be refused when it comes back."""
    return [{"type": "text", "text": speech.text}] if speech.text else []


def use(call: SpokenCall) -> Fields:
    """A call; one whose arguments are broken off has none."""
    try:
        arguments: Json = json.loads(call.arguments)
    except ValueError:
        arguments = {}
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": arguments}


def refusal(refused: Refused, request_id: str) -> Fields:
    """The body of an error."""
    return {**failed(refused), "request_id": request_id}


def failure(refused: Refused) -> str:
    """The event that says a stream has failed."""
    return event(failed(refused))


def failed(refused: Refused) -> Fields:
    """An error object."""
    return {"type": "error", "error": {"type": refused.kind, "message": refused.message}}


def models(names: tuple[str, ...]) -> Fields:
    """The list of models."""
    created = "1970-01-01T00:00:00Z"
    listed: list[Json] = [{"type": "model", "id": name, "display_name": name, "created_at": created} for name in names]
    return {"data": listed, "has_more": False, "first_id": names[0], "last_id": names[-1]}


def head(speech: Speech) -> Fields:
    """What an answer begins with."""
    return {
        "id": f"msg_{speech.number}",
        "type": "message",
        "role": "assistant",
        "model": speech.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


def stop_reason(speech: Speech) -> str:
    """Why the model stopped."""
    if speech.cut:
        return "max_tokens"
    return "tool_use" if speech.calls else "end_turn"


def counts(speech: Speech, output_tokens: int) -> Fields:
    """The count of tokens, as far as the output has come."""
    usage: Fields = {
        "input_tokens": speech.prompt_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": output_tokens,
    }
    return {"usage": usage}


def event(fields: Fields) -> str:
    """One server-sent event, named after its type."""
    return f"event: {fields['type']}\ndata: {json.dumps(fields, ensure_ascii=False)}\n\n"
