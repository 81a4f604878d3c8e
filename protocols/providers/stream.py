"""What the streamed answers of all wire formats have in common: events, their errors, their end."""

from abc import ABC, abstractmethod
from collections.abc import Mapping

from ..errors import StreamBroken
from ..messages import Json, Reply
from .base import Delta, Draft
from .complaint import is_error
from .lenient import mapping, parse
from .refusal import error_in_answer
from .request_id import request_id
from .sse import EventReader

__all__ = ("AnswerStream",)

DONE = "[DONE]"
SHOWN = 200
"""Characters of an unreadable event that an error shows."""


class AnswerStream(ABC):
    """Reads one streamed answer, however it is cut.

    A format says how one event is taken, and what the reply is once all were. It sets `_reason` when the provider
    says why it stopped, `_spoken` when a message began, and `_done` when nothing more is to come.
    """

    def __init__(self, headers: Mapping[str, str], draft: Draft) -> None:
        """Begin; `headers` have names in lower case."""
        self._headers = headers
        self._draft = draft
        self._events = EventReader()
        self._request_id = request_id(headers)
        self._reason = ""
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

        A reason to stop or the mark of the end is enough: not every server sends both.

        Raises:
            StreamBroken: The stream ended before the answer did.
            ProviderError: Its last event says that the call failed, or there was no message.
        """
        self._take_rest(self._events.close())
        if not self._reason and not self._done:
            raise self._broken("The stream ended before the answer did.")
        return self._reply()

    @abstractmethod
    def _take_event(self, event: Mapping[str, Json]) -> tuple[Delta, ...]:
        """Take one event that is no error."""

    @abstractmethod
    def _reply(self) -> Reply:
        """The answer that the events make."""

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

    def _broken(self, sentence: str) -> StreamBroken:
        return StreamBroken(sentence=sentence, status=200, request_id=self._request_id)
