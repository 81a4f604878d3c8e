"""Making the history smaller, at a boundary or because a provider found it too long, and then going on.

    due -> Compacting -> Replied: a summary -> the old rounds become one note
                         anything else      -> they are left out (sliding)

What a summary cannot save is cut: of rounds that are too large by themselves the largest outputs. A history that cannot
be made smaller stays as it is, and nothing is tried twice for the same reason.
"""

from dataclasses import replace

from ...protocols.messages import Finish, Json, Turn
from ...protocols.notices import NoticeType
from .asking import ask
from .compaction import (
    CompactionRules,
    Fold,
    Pins,
    due,
    fold,
    folded,
    next_input,
    shrunk,
    summary_request,
)
from .effects import Commit, Moved, Notify
from .events import ModelFailed, Replied
from .judging import judge
from .phases import Ask, Compacting
from .state import AgentState
from .thinking import think
from .transcript import Transcript
from .usage import counted_aside

__all__ = ("OVERFLOW", "compact_overflow", "compacted", "slide", "summary_turns", "think_within")

OVERFLOW = "ContextOverflow"
"""Name of the error by which a provider says that a request was too long; also why the history is made smaller."""


def think_within(state: AgentState) -> Moved:
    """Ask the model, with a history that fits."""
    why = due(state.rules.compaction, state.transcript, state.measured)
    if not why:
        return think(state)
    doing, told = kept(state, why)
    state, effects = compact(state, doing)
    return state, (*told, *effects)


def compact_overflow(state: AgentState, event: ModelFailed) -> Moved | None:
    """Make the history smaller because a provider refused it; None when that was done already, or cannot be."""
    run = state.current
    if event.kind != OVERFLOW or run.overflowed or state.rules.compaction.strategy == "none":
        return None
    doing, told = kept(state, OVERFLOW)
    smaller = shrunk(state.transcript, bounds(state, OVERFLOW).room)
    if folding(state, doing) is None and smaller is state.transcript:
        return None
    state, effects = compact(replace(state, run=replace(run, overflowed=True)), doing)
    return state, (*told, *effects)


def kept(state: AgentState, why: str) -> tuple[Compacting, tuple[Notify, ...]]:
    """What is to be done. A strategy, which may say how many rounds stay, is asked only here."""
    turns, strategy = state.transcript.turns, state.rules.strategy
    keep = judge(
        "compact",
        lambda: strategy.compact(turns, why),
        lambda rounds: rounds is None or (isinstance(rounds, int) and rounds >= 0),
        otherwise=None,
    )
    return Compacting(Ask(), why, keep.value), keep.told


def compact(state: AgentState, doing: Compacting) -> Moved:
    """Ask for a summary of what is to go, or, where only outputs can be cut, cut them."""
    if folding(state, doing) is None:
        return replaced(state, doing.why, state.transcript, "cut")
    return ask(state, doing)


def folding(state: AgentState, doing: Compacting) -> Fold | None:
    """What would go and what would stay."""
    return fold(state.transcript, bounds(state, doing.why), doing.keep)


def summary_turns(state: AgentState, doing: Compacting) -> tuple[Turn, ...]:
    """The request for a summary of what is to go."""
    found = folding(state, doing)
    assert found is not None, doing.why  # noqa: S101  as in `put_together`
    return summary_request(found, state.rules.side_input)


def compacted(state: AgentState, doing: Compacting, event: Replied) -> Moved:
    """Take the summary; one that is empty, was cut, or calls a tool is none."""
    state, told = counted_aside(state, doing, event.reply)
    message = event.reply.message
    usable = bool(message.content.strip()) and not message.calls and event.reply.finish is not Finish.LENGTH
    state, effects = put_together(state, doing, message.content if usable else None)
    return state, (told, *effects)


def slide(state: AgentState, doing: Compacting) -> Moved:
    """Leave the old rounds out: there will be no summary."""
    return put_together(state, doing, None)


def put_together(state: AgentState, doing: Compacting, summary: str | None) -> Moved:
    """The history with its old rounds folded, or left out."""
    run, found = state.current, folding(state, doing)
    assert found is not None, doing.why  # noqa: S101  it was there when the summary was asked for, and nothing changed
    status = run.plan.status_text() if run.plan else ""
    transcript = folded(found, Pins(run.task, status), summary)
    return replaced(state, doing.why, transcript, "sliding" if summary is None else "summary")


def replaced(state: AgentState, why: str, transcript: Transcript, how: str) -> Moved:
    """Go on with a smaller history, its outputs cut where they alone are too large."""
    transcript = shrunk(transcript, bounds(state, why).room)
    if transcript is state.transcript:
        return think(state)
    before = tokens(state)
    sizes: dict[str, Json] = {
        "from": before,
        "to": before * transcript.size // state.transcript.size,  # in the provider's own measure, as `before` is
        "from_messages": len(state.transcript.turns),
        "to_messages": len(transcript.turns),
    }
    text = f"{why}: {sizes['from']} -> {sizes['to']} tokens, {sizes['to_messages']} messages ({how})"
    told = Notify(NoticeType.STEP, "compress", text, {"reason": why, "how": how, **sizes}, warning=how != "summary")
    state, effects = think(replace(state, transcript=transcript, measured=None))
    return state, (told, Commit(), *effects)


def tokens(state: AgentState) -> int:
    """About how many tokens the next request would have."""
    return next_input(state.transcript, state.measured)


def bounds(state: AgentState, why: str) -> CompactionRules:
    """The windows that count. One that a provider refused was too large, whatever the configuration says."""
    rules = state.rules.compaction
    if why != OVERFLOW:
        return rules
    return replace(rules, window=max(1, min(rules.window, tokens(state) // 2)))
