"""What a provider is to the runtime, and what an adapter of a wire format must map.

An `Adapter` is pure: no I/O, no clock. A `Provider` makes calls: `http.HttpProvider` drives an adapter over HTTP,
`scripted.ScriptedProvider` answers by itself. `connection.connect` makes the one that a preset needs.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeAlias

from ..adapters import register
from ..errors import ProviderError
from ..messages import Json, Reply, Turn
from ..presets import ModelPreset

__all__ = ("Adapter", "Delta", "Draft", "Provider", "StreamReader", "ToolSchema", "Watcher")


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """A tool as a model sees it; `parameters` is a JSON Schema object."""

    name: str
    description: str
    parameters: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of an answer while it is streamed."""

    text: str
    reasoning: bool = False


Watcher: TypeAlias = Callable[[Delta], None]


@dataclass(frozen=True, slots=True)
class Draft:
    """A request's JSON body, all but its output cap, in pieces that later requests use again.

    Head and fragments of a request are the first bytes of every later one of the same conversation. Providers that
    cache prompts by their beginning count on that.

    Attributes:
        turns: The turns it was made from.
        head: JSON text before the messages, tools included.
        fragments: JSON text of each turn, with what joins it to the one before; it depends on no later turn.
        tail: JSON text after the messages, up to the number of the output cap.
        hidden_prompt: Tokens the provider adds unseen.
        tools: The tools in `head`.
    """

    turns: tuple[Turn, ...]
    head: bytes
    fragments: tuple[bytes, ...]
    tail: bytes
    hidden_prompt: int = 0
    tools: tuple[ToolSchema, ...] = ()

    def body(self, output: int) -> bytes:
        """The whole body, which lets the model answer with at most `output` tokens."""
        return b"%b%b%b%d}" % (self.head, b"".join(self.fragments), self.tail, output)

    def kept(self, turns: tuple[Turn, ...]) -> tuple[bytes, ...]:
        """The fragments that serve for the beginning of `turns` too."""
        # Comparing tuples looks at identity first, so this costs next to nothing.
        return self.fragments if turns[: len(self.turns)] == self.turns else ()

    @property
    def size(self) -> int:
        """Bytes of the body, but for the number of the output cap."""
        return len(self.head) + sum(map(len, self.fragments)) + len(self.tail)


class Provider(Protocol):
    """Makes model calls. One object serves one agent."""

    def draft(self, turns: tuple[Turn, ...], tools: tuple[ToolSchema, ...], before: Draft | None) -> Draft:
        """Write the request. `before` is an earlier draft of this provider: what is the same is used again."""
        ...

    async def call(self, draft: Draft, output: int, watch: Watcher | None = None) -> Reply:
        """Make exactly one attempt, with at most `output` tokens of output.

        Raises:
            ProviderError: The provider refused or failed.
        """
        ...

    async def aclose(self) -> None:
        """Close connections. Safe to call twice."""
        ...


class StreamReader(Protocol):
    """Reads one streamed answer. Chunks may be cut anywhere."""

    def feed(self, chunk: bytes) -> tuple[Delta, ...]:
        """Take bytes as they come and give what can be shown.

        Raises:
            ProviderError: The stream says that the call failed.
        """
        ...

    @property
    def done(self) -> bool:
        """The provider said that nothing more comes."""
        ...

    def close(self) -> Reply:
        """The whole answer, at the end of the bytes.

        Raises:
            StreamBroken: The stream ended before the answer did.
        """
        ...


@dataclass(frozen=True)
class Adapter(ABC):
    """Maps requests and answers of one wire format. Subclassing registers it under `get_adapter_protocol()`.

    Headers of answers come with their names in lower case.
    """

    preset: ModelPreset
    path: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        """Register the adapter, if it names protocols of its own."""
        super().__init_subclass__()
        if "get_adapter_protocol" in cls.__dict__:
            register(cls, cls.get_adapter_protocol())

    @staticmethod
    @abstractmethod
    def get_adapter_protocol() -> tuple[str, ...]:
        """The protocol names this adapter speaks."""

    @classmethod
    def direct(cls, preset: ModelPreset) -> Provider | None:  # noqa: ARG003  for those that override it
        """A provider that answers without HTTP; None: the format is spoken over HTTP."""
        return None

    @abstractmethod
    def headers(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Request headers, the key included; a key's variable is looked up in `environ`."""

    @abstractmethod
    def draft(self, turns: tuple[Turn, ...], tools: tuple[ToolSchema, ...], before: Draft | None) -> Draft:
        """Write the request."""

    @abstractmethod
    def reply(self, headers: Mapping[str, str], body: bytes, draft: Draft) -> Reply:
        """Read a whole answer of status 200.

        Raises:
            ProviderError: The body is not an answer.
        """

    @abstractmethod
    def stream(self, headers: Mapping[str, str], draft: Draft) -> StreamReader:
        """A reader for a streamed answer of status 200."""

    @abstractmethod
    def refusal(self, status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
        """The error that a status other than 200 means."""
