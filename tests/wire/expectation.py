"""What each recorded exchange means: read from `expectations/`, whose README tells the fields."""

from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from re import fullmatch
from typing import Literal, TypeAlias

import yaml
from pydantic import ConfigDict, TypeAdapter
from pydantic.dataclasses import dataclass

from amrita_fleet.protocols.errors import ContextOverflow, ProviderError
from amrita_fleet.protocols.messages import Finish, Message, Reply, ToolCall, Usage
from amrita_fleet.protocols.providers.lenient import compact, parse

__all__ = ("Answer", "Expectation", "Refusal", "expectations", "seen")

FOLDER = Path(__file__).with_name("expectations")
EXACT = ConfigDict(extra="forbid")
OURS = "ours"


@dataclass(frozen=True, config=EXACT)
class Told:
    """A long text by its marks."""

    begins: str
    ends: str
    length: int
    sha256: str


@dataclass(frozen=True, config=EXACT)
class Call:
    """A tool call; its arguments are any JSON value."""

    id: str
    name: str
    arguments: object


@dataclass(frozen=True, config=EXACT)
class Answer:
    """An exchange that gives a reply."""

    request_id: str
    text: str | Told
    finish: Finish
    usage: tuple[int, int, int, int] | Literal["estimated"]
    reasoning: str | Told | None = None
    calls: tuple[Call, ...] = ()
    kept: tuple[str, ...] = ()


@dataclass(frozen=True, config=EXACT)
class Refusal:
    """An exchange that gives an error."""

    request_id: str
    error: str
    retryable: bool
    says: str
    after: float | None = None
    window: tuple[int | None, int | None] = (None, None)


Expectation: TypeAlias = Answer | Refusal
UNKNOWN = Answer("", "", Finish.STOP, "estimated")


def expectations() -> dict[str, dict[str, Expectation]]:
    """All that is expected, by folder and number."""
    reader = TypeAdapter(dict[str, dict[str, Expectation]])
    found: dict[str, dict[str, Expectation]] = {}
    for path in sorted(FOLDER.glob("*.yaml")):
        family = reader.validate_python(yaml.safe_load(path.read_text(encoding="utf-8")))
        assert found.keys().isdisjoint(family), f"{path.name} tells of a folder that another file tells of"
        found |= family
    return found


def seen(outcome: Reply | ProviderError, wanted: Expectation) -> Expectation:
    """What came, in the words of what is wanted, so that the two can be compared."""
    if isinstance(outcome, ProviderError):
        return refusal_seen(outcome, wanted.says if isinstance(wanted, Refusal) else "")
    return answer_seen(outcome, wanted if isinstance(wanted, Answer) else UNKNOWN)


def refusal_seen(error: ProviderError, says: str) -> Refusal:
    """An error; of its words those that are wanted, where it has them."""
    return Refusal(
        request_id=own(error.request_id),
        error=type(error).__name__,
        retryable=error.retryable,
        says=part(says, str(error)),
        after=error.after,
        window=(error.tokens, error.limit) if isinstance(error, ContextOverflow) else (None, None),
    )


def answer_seen(reply: Reply, wanted: Answer) -> Answer:
    """A reply, with marks and parts where those are wanted."""
    message = reply.message
    reasoning = message.reasoning_content
    return Answer(
        request_id=own(reply.request_id),
        text=marks(message.content, wanted.text),
        finish=reply.finish,
        usage=counts(reply.usage),
        reasoning=None if reasoning is None else marks(reasoning, wanted.reasoning),
        calls=tuple(call_seen(call, wanted.calls[place : place + 1]) for place, call in enumerate(message.calls)),
        kept=tuple(part(mark, kept(message)) for mark in wanted.kept),
    )


def marks(text: str, wanted: str | Told | None) -> str | Told:
    """A text, by its marks where marks are wanted."""
    if not isinstance(wanted, Told):
        return text
    digest = sha256(text.encode()).hexdigest()[: len(wanted.sha256)]
    return Told(text[: len(wanted.begins)], text[-len(wanted.ends) :], len(text), digest)


def call_seen(call: ToolCall, wanted: tuple[Call, ...]) -> Call:
    """A call; for an id of our own any will do, as long as there is one."""
    unnamed = bool(call.id) and any(each.id == OURS for each in wanted)
    return Call(OURS if unnamed else call.id, call.name, parse(call.arguments))


def counts(usage: Usage) -> tuple[int, int, int, int] | Literal["estimated"]:
    """The numbers of a usage; what an estimate says is not part of a recording, but it is never nothing."""
    if usage.estimated and usage.prompt and usage.completion:
        return "estimated"
    return usage.prompt, usage.completion, usage.cached, usage.reasoning


def kept(message: Message) -> str:
    """All that goes back to the provider beside the text."""
    return compact([message.reasoning_signature, message.extra, [asdict(call) for call in message.calls]])


def part(wanted: str, text: str) -> str:
    """What is wanted where the text holds it, else the whole text."""
    return wanted if wanted in text else text


def own(request_id: str) -> str:
    """An id, or that it is one of ours."""
    return OURS if fullmatch(r"local-[0-9a-f]{32}", request_id) else request_id
