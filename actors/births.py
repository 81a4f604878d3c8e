"""How the children of a service's agents come to life: made by the Supervisor's process, which they outlive.

Measured with Ray 2.60: a detached actor that another actor made goes on when that one's process dies, and is started
again when its own does, if its arguments are small (`description.py`).
"""

from functools import partial
from typing import cast

from anyio import to_thread

from ..runtime.host import Seat
from .agent import AgentActor
from .channel import actor_name
from .description import Pieces
from .lifecycle import create_agent, kill, made, ready
from .link import AgentsDesk, Charter
from .remains import handle
from .room import room
from .ties import Ties

__all__ = ("bear",)


async def bear(charter: Charter, desk: type[AgentsDesk], seat: Seat, description: Pieces) -> None:
    """Make a child's actor and have it begin; the port `Bear`.

    Asked again, after a Supervisor died meanwhile, it goes on with the actor that there is.

    Raises:
        FleetError: It cannot be, and nothing is left of it.
    """
    actor = cast("type[AgentActor] | None", await to_thread.run_sync(handle, charter.fleet, actor_name(seat.name)))
    if actor is None:
        ties = Ties(charter.fleet, desk, charter.journal, service=True)
        _, where = await room(1, 0)
        actor = await made(partial(create_agent, ties, description, seat, next(where)))
    try:
        await ready(actor.open.remote(None), seat.name)
    except BaseException:
        await kill(actor)
        raise
