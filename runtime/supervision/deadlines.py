"""How long something may take, and how often it may come again, before the watch calls it trouble."""

from dataclasses import dataclass, fields

from ..errors import NumberInvalid
from ..given import is_duration

__all__ = ("Deadlines",)

LEAST, MOST = 2, 100
"""What happened once did not come again; what is remembered of each agent and each pair grows with these numbers."""


@dataclass(frozen=True, kw_only=True)
class Deadlines:
    """Slow is not stalled: each of these is beyond what the runtime itself lets its kind of work take.

    There is none for an agent that is idle, paused, held for approval, waiting for mail or for leave to make a model
    call, or that says itself why it stands: none of them is a stall, however long.

    Attributes:
        loop: Seconds the loop of an agent may not answer while its process does.
        process: Seconds its process may not answer; that it is dead is known without asking.
        model: Seconds of one attempt of a model call. Its own time-out (300 s by default) should end it first.
        tool: Seconds a tool call may give no sign of life, counted from its start or its last heartbeat. Heartbeats are
            passed on every five seconds at most, so with less than ten, one that gives them may seem to give none.
        between: Seconds between two pieces of work: a boundary, a hook, the end of a run.
        call_rounds: Times the same calls come round with the same results. The agent's own rule
            (`builtin.loop_reasoning_trigger`) should end it first.
        message_rounds: Times the same messages go round between agents.
        message_gap: Seconds between a message and the one it led to. What comes round more slowly is a routine.
        failing_agents: Agents for which the same call fails.
        failing_within: Seconds in which they do.
    """

    loop: float = 8.0
    process: float = 30.0
    model: float = 600.0
    tool: float = 600.0
    between: float = 120.0
    call_rounds: int = 10
    message_rounds: int = 4
    message_gap: float = 600.0
    failing_agents: int = 3
    failing_within: float = 600.0

    def __post_init__(self) -> None:
        """Refuse what would find trouble everywhere.

        Raises:
            NumberInvalid: It names the field and what it must be.
        """
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(each.default, int):
                fits = type(value) is int and LEAST <= value <= MOST
                must = f"it must be a whole number from {LEAST} to {MOST}"
            else:
                fits, must = is_duration(value), "it must be a number of seconds above 0"
            if not fits:
                raise NumberInvalid(name=f"Deadlines.{each.name}", given=repr(value), reason=must)
