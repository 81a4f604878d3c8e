"""Names of things, as types: a checker refuses a run where an agent is meant."""

from typing import NewType

__all__ = ("SUPERVISOR", "USER", "AgentId", "Incarnation", "MessageId", "RunId")

AgentId = NewType("AgentId", str)
"""An agent's name, unique in its fleet."""

RunId = NewType("RunId", str)
"""One task given to one agent, unique in its fleet."""

MessageId = NewType("MessageId", str)
"""One message, however often it is sent again."""

Incarnation = NewType("Incarnation", int)
"""Number of an agent's life, from 1; a restart raises it and everything older is refused."""

SUPERVISOR = AgentId("supervisor")
"""The sender of the runtime's own notes; no agent may have this name."""

USER = AgentId("user")
"""The sender of what a person sends from the CLI or the API; no agent may have this name."""
