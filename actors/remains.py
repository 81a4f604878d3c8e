"""What Ray has of fleets: which there are, what is left of those that are dead, and how all of one is ended."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Mapping
from typing import TypeVar, cast

import ray
from anyio import to_thread
from ray.exceptions import RayError
from ray.util import list_named_actors

from ..protocols.ids import SUPERVISOR
from ..runtime.errors import SystemUnavailable
from ..runtime.system import DeadFleet
from .channel import NAMESPACE, namespace
from .connection import RUNNING, choose, connection
from .journal import JOURNAL
from .lifecycle import READY_PATIENCE, Actor, end_all
from .reborn import Reborn
from .supervisor import SupervisorActor
from .tool_servers import actor_name as tool_servers_name

__all__ = ("collect", "end_actors", "end_fleet", "fleets", "handle", "spaces")

T = TypeVar("T")

PATIENCE = 5.0
"""Seconds a Supervisor has to say whether its fleet is over. One that does not answer is left alone."""

TOOLS = tool_servers_name("")
"""What the names of actors begin with that run MCP servers. They are not asked: they never are alone."""

NO_SUPERVISOR = "it has no Supervisor"


def fleets() -> tuple[str, ...]:
    """The fleets on the Ray that this process uses, those that have a Supervisor, sorted by name. It blocks."""
    return tuple(sorted(fleet for fleet, names in spaces().items() if SUPERVISOR in names))


def spaces() -> Mapping[str, tuple[str, ...]]:
    """The names of all fleets' actors. It blocks."""
    found: defaultdict[str, tuple[str, ...]] = defaultdict(tuple)
    for each in cast("list[dict[str, str]]", list_named_actors(all_namespaces=True)):
        if each["namespace"].startswith(NAMESPACE):
            found[each["namespace"].removeprefix(NAMESPACE)] += (each["name"],)
    return found


async def end_fleet(fleet: str) -> None:
    """End all actors of a fleet: first those that need others."""
    names = (await to_thread.run_sync(spaces)).get(fleet, ())
    await end_actors(fleet, tuple(name for name in names if name not in {SUPERVISOR, JOURNAL}))
    for name in (SUPERVISOR, JOURNAL):
        if name in names:
            await end_actors(fleet, (name,))


async def end_actors(fleet: str, names: tuple[str, ...]) -> None:
    """End actors of a fleet, by their names there; one that is gone is no error."""
    handles = await asyncio.gather(*(to_thread.run_sync(handle, fleet, name) for name in names))
    await end_all(filter(None, handles))


def handle(fleet: str, name: str) -> Actor | None:
    """An actor of a fleet; None: there is none of that name any more. It blocks."""
    try:
        return cast("Actor", ray.get_actor(name, namespace(fleet)))
    except ValueError:
        return None


async def collect(fleet: str | None, address: str | None, *, remove: bool) -> tuple[DeadFleet, ...]:
    """Find dead fleets, or say that one is to be taken for dead, and end what is left of them; see `collect_garbage`.

    Raises:
        SystemUnavailable: Ray cannot be reached, or has nothing of that fleet.
    """
    await to_thread.run_sync(connection().join, choose(address, RUNNING))
    try:
        there = await to_thread.run_sync(spaces)
        if fleet is None:
            verdicts = await asyncio.gather(*(why_dead(name, names) for name, names in there.items()))
            reasons = dict(zip(there, verdicts, strict=True))
        elif fleet in there:
            reasons = {fleet: await why_dead(fleet, there[fleet]) or "it was named"}
        else:
            known = ", ".join(sorted(there)) or "nothing of any fleet"
            raise SystemUnavailable(system="ray", reason=f"nothing is left of a fleet named {fleet!r}: it has {known}.")
        dead = tuple(DeadFleet(name, reasons[name], there[name]) for name in sorted(reasons) if reasons[name])
        for each in dead if remove else ():
            await end_fleet(each.name)
    finally:
        await to_thread.run_sync(connection().leave)
    return dead


async def why_dead(fleet: str, names: tuple[str, ...]) -> str:
    """Why a service can do nothing more; empty: it can, or does not say, or it is none.

    A fleet that is no service ends with its owner. Without a Supervisor it is being opened or closed, or its owner
    starts another one.
    """
    supervisor = await to_thread.run_sync(handle, fleet, SUPERVISOR) if SUPERVISOR in names else None
    if supervisor is not None:
        over = await answer(cast("type[SupervisorActor]", supervisor).over.remote())
        if over is not None:
            return over
    ages = await asyncio.gather(*(age(fleet, name) for name in names if not name.startswith((SUPERVISOR, TOOLS))))
    alone = [seconds for seconds in ages if seconds is not None]
    return NO_SUPERVISOR if alone and min(alone) > READY_PATIENCE else ""


async def age(fleet: str, name: str) -> float | None:
    """For how many seconds the process of a service's actor has lived; None of others, or where it does not say."""
    there = await to_thread.run_sync(handle, fleet, name)
    if there is None:
        return None
    seconds = await answer(cast("type[Reborn]", there).age.remote())
    return seconds or None


async def answer(asked: Awaitable[T]) -> T | None:
    """What an actor says; None: it does not, or is dead."""
    try:
        async with asyncio.timeout(PATIENCE):
            return await asked
    except (RayError, TimeoutError):
        return None
