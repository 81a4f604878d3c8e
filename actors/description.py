"""An agent's description on its way to another process: bytes, made where the description was, and in pieces.

What it may spawn goes along as bytes of its own. So each description is pickled once, in the process whose code it
names, and goes on unopened: a class that went by value is not always what it was, and could not go on by value again.

Ray keeps an argument of more than 100 KB as an object of the process that gave it (measured with Ray 2.60): an actor
that outlives that process could not be started again, for its argument is lost. Pieces are part of what Ray itself
remembers of the actor.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias, cast

from ray import cloudpickle

from ..runtime.agent import Agent

__all__ = ("Description", "Pieces", "packed", "pieces", "unpacked")

PIECE = 64 * 1024
"""Bytes of one."""

Pieces: TypeAlias = tuple[bytes, ...]


class Description(NamedTuple):
    """An agent, and the bytes of the descriptions that it may spawn, by kind."""

    agent: Agent
    kinds: Mapping[str, bytes]


def packed(agent: Agent) -> bytes:
    """The description's bytes; one that cannot be sent was refused when it was given."""
    spawns: Mapping[str, Agent] = {} if agent.spawns is None else agent.spawns.kinds
    kinds = {name: packed(kind) for name, kind in spawns.items()}
    return cast("bytes", cast("Any", cloudpickle).dumps(Description(agent, kinds)))


def pieces(whole: bytes) -> Pieces:
    """A description's bytes as Ray is to carry them."""
    return tuple(whole[start : start + PIECE] for start in range(0, len(whole), PIECE))


def unpacked(given: Pieces) -> Description:
    """The description, in a process that can import what it names."""
    return cast("Description", cast("Any", cloudpickle).loads(b"".join(given)))
