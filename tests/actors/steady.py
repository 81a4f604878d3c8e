"""A model that says the same however often its agent begins anew, and fleets whose processes die."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import ray

from amrita_fleet import Fleet
from amrita_fleet.protocols.messages import Message, Reply, Role
from amrita_fleet.protocols.notices import Notice
from amrita_fleet.protocols.presets import ModelPreset
from amrita_fleet.protocols.providers.base import Draft, Provider, Watcher
from amrita_fleet.protocols.providers.openai_chat import OpenAIChat
from amrita_fleet.protocols.providers.script import Move
from amrita_fleet.protocols.providers.scripted import ScriptedProvider, scripted


def steady(*moves: Move, before: Callable[[int], None] = lambda _: None) -> ModelPreset:
    """A preset whose model makes these moves; which one is next follows from what it said in the request.

    `before` is called, in the agent's process, before each, with its number. Local, so that all goes there by value.
    """
    name = f"steady-{uuid4().hex}"

    class SteadyProvider(ScriptedProvider):
        async def call(self, draft: Draft, output: int, watch: Watcher | None = None) -> Reply:
            said = sum(isinstance(turn, Message) and turn.role is Role.ASSISTANT for turn in draft.turns)
            self.requests[:] = [draft] * said
            await asyncio.to_thread(before, said)
            return await super().call(draft, output, watch)

    @dataclass(frozen=True)
    class Steady(OpenAIChat):
        @staticmethod
        def get_adapter_protocol() -> tuple[str, ...]:
            return (name,)

        @classmethod
        def direct(cls, preset: ModelPreset) -> Provider:  # noqa: ARG003
            return SteadyProvider(scripted(*moves))

    return ModelPreset(model="steady", protocol=name)


def journaled(path: Path, name: str | None = None, limit: int | None = None) -> Fleet:
    """A fleet with a journal."""
    return Fleet(name, limit=limit, journal=path)


def handle(fleet: Fleet, name: str) -> Any:  # noqa: ANN401  Ray's, untyped
    """An actor of a fleet."""
    return ray.get_actor(name, f"amrita-{fleet.name}")


def kill(fleet: Fleet, name: str) -> None:
    """End an actor's process as a crash would."""
    ray.kill(handle(fleet, name))


def pid_of(fleet: Fleet, name: str) -> int:
    """The process of an actor, as Ray knows it."""
    from ray._private.state import actors

    return int(cast("Any", actors)(handle(fleet, name)._actor_id.hex())["Pid"])  # noqa: SLF001


async def until(fleet: Fleet, wanted: Callable[[Notice], bool], after: int = 0) -> list[Notice]:
    """The fleet's notices up to the first that is wanted."""
    seen: list[Notice] = []
    async with asyncio.timeout(60):
        async for notice in fleet.notices(after):
            seen.append(notice)
            if wanted(notice):
                return seen
    raise AssertionError


def event(agent: str, kind: str) -> Callable[[Notice], bool]:
    """Whether a notice is that event of that agent."""
    return lambda notice: (notice.agent, notice.extra_type) == (agent, kind)
