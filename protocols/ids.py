"""Names of things, as types: a checker refuses a run where an agent is meant."""

from typing import NewType

__all__ = ("SUPERVISOR", "USER", "AgentId", "Incarnation", "MessageId", "RunId", "life_of")

AgentId = NewType("AgentId", str)
"""An agent's name, unique in its fleet."""

RunId = NewType("RunId", str)
"""One task given to one agent, unique in its fleet: `name.incarnation.number`."""

MessageId = NewType("MessageId", str)
"""One message, however often it is sent again."""

Incarnation = NewType("Incarnation", int)
"""Number of an agent's life, from 1; a restart raises it and everything older is refused."""

SUPERVISOR = AgentId("supervisor")
"""The sender of the runtime's own notes; no agent may have this name."""

USER = AgentId("user")
"""The sender of what a person sends from the CLI or the API; no agent may have this name."""


def life_of(run: RunId) -> Incarnation:
    """The life of its agent that a run belongs to."""
    return Incarnation(int(run.split(".")[1]))
