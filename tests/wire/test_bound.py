"""No provider counted more prompt tokens than the bound that is reserved for a request before its count is known."""

import json
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest

from amrita_fleet.protocols.messages import Json
from amrita_fleet.protocols.presets import ModelPreset
from amrita_fleet.protocols.providers.lenient import compact, items, mapping, text
from amrita_fleet.runtime.step.budget import Counted, request_bound

from .expectation import Answer, expectations
from .recording import ABSENT, WIRE, Recording

pytestmark = pytest.mark.slow

CAPS: Final = frozenset({"max_tokens", "max_completion_tokens"})
"""Fields that stand in a request's tail, which no bound counts."""


@dataclass(frozen=True)
class Exchange:
    """A recorded request in the pieces that a bound is made from, and what the provider counted it as."""

    name: str
    hidden: int
    head: bytes
    fragments: tuple[bytes, ...]
    prompt: int

    def bound(self, before: Counted | None = None) -> int:
        return request_bound(self.head, self.fragments, self.hidden, before)

    @classmethod
    def load(cls, path: Path, prompt: int) -> "Exchange":
        recording = Recording.load(path)
        request = plain(path, "request")
        address = text(plain(path, "meta")["uri"]).partition("?")[0]
        base_url = address if address.startswith("https://") else "https://127.0.0.1"
        preset = ModelPreset(model=recording.model, base_url=base_url, protocol=recording.protocol)
        head = {name: value for name, value in request.items() if name != "messages" and name not in CAPS}
        fragments = tuple(compact(message).encode() for message in items(request["messages"]))
        name = f"{recording.folder}-{recording.number}"
        return cls(name, preset.facts.hidden_prompt, compact(head).encode(), fragments, prompt)


def plain(path: Path, kind: str) -> dict[str, Json]:
    return mapping(json.loads(path.with_name(f"{path.name[:2]}.{kind}.json").read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def exchanges() -> list[Exchange]:
    """Every recorded exchange that has a request and a count."""
    if not WIRE.exists():
        pytest.skip(ABSENT)
    meant = expectations()
    found: list[Exchange] = []
    for path in sorted(WIRE.glob("*/*.response.*")):
        answer = meant[path.parent.name][path.name[:2]]
        asked = path.with_name(f"{path.name[:2]}.request.json")
        if isinstance(answer, Answer) and isinstance(answer.usage, tuple) and asked.exists():
            found.append(Exchange.load(path, answer.usage[0]))
    return found


def test_no_request_is_counted_as_more_than_its_bound(exchanges: list[Exchange]) -> None:
    assert len(exchanges) > 60
    assert [one.name for one in exchanges if one.prompt > one.bound()] == []


def test_none_is_either_where_the_count_of_its_beginning_is_known(exchanges: list[Exchange]) -> None:
    pairs = [
        (first, second)
        for first, second in pairwise(exchanges)
        if first.head == second.head and second.fragments[: len(first.fragments)] == first.fragments
    ]
    assert len(pairs) > 10
    counted = [(Counted(first.head, first.fragments, first.prompt), second) for first, second in pairs]
    assert [second.name for before, second in counted if second.prompt > second.bound(before)] == []
    assert all(second.bound(before) <= second.bound() for before, second in counted)
