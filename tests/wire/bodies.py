"""Keeps every request body that the adapters of this project build while tests run in this process."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pytest

from amrita_fleet.protocols.messages import Json, Message, Reply, Turn
from amrita_fleet.protocols.providers.anthropic import Anthropic
from amrita_fleet.protocols.providers.base import Adapter, Draft, Watcher
from amrita_fleet.protocols.providers.http import HttpProvider
from amrita_fleet.protocols.providers.lenient import mapping, parse
from amrita_fleet.protocols.providers.openai_chat import OpenAIChat

__all__ = ("Bodies", "Body")

Drafting: TypeAlias = Callable[..., Draft]


@dataclass(frozen=True)
class Body:
    """One request body.

    Attributes:
        protocol: The wire format.
        raw: The JSON text.
        own: Fields of it that the preset's `extra_body` set: what they mean is between the user and the provider.
        sent: It went out, so its conversation has to be whole as well.
    """

    protocol: str
    raw: bytes
    own: frozenset[str]
    sent: bool

    @classmethod
    def of(cls, adapter: Adapter, draft: Draft, output: int, *, sent: bool) -> "Body":
        preset = adapter.preset
        protocol = "anthropic" if isinstance(adapter, Anthropic) else "openai"  # whatever a test calls its own
        return cls(protocol, draft.body(output), frozenset(preset.extra_body), sent)

    def plain(self) -> dict[str, Json]:
        """The body without the user's own fields."""
        return {name: value for name, value in mapping(parse(self.raw)).items() if name not in self.own}


def beside(turn: Turn) -> bool:
    """Whether a turn carries what a provider sent beside the text, which goes back verbatim.

    Tests of adapters make such things up, of any kind. What providers really send is taken from the recordings, and
    from whatever went out.
    """
    return isinstance(turn, Message) and bool(turn.extra or any(call.extra for call in turn.calls))


@dataclass
class Bodies:
    """All bodies so far, each once."""

    kept: set[Body] = field(default_factory=set[Body])

    def listen(self, patch: pytest.MonkeyPatch) -> None:
        """Hear of each draft and each call from here on."""
        for adapter in (OpenAIChat, Anthropic):
            patch.setattr(adapter, "draft", self._drafting(adapter.draft))
        call = HttpProvider.call

        async def sending(provider: HttpProvider, draft: Draft, output: int, watch: Watcher | None = None) -> Reply:
            self.kept.add(Body.of(provider._adapter, draft, output, sent=True))  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
            return await call(provider, draft, output, watch)

        patch.setattr(HttpProvider, "call", sending)

    def _drafting(self, draft: Drafting) -> Drafting:
        def drafting(adapter: Adapter, *arguments: Any) -> Draft:  # noqa: ANN401  passed on as they are
            made = draft(adapter, *arguments)
            if not any(map(beside, made.turns)):
                self.kept.add(Body.of(adapter, made, adapter.preset.config.max_tokens, sent=False))
            return made

        return drafting
