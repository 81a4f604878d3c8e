"""A fleet in this process with its gateway, and those who come to it."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from amrita_fleet import Agent, Fleet, Limits
from amrita_fleet.protocols.providers.script import Move, say
from amrita_fleet.protocols.providers.scripted import scripted

PATIENCE = 30
"""Seconds after which what a test waits for does not come."""


@dataclass(frozen=True)
class House:
    """A fleet, and a client that has the token."""

    fleet: Fleet
    client: httpx.AsyncClient
    token: str

    def stranger(self, **headers: str) -> httpx.AsyncClient:
        """A client that has nothing but these headers."""
        return httpx.AsyncClient(base_url=self.client.base_url, headers=headers)

    async def get(self, path: str, **params: object) -> Any:  # noqa: ANN401  JSON
        """What is at a path."""
        found = await self.client.get(path, params={name: str(each) for name, each in params.items()})
        assert found.status_code == httpx.codes.OK, found.text
        return found.json()

    async def post(self, path: str, body: object = None) -> Any:  # noqa: ANN401  JSON
        """What a lever answers."""
        found = await self.client.post(path, json=body)
        assert found.status_code == httpx.codes.OK, found.text
        return found.json()

    async def shown(self, event: str, fits: Callable[[Any], bool]) -> None:
        """Wait until the stream has an event of a kind whose data fits."""
        async with asyncio.timeout(PATIENCE), self.client.stream("GET", "/api/events") as response:
            async for each in events(response):
                if each.kind == event and fits(each.data):
                    return

    async def until(self, kind: str, agent: str = "ana") -> None:
        """Wait for a notice of a kind, as `run.finished`."""
        async with asyncio.timeout(PATIENCE):
            async for notice in self.fleet.notices():
                if f"{notice.type}.{notice.extra_type}" == kind and notice.agent == agent:
                    return


@dataclass(frozen=True)
class Event:
    """One server-sent event."""

    kind: str
    data: Any
    id: str = ""


async def events(response: httpx.Response) -> AsyncIterator[Event]:
    """The events of a stream as a browser reads them, and comments as events of the kind `:`."""
    fields: dict[str, str] = {}
    async for line in response.aiter_lines():
        if line.startswith(":"):
            yield Event(":", line[1:].strip())
        elif line:
            name, _, value = line.partition(": ")
            fields[name] = value
        else:
            if "event" in fields:
                yield Event(fields["event"], json.loads(fields["data"]), fields.get("id", ""))
            fields = {}


@asynccontextmanager
async def house(*moves: Move, limit: Limits | None = None, agent: Agent | None = None) -> AsyncGenerator[House]:
    """A fleet of `ana` and `bob`, who say these things."""
    described = agent or Agent(preset=scripted(*(moves or (say("Good."), say("Better.")))))
    async with Fleet("house", system="local", limit=limit) as fleet:
        await fleet.spawn(described, ["ana", "bob"])
        served = await fleet.serve_dashboard()
        headers = {"Authorization": f"Bearer {served.token}"}
        async with httpx.AsyncClient(base_url=served.url, headers=headers, timeout=PATIENCE) as client:
            yield House(fleet, client, served.token)
