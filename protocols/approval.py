"""What a person is asked: whether a tool call may run."""

from dataclasses import dataclass

from .ids import AgentId, RunId

__all__ = ("Approval", "agent_of")


@dataclass(frozen=True, slots=True)
class Approval:
    """One call that waits until a person allows or refuses it.

    Attributes:
        id: What it is answered under, unique in the fleet: `name.incarnation.number.op`.
        step: Steps of the agent's life so far.
        arguments: JSON text: exactly what runs if it is allowed, which hooks may have rewritten.
        reason: Why a person is asked.
        since: Unix seconds when the agent began on the calls that this one belongs to.
    """

    id: str
    agent: AgentId
    run: RunId
    step: int
    tool: str
    arguments: str
    reason: str
    since: float

    def __str__(self) -> str:
        """One line: the id, the call and why it waits."""
        return f"{self.id}: {self.tool} {self.arguments} ({self.reason})"


def agent_of(approval: str) -> AgentId:
    """The agent whose call an approval is about; names of agents have no dots."""
    return AgentId(approval.partition(".")[0])
