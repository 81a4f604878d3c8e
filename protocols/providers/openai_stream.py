"""A streamed chat completion."""

from collections.abc import Mapping

from ..messages import Json, Reply
from .assembly import CallAssembly
from .base import Delta, Draft
from .folding import fold
from .lenient import items, mapping, text
from .openai_answer import Answer, no_choices, read_content, usage_in
from .openai_usage import Counts
from .request_id import request_id
from .stream import AnswerStream

__all__ = ("ChatStream",)

PLACING = frozenset({"role", "index"})
"""Fields of a delta that say where it belongs and are no part of the message."""


class ChatStream(AnswerStream):
    """Reads one streamed chat completion."""

    def __init__(self, headers: Mapping[str, str], draft: Draft, profile: str) -> None:
        """Begin; `headers` have names in lower case, `profile` is who answers."""
        super().__init__(headers, draft)
        self._profile = profile
        self._calls = CallAssembly()
        self._pieces: dict[str, list[Json]] = {}
        self._counts = Counts()

    def _reply(self) -> Reply:
        if not self._spoken:
            raise no_choices(self._request_id)
        fields = {name: fold(name, pieces) for name, pieces in self._pieces.items()}
        fields["tool_calls"] = self._calls.plain()
        return Answer(fields, self._reason, self._counts, self._request_id).reply(self._draft, self._profile)

    def _take_event(self, event: Mapping[str, Json]) -> tuple[Delta, ...]:
        choice = mapping(next(iter(items(event.get("choices"))), None))
        if usage := usage_in(event, choice):
            self._counts = self._counts.merge(Counts.read(usage))
        self._request_id = self._request_id or request_id(self._headers, dict(event))
        self._reason = text(choice.get("finish_reason")) or self._reason
        self._spoken = self._spoken or bool(choice)
        # Perplexity sends the whole message beside each delta; a server that sends only that means it as the delta.
        return self._take_delta(mapping(choice.get("delta", choice.get("message"))))

    def _take_delta(self, delta: Mapping[str, Json]) -> tuple[Delta, ...]:
        for name, value in delta.items():
            if name == "tool_calls":
                self._calls.add(items(value))
            elif name not in PLACING and value is not None:
                self._pieces.setdefault(name, []).append(value)
        said, thought = read_content(delta.get("content"))
        thought = text(delta.get("reasoning_content")) or text(delta.get("reasoning")) or thought
        shown = (Delta(thought, reasoning=True), Delta(said))
        return tuple(each for each in shown if each.text)
