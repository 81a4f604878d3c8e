"""Every metric of a fleet. None has an agent among its labels: a fleet has too many of them.

Names end in their unit, and in `_total` where they only rise, as Prometheus has it.
"""

from dataclasses import dataclass
from enum import StrEnum

__all__ = (
    "AGENTS",
    "CATALOGUE",
    "CHECK_IN_SECONDS",
    "DEAD_LETTERS",
    "DEATHS",
    "LIMIT",
    "MAIL_OLDEST_SECONDS",
    "MAIL_READ",
    "MAIL_READ_SECONDS",
    "MAIL_WAITING",
    "MODEL_CALLS",
    "MODEL_SECONDS",
    "MODEL_TOKENS",
    "RESERVED",
    "RESTARTS",
    "ROUNDS",
    "RUNS",
    "SPENT",
    "STALLS",
    "STEPS",
    "TOOL_CALLS",
    "Kind",
    "Metric",
)


class Kind(StrEnum):
    """What can be done with a metric's values."""

    COUNTER = "counter"
    """They rise, and begin at 0 with each process."""
    GAUGE = "gauge"
    """They are what they are now."""
    HISTOGRAM = "histogram"
    """They are counted by size."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric.

    Attributes:
        name: As it is registered. Ray puts `ray_` before it.
        kind: What its values are.
        about: What it says, in one sentence.
        labels: The names of its labels, besides `fleet`.
        boundaries: Of a histogram: the upper ends of its buckets, rising, in seconds.
    """

    name: str
    kind: Kind
    about: str
    labels: tuple[str, ...] = ()
    boundaries: tuple[float, ...] = ()


def counter(name: str, about: str, *labels: str) -> Metric:
    """A metric that rises."""
    return Metric(f"amrita_fleet_{name}_total", Kind.COUNTER, about, labels)


def gauge(name: str, about: str, *labels: str) -> Metric:
    """A metric that is what it is now."""
    return Metric(f"amrita_fleet_{name}", Kind.GAUGE, about, labels)


def histogram(name: str, about: str, *labels: str, boundaries: tuple[float, ...]) -> Metric:
    """A metric that is counted by size."""
    return Metric(f"amrita_fleet_{name}", Kind.HISTOGRAM, about, labels, boundaries)


QUICK = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
SLOW = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0)

AGENTS = gauge("agents", "Agents in a state, as `ps` spells it.", "state")
RUNS = counter("runs", "Runs that ended, by their outcome.", "outcome")
STEPS = counter("steps", "Steps that ended.")
ROUNDS = counter("rounds", "Answers of models within Steps.")
MODEL_CALLS = counter("model_calls", "Attempts of model calls that came back, by what came of them.", "outcome")
MODEL_SECONDS = histogram("model_seconds", "How long models took to answer.", "model", boundaries=SLOW)
MODEL_TOKENS = counter("model_tokens", "Tokens of answers, by the model, prompt and completion.", "model", "kind")
TOOL_CALLS = counter("tool_calls", "Calls of tools, by what came of them.", "outcome")
MAIL_WAITING = gauge("mail_waiting", "Messages in mailboxes, unread.")
MAIL_OLDEST_SECONDS = gauge("mail_oldest_seconds", "How long the oldest of those from agents waits.")
MAIL_READ = counter("mail_read", "Messages that were read.")
MAIL_READ_SECONDS = histogram(
    "mail_read_seconds", "How long messages of agents waited until they were read.", boundaries=SLOW
)
DEAD_LETTERS = counter("dead_letters", "Messages that were accepted and never read, by why.", "reason")
CHECK_IN_SECONDS = histogram(
    "check_in_seconds", "How long the Supervisor took to answer a check-in, journal included.", boundaries=QUICK
)
STALLS = counter(
    "stalls", "Troubles that the watch found, by kind; `loop`: a Step left because it went in circles.", "trouble"
)
DEATHS = counter("deaths", "Lives of agents that ended with their process.")
RESTARTS = counter("restarts", "Lives of agents that went on where an earlier one was.")
SPENT = gauge("spent", "What the fleet has spent of a unit.", "unit")
RESERVED = gauge("reserved", "What is set aside for calls in flight, of a unit.", "unit")
LIMIT = gauge("limit", "The most that the fleet may spend of a unit; infinite where that was lifted.", "unit")

CATALOGUE = (
    AGENTS,
    RUNS,
    STEPS,
    ROUNDS,
    MODEL_CALLS,
    MODEL_SECONDS,
    MODEL_TOKENS,
    TOOL_CALLS,
    MAIL_WAITING,
    MAIL_OLDEST_SECONDS,
    MAIL_READ,
    MAIL_READ_SECONDS,
    DEAD_LETTERS,
    CHECK_IN_SECONDS,
    STALLS,
    DEATHS,
    RESTARTS,
    SPENT,
    RESERVED,
    LIMIT,
)
"""All of them."""
