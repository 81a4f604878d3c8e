"""The one way to a model: leave, then the call; and, when it failed, a pause and leave again.

    ask -> AskLeave -> Directed(Proceed) -> CallModel -> Replied
                       Directed(Wait)    -> StartTimer -> TimerFired -> ask
                                            ModelFailed -> StartTimer -> TimerFired -> ask

Whether to try again, and with which preset, is decided here, so that every attempt checks in with the Supervisor anew.
"""

from dataclasses import replace
from typing import assert_never

from ...protocols.checkin import Grant
from ...protocols.notices import NoticeType
from .effects import AskLeave, CallModel, Moved, Notify, StartTimer
from .events import ModelFailed
from .phases import Ask, Asking, AskStage, Op, Purpose
from .rules import Rules
from .state import AgentState

__all__ = ("ask", "call", "retry_delay", "try_again", "wait_for_leave", "wait_for_turn")


def ask(state: AgentState, doing: Asking, *, first: bool = False) -> Moved:
    """Ask for leave to make one attempt; `first` where that begins a last answer because of a limit."""
    state, op = staged(state, doing, AskStage.LEAVE)
    return state, (AskLeave(op, doing, output_of(state.rules, doing.purpose), first),)


def output_of(rules: Rules, purpose: Purpose) -> int:
    """Output tokens wanted of a call."""
    match purpose:
        case Purpose.THINK:
            return rules.output
        case Purpose.LAST:
            return min(rules.last_output, rules.output)
        case Purpose.DECOMPOSE | Purpose.SUMMARISE | Purpose.COMPACT:
            return min(rules.side_output, rules.output)
        case _:
            assert_never(purpose)


def call(state: AgentState, doing: Asking, grant: Grant) -> Moved:
    """Make the attempt that was granted."""
    state, op = staged(state, doing, AskStage.MODEL, grant.tools)
    return state, (CallModel(op, grant, doing.purpose),)


def wait_then_ask(state: AgentState, doing: Asking, seconds: float) -> Moved:
    """Let some time pass, then ask for leave again."""
    state, op = staged(state, doing, AskStage.TIMER)
    return state, (StartTimer(op, seconds),)


def wait_for_leave(state: AgentState, doing: Asking, seconds: float) -> Moved | None:
    """Wait as the Supervisor asked, or None when the agent has waited as long as any call in flight can take."""
    waited = doing.ask.waited + seconds
    if waited > state.rules.patience:
        return None
    return wait_then_ask(state, replace(doing, ask=replace(doing.ask, waited=waited)), seconds)


def wait_for_turn(state: AgentState, doing: Asking, seconds: float) -> Moved:
    """Wait for the agent's turn at the provider, however long the line is; only the run's own time may end that."""
    return wait_then_ask(state, replace(doing, ask=replace(doing.ask, queued=True)), seconds)


def try_again(state: AgentState, doing: Asking, failed: ModelFailed) -> Moved | None:
    """Try again after a failure: with the same preset, or with the next; None when there is no more to try."""
    return retry(state, doing, failed) or fall_back(state, doing, failed)


def retry(state: AgentState, doing: Asking, failed: ModelFailed) -> Moved | None:
    """Ask the same preset again, or None when that is no use or was tried often enough."""
    failures = doing.ask.failures + 1
    if not failed.retryable or failures > state.rules.retries:
        return None
    # Two pauses for one reason would add up, and who pauses by itself stands in no line.
    seconds = 0.0 if failed.throttled else retry_delay(state.rules, failures, failed)
    told = Notify(
        NoticeType.MODEL,
        "retry",
        f"{failed.sentence} Trying again {'in its turn' if failed.throttled else f'in {seconds:.1f} s'}.",
        {"error": failed.kind, "attempt": failures, "seconds": seconds},
    )
    state, effects = wait_then_ask(state, replace(doing, ask=replace(doing.ask, failures=failures)), seconds)
    return state, (told, *effects)


def fall_back(state: AgentState, doing: Asking, failed: ModelFailed) -> Moved | None:
    """Let the next preset take over for the rest of the run, or None when there is none."""
    preset = state.current.preset + 1
    if preset >= state.rules.presets:
        return None
    told = Notify(
        NoticeType.MODEL,
        "fallback",
        f"{failed.sentence} The next preset takes over.",
        {"error": failed.kind, "preset": preset},
    )
    state, effects = ask(replace(state, run=replace(state.current, preset=preset)), replace(doing, ask=Ask()))
    return state, (told, *effects)


def retry_delay(rules: Rules, failures: int, failed: ModelFailed) -> float:
    """Seconds until the next attempt: doubling, spread by jitter, capped, and never sooner than the provider said."""
    doubled = min(rules.retry_cap, rules.retry_base * 2.0 ** (failures - 1))
    return max(failed.after or 0.0, doubled * (0.5 + failed.jitter / 2))


def staged(state: AgentState, doing: Asking, stage: AskStage, tools: int | None = None) -> tuple[AgentState, Op]:
    """The same phase with its call at another stage, under a new op; `tools`: how many calls its reply may make."""
    op = state.next_op
    before = Ask() if stage is AskStage.MODEL else doing.ask
    ask = Ask(op, stage, doing.ask.failures, waited=before.waited, queued=before.queued, tools=tools)
    asking = replace(doing, ask=ask)
    return replace(state, doing=asking, next_op=Op(op + 1)), op
