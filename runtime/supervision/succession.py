"""The next life of an agent whose process another one has followed."""

from ...protocols.ids import AgentId, Incarnation
from .supervisor import Supervisor
from .wording import PROCESS_DIED

__all__ = ("next_life",)


def next_life(supervisor: Supervisor, agent: AgentId, ended: Incarnation, pid: int) -> Incarnation | None:
    """Note that a life is over and admit the one that follows it, if it may be followed.

    Asked again, when the answer was lost, it gives the same: only the process that follows asks.

    Args:
        supervisor: Who decides.
        agent: Whose life.
        ended: The number of the life that is over.
        pid: The process of the next.

    Returns:
        The number of the next life. None: the agent is stopped or dead for good, or died too often of late.

    Raises:
        AgentUnknown: There is no such agent.
    """
    row = supervisor.find(agent)
    if row.incarnation > ended:
        return row.incarnation
    if not supervisor.died(agent, ended, PROCESS_DIED, restart=True):
        return None
    (life,) = supervisor.admit_all((supervisor.newcomer(agent)._replace(born=True),), pid)
    return life
