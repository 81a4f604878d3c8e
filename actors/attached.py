"""A fleet that another process owns, steered from here: what a second terminal uses."""

from typing import cast

import ray
from anyio import to_thread
from ray.util import list_named_actors

from ..protocols.ids import SUPERVISOR
from ..runtime.draining import drain_nobody
from ..runtime.errors import SystemUnavailable
from ..runtime.system import Progress, SpawnOrder
from .channel import NAMESPACE, namespace
from .connection import RUNNING, choose, connection
from .replaced import Replaced
from .steering import Steering
from .supervisor import SupervisorActor

__all__ = ("AttachedSystem",)


class AttachedSystem(Steering):
    """Finds a fleet's actors by name. Closing it ends nothing of the fleet."""

    def __init__(self, fleet: str | None, address: str | None) -> None:
        """Nothing is looked for before `open`.

        Args:
            fleet: Its name; None: the only one there is.
            address: Ray's, `host:port`; None: the one that `RAY_ADDRESS` names, else the one that runs on this machine.
        """
        self.fleet = fleet or ""
        self.drain = drain_nobody
        self._address = choose(address, RUNNING)
        self._opened = False

    async def open(self) -> None:
        """Reach Ray and find the fleet.

        Raises:
            SystemUnavailable: Ray cannot be reached or has no such fleet; those it has are named.
        """
        await to_thread.run_sync(connection().join, self._address)
        try:
            self.fleet, supervisor = await to_thread.run_sync(found, self.fleet)
        except BaseException:
            await to_thread.run_sync(connection().leave)
            raise
        self._reach(self.fleet, Replaced(supervisor, SUPERVISOR, self.fleet, again=False))
        self._opened = True

    async def close(self) -> None:
        """Let go of the fleet. Safe to call twice."""
        if self._opened:
            self._opened = False
            self._let_go()
            await to_thread.run_sync(connection().leave)

    async def spawn(self, orders: tuple[SpawnOrder, ...], progress: Progress) -> None:  # noqa: ARG002
        """Never: an agent made here would end with this process.

        Raises:
            SystemUnavailable: Always.
        """
        reason = "only the process that opened a fleet can spawn its agents, because they end with the one that did."
        raise SystemUnavailable(system="ray", reason=reason)


def found(fleet: str) -> tuple[str, type[SupervisorActor]]:
    """The name and the Supervisor of a fleet; an empty name means the only one there is. It blocks.

    Raises:
        SystemUnavailable: There is none of that name, or there are several to choose from.
    """
    names = fleets()
    wanted = fleet or (names[0] if len(names) == 1 else "")
    if wanted not in names:
        there = f"there are {', '.join(names)}" if names else "no fleet runs there"
        which = f"no fleet named {wanted!r}" if wanted else "no single fleet to choose"
        raise SystemUnavailable(system="ray", reason=f"{which}: {there}.")
    return wanted, cast("type[SupervisorActor]", ray.get_actor(SUPERVISOR, namespace(wanted)))


def fleets() -> tuple[str, ...]:
    """The fleets on the Ray that this process uses, sorted by name. It blocks."""
    actors = cast("list[dict[str, str]]", list_named_actors(all_namespaces=True))
    spaces = [each["namespace"] for each in actors if each["name"] == SUPERVISOR]
    return tuple(sorted(space.removeprefix(NAMESPACE) for space in spaces if space.startswith(NAMESPACE)))
