"""How long something may take, and how often it may come again, before the watch calls it trouble."""

from dataclasses import dataclass, fields

__all__ = ("Deadlines",)


@dataclass(frozen=True, kw_only=True)
class Deadlines:
    """Slow is not stalled: each of these is beyond what the runtime itself lets its kind of work take.

    There is none for an agent that is idle, paused, held for approval, waiting for mail or for leave to make a model
    call, or that says itself why it stands: none of them is a stall, however long.

    Attributes:
        loop: Seconds the loop of an agent may not answer while its process does.
        process: Seconds its process may not answer; that it is dead is known without asking.
        model: Seconds of one attempt of a model call. Its own time-out (300 s by default) should end it first.
        tool: Seconds a tool call may give no sign of life, counted from its start or its last heartbeat.
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
            ValueError: It names the field and what it must be.
        """
        for each in fields(self):
            value, counts = getattr(self, each.name), isinstance(each.default, int)
            if not value >= (2 if counts else 0) or value == 0:  # nan is not either
                least = "a whole number of at least 2" if counts else "above 0 seconds"
                raise ValueError(f"Deadlines.{each.name} must be {least}, not {value!r}.")
