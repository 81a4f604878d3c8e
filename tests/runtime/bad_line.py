"""The simulator at the end of a bad line, in virtual time: it answers and counts, and not all of that comes back."""

import asyncio
from collections.abc import Callable, MutableMapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from typing import Any, NamedTuple

from amrita_fleet.protocols.errors import ProviderUnreachable, StreamBroken
from amrita_fleet.protocols.messages import Reply, Turn
from amrita_fleet.protocols.presets import ModelPreset
from amrita_fleet.protocols.providers.base import Draft, Provider, ToolSchema, Watcher
from amrita_fleet.protocols.providers.openai_chat import OpenAIChat
from amrita_fleet.runtime.ports import Clock
from amrita_fleet.runtime.simulator.app import build_app
from amrita_fleet.runtime.simulator.modes import HEADER
from amrita_fleet.runtime.simulator.provider import SimulatedProvider

__all__ = ("LINE", "BadLine", "Fate", "Odds")


class Fate(StrEnum):
    """What becomes of one attempt."""

    ANSWERED = "answered"
    UNREACHABLE = "unreachable"
    """There is no connection, so nothing is counted."""
    BROKEN = "broken"
    """It is answered and counted, and the answer is lost on its way."""
    GIVEN_UP = "given up"
    """Who asks waits no longer, and it is answered and counted after that."""


class Odds(NamedTuple):
    """How often an attempt ends badly, of a hundred; `fault` is what the simulator is asked to do wrong."""

    unreachable: int = 3
    broken: int = 3
    given_up: int = 3
    fault: int = 10


FAULTS = ("429=0.5", "429=3", "529", "500", "no-usage", "error")


class Answer(NamedTuple):
    """An answer of the simulator as HTTP has it."""

    status: int
    headers: dict[str, str]
    body: bytes


@dataclass
class BadLine:
    """The way from every agent to one simulator.

    Attributes:
        latency: Seconds that an answer takes, from and to.
        counted: Called after each request that has reached the simulator.
        fates: How often each came.
    """

    clock: Clock
    random: Random
    simulator: SimulatedProvider
    odds: Odds
    latency: tuple[float, float]
    counted: Callable[[], None]
    fates: dict[str, int] = field(default_factory=dict[str, int])
    _serving: set[asyncio.Task[Answer]] = field(default_factory=set[asyncio.Task[Answer]])

    def __post_init__(self) -> None:
        """The line has ends of its own, so nobody hangs up."""
        self._app = build_app(self.simulator, lambda _client: None)

    async def ask(self, body: bytes) -> Answer:
        """Make one attempt.

        Raises:
            ProviderUnreachable: It never arrived.
            StreamBroken: What became of it is not known here.
        """
        fate, fault = self._draw()
        self.fates[fault or fate] = self.fates.get(fault or fate, 0) + 1
        await self.clock.sleep(self.random.uniform(0.0, 0.1))
        if fate is Fate.UNREACHABLE:
            raise ProviderUnreachable(sentence="nobody there")
        # What was sent is answered and counted, also if whoever sent it is gone by then.
        serving = asyncio.create_task(self._serve(body, fault))
        self._serving.add(serving)
        serving.add_done_callback(self._serving.discard)
        if fate is Fate.GIVEN_UP:
            await self.clock.sleep(self.random.uniform(0.0, self.latency[0]))
            raise StreamBroken(sentence="no answer in time")
        answer = await asyncio.shield(serving)
        if fate is Fate.BROKEN:
            raise StreamBroken(sentence="the connection broke")
        return answer

    async def idle(self) -> None:
        """Wait until all that was sent is answered."""
        while self._serving:
            await asyncio.wait(self._serving)

    def _draw(self) -> tuple[Fate, str]:
        drawn = self.random.uniform(0, 100)
        for fate, share in zip(list(Fate)[1:], self.odds[:3], strict=True):
            if drawn < share:
                return fate, ""
            drawn -= share
        return Fate.ANSWERED, self.random.choice(FAULTS) if drawn < self.odds.fault else ""

    async def _serve(self, body: bytes, fault: str) -> Answer:
        seconds = self.random.uniform(*self.latency)
        before = self.random.random() * seconds
        await self.clock.sleep(before)
        answer = await post(self._app, body, fault)
        self.counted()
        await self.clock.sleep(seconds - before)
        return answer


async def post(app: Any, body: bytes, fault: str) -> Answer:  # noqa: ANN401  ASGI's
    """Send a chat completion's request to an ASGI application."""
    headers = [(b"content-type", b"application/json"), (HEADER.encode(), fault.encode())]
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "path": "/v1/chat/completions",
        "query_string": b"",
        "headers": headers,
        "client": ("127.0.0.1", 1),
    }
    sent: list[MutableMapping[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, send)
    start, *rest = sent
    told = {name.decode(): value.decode() for name, value in start["headers"]}
    return Answer(start["status"], told, b"".join(part["body"] for part in rest))


LINE: ContextVar[BadLine] = ContextVar("line")


@dataclass(frozen=True)
class Lined(OpenAIChat):
    """The protocol `lined`: chat completions over the line of this context."""

    @staticmethod
    def get_adapter_protocol() -> tuple[str, ...]:
        return ("lined",)

    @classmethod
    def direct(cls, preset: ModelPreset) -> Provider:
        return LinedProvider(cls(preset), LINE.get())


class LinedProvider:
    """Does what the HTTP provider does, over the line."""

    def __init__(self, adapter: OpenAIChat, line: BadLine) -> None:
        self._adapter = adapter
        self._line = line

    def draft(self, turns: tuple[Turn, ...], tools: tuple[ToolSchema, ...], before: Draft | None) -> Draft:
        return self._adapter.draft(turns, tools, before)

    async def call(self, draft: Draft, output: int, watch: Watcher | None = None) -> Reply:  # noqa: ARG002
        answer = await self._line.ask(draft.body(output))
        if answer.status != 200:
            raise self._adapter.refusal(answer.status, answer.headers, answer.body)
        if "event-stream" not in answer.headers["content-type"]:
            return self._adapter.reply(answer.headers, answer.body, draft)
        reader = self._adapter.stream(answer.headers, draft)
        reader.feed(answer.body)
        return reader.close()

    async def aclose(self) -> None:
        """There is nothing to close."""
