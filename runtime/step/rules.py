"""The numbers of an agent's loop."""

from dataclasses import dataclass, field
from typing import Literal

from .compaction import CompactionRules
from .strategies import BuiltinStrategy, Strategy

__all__ = ("Rules",)


@dataclass(frozen=True, slots=True)
class Rules:
    """The numbers of an agent's loop. Attributes of the same meaning in `AmritaConfig` are given in brackets.

    Attributes:
        rounds: Rounds a run may have [`function_config.agent_tool_call_limit`].
        step_rounds: Rounds a Step may have; with a plan a Step is one node, however many rounds it takes.
        step_tokens: Prompt tokens a Step may use; -1: any number [`function_config.agent_step_token_budget`].
        repeats: The how-many-th identical call in a row does not run [`builtin.loop_reasoning_trigger`].
        retries: How often a failed model call is tried again.
        retry_base: Seconds before the first new attempt; doubles with each.
        retry_cap: The most seconds between two attempts.
        patience: Seconds an agent waits for tokens that calls in flight hold; no call takes longer.
        presets: How many presets there are, the first and those that take over from it.
        output: Output tokens wanted of a call.
        last_output: Output tokens wanted of a last answer.
        last_seconds: Seconds a last answer may take once the run's time is over.
        side_output: Output tokens wanted of a plan, a summary.
        side_input: Bytes of text to which a request for a plan or a summary is cut.
        mail_bytes: Bytes of mail one boundary takes.
        memory: Whether the transcript goes on from run to run.
        instructions: The system message.
        plan: Whether a task is decomposed: never, always, or when the model says that it helps.
        compaction: When the history is made smaller, and how.
        strategy: What chooses nodes, judges stalls and so on; a pure object.
    """

    rounds: int = 10
    step_rounds: int = 4
    step_tokens: int = -1
    repeats: int = 5
    retries: int = 3
    retry_base: float = 0.5
    retry_cap: float = 30.0
    patience: float = 300.0
    presets: int = 1
    output: int = 4096
    last_output: int = 512
    last_seconds: float = 30.0
    side_output: int = 2048
    side_input: int = 48_000
    mail_bytes: int = 32 * 1024
    memory: Literal["agent", "run"] = "agent"
    instructions: str = ""
    plan: Literal["never", "auto", "always"] = "never"
    compaction: CompactionRules = field(default_factory=CompactionRules)
    strategy: Strategy = field(default_factory=BuiltinStrategy)
