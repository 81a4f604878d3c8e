"""What the watch finds wrong, with the evidence."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ...protocols.ids import AgentId
from ...protocols.messages import Json

__all__ = ("Finding", "Trouble")


class Trouble(StrEnum):
    """The kinds of trouble.

    `DEAD`: its process is gone. `WEDGED`: its process answers, the loop it works in does not. `UNREACHABLE`: neither
    does. `MODEL`, `TOOL`, `STUCK`: no progress in a model call, in a tool call, between the two. `CALL_LOOP`: one agent
    makes the same calls with the same results. `MESSAGE_LOOP`: agents send each other the same messages.
    `SHARED_FAILURE`: several agents make the same call, and it fails for all.
    """

    DEAD = "dead"
    WEDGED = "wedged"
    UNREACHABLE = "unreachable"
    MODEL = "model"
    TOOL = "tool"
    STUCK = "stuck"
    CALL_LOOP = "call_loop"
    MESSAGE_LOOP = "message_loop"
    SHARED_FAILURE = "shared_failure"


@dataclass(frozen=True, slots=True)
class Finding:
    """One trouble.

    Attributes:
        key: The same as long as it is the same trouble.
        agents: Whom it concerns.
        text: What it is, as a sentence without its full stop.
        fresh: When the newest evidence that suffices by itself began, in the watch's seconds. Whatever was done about
            it before that did not help.
        evidence: Ids, counts and times, as plain data.
    """

    trouble: Trouble
    key: str
    agents: tuple[AgentId, ...]
    text: str
    fresh: float
    evidence: Mapping[str, Json] = field(default_factory=dict[str, Json])
