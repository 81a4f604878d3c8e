"""What Ray has of fleets: which there are, what is left of those that are dead, and how all of one is ended."""

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from typing import cast

import ray
from anyio import to_thread
from ray.exceptions import ActorDiedError, RayError
from ray.util import list_named_actors

from ..protocols.ids import SUPERVISOR
from ..runtime.errors import SystemUnavailable
from ..runtime.system import DeadFleet
from .channel import NAMESPACE, namespace
from .connection import RUNNING, choose, connection
from .journal import JOURNAL
from .lifecycle import Actor, end_all
from .supervisor import SupervisorActor

__all__ = ("collect", "end_actors", "end_fleet", "fleets")

PATIENCE = 5.0
"""Seconds a Supervisor has to say whether its fleet is over. One that does not answer is left alone."""

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
        if fleet is not None and fleet not in there:
            known = ", ".join(sorted(there)) or "nothing of any fleet"
            raise SystemUnavailable(system="ray", reason=f"nothing is left of a fleet named {fleet!r}: it has {known}.")
        reasons = {name: await why_dead(name, there[name]) for name in sorted(there)}
        if fleet is not None:
            reasons = {fleet: reasons[fleet] or "it was named"}
        dead = tuple(DeadFleet(name, reason, there[name]) for name, reason in reasons.items() if reason)
        for each in dead if remove else ():
            await end_fleet(each.name)
    finally:
        await to_thread.run_sync(connection().leave)
    return dead


async def why_dead(fleet: str, names: tuple[str, ...]) -> str:
    """Why a fleet can do nothing more; empty: it can, or does not say."""
    supervisor = await to_thread.run_sync(handle, fleet, SUPERVISOR) if SUPERVISOR in names else None
    if supervisor is None:
        return NO_SUPERVISOR
    try:
        async with asyncio.timeout(PATIENCE):
            return await cast("type[SupervisorActor]", supervisor).over.remote()
    except ActorDiedError:
        return NO_SUPERVISOR
    except (RayError, TimeoutError):
        return ""
