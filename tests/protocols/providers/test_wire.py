"""Recorded exchanges of real providers, where they lie beside this repository: none of them may surprise the reader."""

import json
import random
from dataclasses import dataclass
from pathlib import Path

import pytest

from amrita_fleet.protocols.errors import FleetError, ProviderError
from amrita_fleet.protocols.messages import Json, Message, Reply, Role
from amrita_fleet.protocols.presets import ModelPreset
from amrita_fleet.protocols.providers.lenient import mapping, text
from amrita_fleet.protocols.providers.openai_chat import OpenAIChat

WIRE = Path(__file__).resolve().parents[4] / "shared" / "wire"
OTHER_FORMATS = ("anthropic-", "gemini-429", "cohere-")
ADAPTER = OpenAIChat(ModelPreset(model="m", base_url="http://127.0.0.1/v1"))
DRAFT = ADAPTER.draft((Message(Role.USER, "hi"),), (), None)


@dataclass(frozen=True)
class Recording:
    body: bytes
    status: int
    headers: dict[str, str]

    @classmethod
    def load(cls, path: Path) -> "Recording":
        number = path.name.partition(".")[0]
        meta: Json = json.loads(path.with_name(f"{number}.meta.json").read_text(encoding="utf-8"))
        headers = {name: text(value) for name, value in mapping(mapping(meta).get("response_headers")).items()}
        status = mapping(meta).get("status")
        return cls(path.read_bytes(), status if isinstance(status, int) else 200, headers)


def recordings(*endings: str) -> list[object]:
    paths = sorted(path for path in WIRE.glob("*/*.response.*") if not path.parent.name.startswith(OTHER_FORMATS))
    found: list[object] = [
        pytest.param(path, id=f"{path.parent.name}-{path.name[:2]}") for path in paths if path.suffix in endings
    ]
    absent = pytest.mark.skip(reason="no recordings lie beside this repository")
    return found or [pytest.param(WIRE, id="none", marks=absent)]


def stream(chunks: list[bytes], headers: dict[str, str]) -> Reply:
    reader = ADAPTER.stream(headers, DRAFT)
    for chunk in chunks:
        reader.feed(chunk)
    return reader.close()


def outcome(chunks: list[bytes], headers: dict[str, str]) -> Reply | tuple[type[FleetError], str]:
    try:
        return stream(chunks, headers)
    except ProviderError as error:
        return type(error), str(error)


def cut(body: bytes, chance: random.Random) -> list[bytes]:
    cuts = sorted(chance.choices(range(len(body)), k=chance.choice([1, 10, 1000])))
    return [body[start:end] for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True)]


@pytest.mark.parametrize("path", recordings(".sse"))
def test_a_recorded_stream_reads_the_same_however_it_is_cut(path: Path) -> None:
    recording = Recording.load(path)
    whole = outcome([recording.body], recording.headers)
    chance = random.Random(path.parent.name)  # noqa: S311
    for _ in range(8):
        assert outcome(cut(recording.body, chance), recording.headers) == whole


@pytest.mark.parametrize("path", recordings(".sse"))
def test_the_beginning_of_a_recorded_stream_is_the_same_answer_or_an_error(path: Path) -> None:
    recording = Recording.load(path)
    whole = outcome([recording.body], recording.headers)
    chance = random.Random(path.parent.name)  # noqa: S311
    for end in chance.choices(range(len(recording.body)), k=40):
        part = outcome([recording.body[:end]], recording.headers)
        if isinstance(part, Reply) and isinstance(whole, Reply):
            assert (part.message, part.finish) == (whole.message, whole.finish)
            assert part.usage == whole.usage or part.usage.estimated


@pytest.mark.parametrize("path", recordings(".json", ".txt"))
def test_a_recorded_body_is_a_reply_or_an_error_that_says_so(path: Path) -> None:
    recording = Recording.load(path)
    if recording.status != 200:
        error = ADAPTER.refusal(recording.status, recording.headers, recording.body)
        assert error.status == recording.status
        assert ": " in str(error)
        return
    try:
        reply = ADAPTER.reply(recording.headers, recording.body, DRAFT)
    except ProviderError as error:
        assert str(error)  # noqa: PT017
    else:
        assert reply.message.content or reply.message.calls
        assert not reply.usage.estimated
