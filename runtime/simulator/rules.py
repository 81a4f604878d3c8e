"""What a strict provider demands of the order of messages.

Rules that providers do not share are all enforced, each in the words of one that has it: whoever satisfies them here
is refused by none of them.

Source: OpenAI API, error texts of chat completions; DeepSeek API guide, "Thinking Mode".
"""

from collections.abc import Sequence

from . import seal
from .conversation import Said
from .errors import Refused

__all__ = ("check_pairs", "check_reasoning", "is_thinking")

REASONING_MISSING = "The reasoning_content in the thinking mode must be passed back to the API."
ORPHAN = "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
UNANSWERED = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
    "The following tool_call_ids did not have response messages: "
)


def is_thinking(model: str) -> bool:
    """Whether the model of this name reasons before it answers."""
    return "thinking" in model


def check_pairs(messages: Sequence[Said]) -> None:
    """Each call's output stands directly after the calls, and each output answers a call.

    Ids are compared within one batch only: providers use them again in later answers.
    """
    batch: tuple[str, ...] = ()
    awaited: list[str] = []
    for place, said in enumerate(messages):
        if said.role == "tool":
            check_output(said, place, batch, awaited)
            awaited.remove(said.call_id)
        else:
            check_answered(awaited, place)
            batch = tuple(call.id for call in said.calls)
            awaited = list(batch)
    check_answered(awaited, len(messages))


def check_output(said: Said, place: int, batch: Sequence[str], awaited: Sequence[str]) -> None:
    """A tool message answers a call of the batch that is open, and no other did."""
    if not batch:
        raise Refused(message=ORPHAN, param=f"messages[{place}].role")
    path = f"messages[{place}].tool_call_id"
    if said.call_id not in batch:
        message = (
            f"Invalid parameter: 'tool_call_id' of '{said.call_id}' not found in 'tool_calls' of previous message."
        )
        raise Refused(message=message, param=path)
    if said.call_id not in awaited:
        message = f"Invalid parameter: Duplicate value for 'tool_call_id' of '{said.call_id}'."
        raise Refused(message=message, param=path)


def check_answered(awaited: Sequence[str], place: int) -> None:
    """No call is without its output when another message follows, or when the request ends."""
    if awaited:
        raise Refused(message=UNANSWERED + ", ".join(awaited), param=f"messages[{place}].role")


def check_reasoning(messages: Sequence[Said]) -> None:
    """In thinking mode each assistant message carries its reasoning, unchanged where the simulator gave it."""
    for place, said in enumerate(messages):
        if said.role != "assistant":
            continue
        reasoning = said.reasoning
        if reasoning is None or any(seal.broken(call.id, reasoning) for call in said.calls):
            raise Refused(message=REASONING_MISSING, param=f"messages[{place}].reasoning_content")
