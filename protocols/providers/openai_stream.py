"""A streamed chat completion."""

from collections.abc import Mapping

from ..errors import StreamBroken
from ..messages import Json, Reply
from .assembly import CallAssembly
from .base import Delta, Draft
from .complaint import is_error
from .folding import fold
from .lenient import items, mapping, parse, text
from .openai_answer import Answer, no_choices, read_content, usage_in
from .openai_usage import Counts
from .refusal import error_in_answer
from .request_id import request_id
from .sse import EventReader

__all__ = ("ChatStream",)

DONE = "[DONE]"
PLACING = frozenset({"role", "index"})
"""Fields of a delta that say where it belongs and are no part of the message."""

SHOWN = 200
"""Characters of an unreadable event that an error shows."""


class ChatStream:
    """Reads one streamed answer, however it is cut."""

    def __init__(self, headers: Mapping[str, str], draft: Draft) -> None:
        """Begin; `headers` have names in lower case."""
        self._headers = headers
        self._draft = draft
        self._events = EventReader()
        self._calls = CallAssembly()
        self._pieces: dict[str, list[Json]] = {}
        self._counts = Counts()
        self._reason = ""
        self._request_id = request_id(headers)
        self._spoken = False
        self._done = False

    @property
    def done(self) -> bool:
        """The provider said that nothing more comes."""
        return self._done

    def feed(self, chunk: bytes) -> tuple[Delta, ...]:
        """Take bytes as they come and give what can be shown.

        Raises:
            ProviderError: The stream says that the call failed.
        """
        return tuple(delta for data in self._events.feed(chunk) for delta in self._take(data))

    def close(self) -> Reply:
        """The whole answer, at the end of the bytes.

        A finish reason or `[DONE]` is enough: not every server sends both.

        Raises:
            StreamBroken: The stream ended before the answer did.
            ProviderError: Its last event says that the call failed.
        """
        self._take_rest(self._events.close())
        if not self._reason and not self._done:
            raise self._broken("The stream ended before the answer did.")
        if not self._spoken:
            raise no_choices(self._request_id)
        fields = {name: fold(name, pieces) for name, pieces in self._pieces.items()}
        fields["tool_calls"] = self._calls.plain()
        return Answer(fields, self._reason, self._counts, self._request_id).reply(self._draft)

    def _take_rest(self, data: str) -> None:
        """Take an event without its blank line. It may have been cut; then it is as if it never came."""
        try:
            parse(data)
        except ValueError:
            if data.strip() != DONE:
                return
        self._take(data)

    def _take(self, data: str) -> tuple[Delta, ...]:
        if self._done:
            return ()
        if data.strip() == DONE:
            self._done = True
            return ()
        try:
            event = parse(data)
        except ValueError:
            raise self._broken(f"The stream has an event that is no JSON: {data[:SHOWN]}") from None
        if is_error(event):
            raise error_in_answer(self._headers, event, streamed=True, known_id=self._request_id)
        return self._take_event(mapping(event))

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

    def _broken(self, sentence: str) -> StreamBroken:
        return StreamBroken(sentence=sentence, status=200, request_id=self._request_id)
