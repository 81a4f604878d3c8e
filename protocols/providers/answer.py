"""What the answers of all wire formats have in common, once it is read."""

import json
from collections.abc import Mapping
from typing import Final

from ..errors import BadRequest
from ..messages import Finish, Json, Message, ToolCall
from .assembly import identifier, own_extra
from .complaint import is_error
from .lenient import compact, mapping, parse, sound, sound_fields, text
from .refusal import error_in_answer
from .request_id import request_id

__all__ = ("finish", "parse_answer", "read_calls", "size")

SHOWN: Final = 200
"""Bytes of an unreadable answer that an error shows."""

CUT: Final = frozenset({"length", "max_tokens", "model_length", "model_context_window_exceeded"})
FILTERED: Final = frozenset({"content_filter", "safety", "refusal"})


def parse_answer(headers: Mapping[str, str], body: bytes) -> dict[str, Json]:
    """The object in the body of an answer of status 200; empty when it is another value.

    Raises:
        ProviderError: It is no JSON, or an error.
    """
    try:
        answer = parse(body)
    except ValueError:
        shown = " ".join(body[:SHOWN].decode("utf-8", "replace").split())
        sentence = f"The provider's answer is no JSON: {shown}"
        raise BadRequest(sentence=sentence, status=200, request_id=request_id(headers), billed=True) from None
    if is_error(answer):
        raise error_in_answer(headers, answer)
    return mapping(answer)


def read_calls(calls: list[Json], turn: int) -> tuple[ToolCall, ...]:
    """The calls of a message, each with an id that no other call of it has.

    Args:
        calls: As chat completions have them.
        turn: Number of the answer in the conversation, which makes ids of our own unlike those of other answers.
    """
    taken = {identifier(mapping(call).get("id")) for call in calls}
    used: set[str] = set()
    read: list[ToolCall] = []
    for place, call in enumerate(calls):
        fields = mapping(call)
        function = mapping(fields.get("function"))
        own = sound(identifier(fields.get("id")))
        unique = own if own and own not in used else new_id(f"call_{turn}_{place}", taken | used)
        used.add(unique)
        arguments = sound(read_arguments(function.get("arguments")))
        read.append(ToolCall(unique, sound(text(function.get("name"))), arguments, sound_fields(own_extra(fields))))
    return tuple(read)


def new_id(wanted: str, taken: set[str]) -> str:
    """The id, or a longer one when it is taken."""
    return wanted if wanted not in taken else new_id(f"{wanted}_", taken)


def read_arguments(arguments: Json) -> str:
    """Arguments as JSON text; for none at all, in any of the ways seen, an empty object."""
    if not isinstance(arguments, str):
        return "{}" if arguments is None else compact(arguments)
    return "{}" if arguments.strip() in {"", "null"} else arguments


def finish(reason: str, calls: tuple[ToolCall, ...]) -> Finish:
    """Why the model stopped. Whether there are calls decides, unless the answer was cut or filtered."""
    if reason in CUT or any(is_cut(call.arguments) for call in calls):
        return Finish.LENGTH
    if reason in FILTERED:
        return Finish.FILTER
    return Finish.CALLS if calls else Finish.STOP


def is_cut(arguments: str) -> bool:
    """Whether a JSON text ends in the middle: some servers call that a finished call."""
    try:
        parse(arguments)
    except json.JSONDecodeError as error:
        return error.pos >= len(arguments.rstrip()) or error.msg.startswith("Unterminated string")
    except ValueError:
        return False
    return False


def size(message: Message) -> int:
    """Bytes of all that the model wrote."""
    written = [message.content, message.reasoning_content or ""]
    written += [part for call in message.calls for part in (call.name, call.arguments)]
    return sum(len(part.encode()) for part in written)
