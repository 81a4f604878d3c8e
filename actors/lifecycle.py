"""How an actor begins and ends. The one place where the plain classes become Ray's."""

import asyncio
import logging
from collections.abc import Awaitable, Generator, Iterable
from contextlib import contextmanager, suppress
from typing import Any, TypeAlias, cast

import ray
from anyio import to_thread
from ray.actor import ActorClass
from ray.exceptions import ActorAlreadyExistsError, ActorDiedError, ActorUnavailableError, RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from ..protocols.ids import SUPERVISOR
from ..runtime.agent import Agent
from ..runtime.errors import ChannelClosed, SystemUnavailable
from ..runtime.host import Seat
from .agent import AgentActor, Ties
from .channel import CONTROL, MAIL, actor_name, namespace
from .errors import death, translate, translated
from .journal import JOURNAL, READ, JournalActor, JournalPlace
from .link import CHECK_IN, SETTLE
from .placement import Place
from .supervisor import WATCH, SupervisorActor
from .tool_servers import ToolServersActor
from .tool_servers import actor_name as tool_servers_name

__all__ = (
    "RETRY_PAUSE",
    "Lasting",
    "create_agent",
    "create_journal",
    "create_supervisor",
    "create_tool_servers",
    "death_of",
    "end",
    "end_all",
    "kill",
    "ready",
)

log = logging.getLogger(__name__)

READY_PATIENCE = 120.0
"""Seconds a new actor has to become ready: a worker process takes one, on a busy machine some more."""

CLOSE_PATIENCE = 2.0
"""Seconds an actor has to end by itself before it is killed."""

DEATH_PATIENCE = 10.0
"""Seconds to wait until Ray says that what was killed is dead."""

RETRY_PAUSE = 0.5
"""Seconds between two tries to hear from an actor that does not answer."""

DEATH_PAUSE = 0.02
"""Seconds between two looks whether it is."""

NEVER_AGAIN: dict[str, Any] = {"max_restarts": 0, "max_task_retries": 0, "enable_task_events": False}
"""Ray restarts nothing and repeats no call: what may be done twice is decided by those who know."""

# Ray's types know no concurrency groups. Their numbers are calls at once; a parked one costs nothing.
Agents = cast(
    "ActorClass[AgentActor]",
    cast("Any", ray.remote)(concurrency_groups={MAIL: 64, CONTROL: 64})(AgentActor),
)
Journals = cast(
    "ActorClass[JournalActor]",
    cast("Any", ray.remote)(concurrency_groups={READ: 64, CONTROL: 64})(JournalActor),
)
Supervisors = cast(
    "ActorClass[SupervisorActor]",
    cast("Any", ray.remote)(concurrency_groups=dict.fromkeys((CHECK_IN, SETTLE, CONTROL, WATCH), 1000))(
        SupervisorActor
    ),
)
ToolServers = cast(
    "ActorClass[ToolServersActor]",
    cast("Any", ray.remote)(concurrency_groups={CONTROL: 64})(ToolServersActor),
)

Lasting: TypeAlias = type[JournalActor] | type[SupervisorActor]
"""Handles of those that a fleet has one of, and that may be made anew."""

Actor: TypeAlias = Lasting | type[AgentActor] | type[ToolServersActor]
"""A handle: to a type checker the class, so that `handle.method.remote(...)` is typed."""


def create_journal(fleet: str, place: JournalPlace, *, create: bool) -> type[JournalActor]:
    """Make the actor of a fleet's journal: on this process's node, and where it is a file nowhere else. It blocks.

    `create`: whether a missing file becomes a journal.

    Raises:
        SystemUnavailable: There is a fleet of this name.
    """
    options = Journals.options(name=JOURNAL, **here(fleet, soft=not place.local))
    with unique(fleet):
        return cast("type[JournalActor]", options.remote(place.url, create))


def create_supervisor(fleet: str, limit: int | None, journal: type[JournalActor] | None) -> type[SupervisorActor]:
    """Make a fleet's Supervisor, on this process's node if it can be. It blocks.

    Raises:
        SystemUnavailable: There is a fleet of this name.
    """
    options = Supervisors.options(name=SUPERVISOR, **here(fleet, soft=True))
    with unique(fleet):
        return cast("type[SupervisorActor]", options.remote(fleet, limit, journal))


def here(fleet: str, *, soft: bool) -> dict[str, Any]:
    """Options of an actor that belongs on this process's node; `soft`: or on another one if that cannot be."""
    node = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=soft)
    return {"namespace": namespace(fleet), "num_cpus": 0, "scheduling_strategy": node, **NEVER_AGAIN}


@contextmanager
def unique(fleet: str) -> Generator[None, None, None]:
    """Around the making of an actor of which a fleet has one.

    Raises:
        SystemUnavailable: There is a fleet of this name.
    """
    try:
        yield
    except ActorAlreadyExistsError:
        reason = f"a fleet named {fleet!r} runs there already: choose another name."
        raise SystemUnavailable(system="ray", reason=reason) from None


def create_agent(ties: Ties, agent: Agent, seat: Seat, place: Place) -> type[AgentActor]:
    """Make an agent's actor, which lives as long as the handle. It blocks.

    Raises:
        SystemUnavailable: Ray still has the actor of an earlier life.
    """
    space = namespace(ties.fleet)
    options = Agents.options(name=actor_name(seat.name), namespace=space, num_cpus=0, **place, **NEVER_AGAIN)
    try:
        return cast("type[AgentActor]", options.remote(agent, seat, ties))
    except ActorAlreadyExistsError:
        reason = f"an earlier life of {seat.name!r} has not ended yet: try again."
        raise SystemUnavailable(system="ray", reason=reason) from None


def create_tool_servers(fleet: str, node: str) -> type[ToolServersActor]:
    """Make the actor that runs MCP servers on a node. It blocks.

    A process of it that dies is replaced: it has nothing that the next call does not bring with it.
    """
    there = NodeAffinitySchedulingStrategy(node, soft=True)
    name, space = tool_servers_name(node), namespace(fleet)
    again = {**NEVER_AGAIN, "max_restarts": -1}
    options = ToolServers.options(name=name, namespace=space, num_cpus=0, scheduling_strategy=there, **again)
    return cast("type[ToolServersActor]", options.remote())


async def ready(opening: Awaitable[None], name: str) -> None:
    """Wait until a new actor has begun.

    Args:
        opening: The call of its `open`.
        name: What it is called in errors.

    Raises:
        SystemUnavailable: Its process did not come, or died.
        FleetError: What its `open` raised.
    """
    try:
        with translated(name):
            async with asyncio.timeout(READY_PATIENCE):
                await opening
    except TimeoutError:
        reason = f"{name!r} was not ready after {READY_PATIENCE:g} seconds; the cluster may have no room for it."
        raise SystemUnavailable(system="ray", reason=reason) from None
    except ChannelClosed as error:
        raise SystemUnavailable(system="ray", reason=f"{name!r} could not be started: {error.reason}.") from None


async def end(actor: Actor) -> None:
    """Have an actor end by itself, then kill it, and wait until it is dead."""
    with suppress(TimeoutError, RayError):  # blocked or dead already: it is killed either way
        async with asyncio.timeout(CLOSE_PATIENCE):
            await close(actor)
    await kill(actor)


async def kill(actor: Actor) -> None:
    """Kill an actor, and wait until it is dead."""
    await to_thread.run_sync(cast("Any", ray.kill), actor)
    with suppress(TimeoutError):
        async with asyncio.timeout(DEATH_PATIENCE):
            await dead(actor)


async def death_of(actor: type[AgentActor] | Lasting, name: str) -> str | None:
    """Wait until an actor's process dies, and give why; None when it closed in good order, or nobody can know.

    `name` is what it is called in the log.
    """
    while True:
        try:
            await actor.closed.remote()
        except ActorUnavailableError:  # soon it answers again, or is known to be dead
            await asyncio.sleep(RETRY_PAUSE)
        except ActorDiedError as error:
            # Ray 2.60: else this process, which made it, would find the dead one by its name for ever after a SIGKILL.
            await to_thread.run_sync(cast("Any", ray.kill), actor)
            return death(error)
        except RayError as error:
            log.warning("the death of %s would go unnoticed: %s", name, error)
            return None
        else:
            return None


async def end_all(actors: Iterable[Actor]) -> None:
    """End actors at once, each whatever becomes of the others; then raise what the first of them failed with."""
    for error in filter(None, await asyncio.gather(*map(end, actors), return_exceptions=True)):
        raise error


async def close(actor: Actor) -> None:
    """Have an actor end by itself; what fails in it is logged, for nobody else will hear of it."""
    try:
        await actor.close.remote()
    except RayTaskError as error:
        log.warning("an actor could not close and is killed: %s", translate(error, "an actor"))


async def dead(actor: Actor) -> None:
    """Wait until Ray says that an actor is dead."""
    while True:
        try:
            await actor.ping.remote()
        except ActorDiedError:
            return
        except ActorUnavailableError:  # it is being found out
            pass
        await asyncio.sleep(DEATH_PAUSE)
