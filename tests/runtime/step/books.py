"""What a test knows by itself of a life that it watches."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from amrita_fleet.protocols.messages import Json
from amrita_fleet.runtime.step.effects import Effect, Notify
from amrita_fleet.runtime.step.phases import Op

__all__ = ("Books", "notices")


@dataclass
class Books:
    """What the test knows by itself of the run it watches.

    Attributes:
        row: The newest signature and how often it came in a row; a round that waits begins a new row, and so does
            another node of a plan.
        given: What the calls of the open batch came to, by op.
        asked: Ops under which a person was asked.
        allowed: Keys of the calls that a person allowed.
        aside: Replies to side requests since the last reply of another kind.
        failed: Failed attempts since the last reply.
        overflows: How often the history was folded since then because a provider found it too long.
    """

    row: tuple[str, int] = ("", 0)
    given: dict[Op, str] = field(default_factory=dict[Op, str])
    asked: set[Op] = field(default_factory=set[Op])
    allowed: set[Op] = field(default_factory=set[Op])
    waited: bool = False
    aside: int = 0
    failed: int = 0
    overflows: int = 0


def notices(effects: tuple[Effect, ...], extra_type: str) -> list[Mapping[str, Json]]:
    """The data of the notices of a kind."""
    return [effect.data for effect in effects if isinstance(effect, Notify) and effect.extra_type == extra_type]
