"""From what a scenario answers to what goes over the wire: call ids, reasoning, the output cap, the count of tokens."""

import json
from dataclasses import dataclass

from . import seal, tokens
from .conversation import Answer, Request

__all__ = ("Speech", "SpokenCall", "speak")


@dataclass(frozen=True, slots=True)
class SpokenCall:
    """A call as it goes out; `arguments` is JSON text, broken off where the output cap was reached."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Speech:
    """One whole answer.

    Attributes:
        model: Who speaks.
        number: Number of the request it answers, from 1.
        reasoning: None when the model does not think.
        text: May be empty.
        calls: In order.
        cut: The output cap was reached.
        prompt_tokens: Tokens of the request.
        completion_tokens: Tokens of the answer, reasoning included.
        reasoning_tokens: The part of them that is reasoning.
    """

    model: str
    number: int
    reasoning: str | None
    text: str
    calls: tuple[SpokenCall, ...]
    cut: bool
    prompt_tokens: int
    completion_tokens: int
    reasoning_tokens: int


class Allowance:
    """Output tokens: what was used, and what is left of the cap."""

    def __init__(self, cap: int | None) -> None:
        """Allow `cap` tokens; None: as many as there are."""
        self.cap = cap
        self.used = 0
        self.cut = False

    def take(self, text: str) -> str:
        """As much of `text` as is left."""
        taken = text if self.cap is None else tokens.cut(text, self.cap - self.used)
        self.used += tokens.count(taken)
        self.cut = self.cut or taken != text
        return taken


def speak(answer: Answer, request: Request, *, number: int, prompt_tokens: int) -> Speech:
    """Say `answer` to request number `number`, cut where the request's output cap is reached.

    Reasoning comes first, then the text, then the calls, so the cap cuts from the end. A call whose name no longer
    fits is not made.
    """
    allowance = Allowance(request.cap)
    reasoning = allowance.take(reasoning_for(answer, request)) if request.thinking else None
    reasoning_tokens = allowance.used
    text = allowance.take(answer.text)
    calls: list[SpokenCall] = []
    for place, call in enumerate(answer.calls):
        if allowance.take(call.name) != call.name:
            break
        arguments = allowance.take(json.dumps(dict(call.arguments), ensure_ascii=False))
        calls.append(SpokenCall(seal.call_id(reasoning or "", number, place), call.name, arguments))
    return Speech(
        model=request.conversation.model,
        number=number,
        reasoning=reasoning,
        text=text,
        calls=tuple(calls),
        cut=allowance.cut,
        prompt_tokens=prompt_tokens,
        completion_tokens=allowance.used,
        reasoning_tokens=reasoning_tokens,
    )


def reasoning_for(answer: Answer, request: Request) -> str:
    """The scenario's reasoning, or one that says what the model saw and does."""
    if answer.reasoning:
        return answer.reasoning
    last = request.conversation.last
    plan = f"call {', '.join(call.name for call in answer.calls)}" if answer.calls else "answer"
    return f"The last of {len(request.conversation.messages)} messages is from the {last.role}. I {plan} now."
