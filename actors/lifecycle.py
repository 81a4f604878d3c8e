"""How an actor begins and ends; where the plain classes become Ray's, but for `tool_servers.py`."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from typing import Any, TypeAlias, TypeVar, cast

import ray
from anyio import to_thread
from ray.actor import ActorClass
from ray.exceptions import ActorAlreadyExistsError, ActorDiedError, ActorUnavailableError, RayError, RayTaskError

from ..protocols.errors import FleetError
from ..protocols.ids import SUPERVISOR
from ..runtime.errors import ChannelClosed, SystemUnavailable
from ..runtime.host import Seat
from ..runtime.supervision.policy import WatchPolicy
from .agent import AgentActor
from .channel import CONTROL, MAIL, actor_name, namespace
from .description import Pieces
from .errors import death, translate, translated
from .gateway import GatewayActor
from .journal import JOURNAL, READ, JournalActor, JournalPlace
from .killing import kill
from .lifetimes import here, lifetime
from .link import CHECK_IN, SETTLE, Charter
from .placement import Place
from .replaced import RETRY_PAUSE
from .steering_desk import WATCH
from .supervisor import SupervisorActor
from .ties import Ties
from .tool_servers import ToolServersActor

__all__ = (
    "READY_PATIENCE",
    "SPAWN_PATIENCE",
    "Actor",
    "Lasting",
    "create_agent",
    "create_journal",
    "create_supervisor",
    "death_of",
    "end",
    "end_all",
    "kill",
    "made",
    "ready",
)

log = logging.getLogger(__name__)

READY_PATIENCE = 120.0
"""Seconds a new actor has to become ready: a worker process takes one, on a busy machine some more."""

SPAWN_PATIENCE = 3 * READY_PATIENCE
"""Seconds without news of a spawn after which nobody goes on with it. Between two births there are at most the making
of an actor, `READY_PATIENCE`, and where that was not enough the end of those that live already; each of the others is
up to a minute long while Ray's head is down."""

CLOSE_PATIENCE = 2.0
"""Seconds an actor has to end by itself before it is killed."""

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
Lasting: TypeAlias = type[JournalActor] | type[SupervisorActor]
"""Handles of those that a fleet has one of, and that may be made anew."""

Actor: TypeAlias = Lasting | type[AgentActor] | type[GatewayActor] | type[ToolServersActor]
"""A handle: to a type checker the class, so that `handle.method.remote(...)` is typed."""


A = TypeVar("A", bound=Actor)


def create_journal(fleet: str, place: JournalPlace, *, create: bool, service: bool = False) -> type[JournalActor]:
    """Make the actor of a fleet's journal: on this process's node, and where it is a file nowhere else. It blocks.

    `create`: whether a missing file becomes a journal.

    Raises:
        SystemUnavailable: There is a fleet of this name.
    """
    options = Journals.options(
        name=JOURNAL, namespace=namespace(fleet), **here(soft=not place.local), **lifetime(service=service)
    )
    with unique(fleet):
        return cast("type[JournalActor]", options.remote(place.url, create, service))


def create_supervisor(charter: Charter, watch: WatchPolicy | None) -> type[SupervisorActor]:
    """Make a fleet's Supervisor, on this process's node if it can be. It blocks.

    `watch`: what it does about agents that hang or loop; None: the defaults.

    Raises:
        SystemUnavailable: There is a fleet of this name.
    """
    options = Supervisors.options(
        name=SUPERVISOR, namespace=namespace(charter.fleet), **here(soft=True), **lifetime(service=charter.service)
    )
    with unique(charter.fleet):
        return cast("type[SupervisorActor]", options.remote(charter, watch))


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


def create_agent(ties: Ties, description: Pieces, seat: Seat, place: Place) -> type[AgentActor]:
    """Make the actor of an agent; it lives as long as the handle, or, a service's, until it is killed. It blocks.

    Raises:
        SystemUnavailable: Ray still has the actor of an earlier life.
    """
    space = namespace(ties.fleet)
    living = lifetime(service=ties.service)
    options = Agents.options(name=actor_name(seat.name), namespace=space, num_cpus=0, **place, **living)
    try:
        return cast("type[AgentActor]", options.remote(seat, ties, *description))
    except ActorAlreadyExistsError:
        reason = f"an earlier life of {seat.name!r} has not ended yet: try again."
        raise SystemUnavailable(system="ray", reason=reason) from None


async def made(create: Callable[[], A]) -> A:
    """Make an actor, in a thread. Whoever is cancelled meanwhile leaves none behind."""
    making = asyncio.ensure_future(to_thread.run_sync(create))
    try:
        return await asyncio.shield(making)
    except asyncio.CancelledError:
        with suppress(FleetError, RayError):
            await kill(await making)
        raise


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
