"""Making the history smaller, at a boundary or because a provider found it too long, and then going on.

    due -> Compacting -> Replied: a summary -> the old rounds become one note
                         anything else      -> they are left out (sliding)

What a summary cannot save is cut: outputs first, then whole rounds and messages, at last the request itself. A history
that cannot be made smaller stays as it is, and nothing is tried twice for the same reason.
"""

from dataclasses import replace

from ...protocols.messages import Finish, Json, Turn
from ...protocols.notices import NoticeType
from ...protocols.plural import plural
from .asking import ask
from .compaction import (
    BYTES_PER_TOKEN,
    CompactionRules,
    Fold,
    due,
    fold,
    instructions,
    next_input,
    summary_request,
    worthwhile,
)
from .effects import Commit, Moved, Notify
from .events import ModelFailed, Replied
from .fitting import fitted
from .folding import Pins, folded, pinned
from .judging import judge
from .phases import Ask, Compacting
from .sizes import size_of
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
    smaller = fitted(state.transcript, bounds(state, OVERFLOW), pins(state))
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
    """Ask for a summary of what is to go, or, where too little can go, cut what is too large."""
    found = folding(state, doing)
    if found is None or not (doing.why == OVERFLOW or worthwhile(state.rules.compaction, found)):
        return replaced(state, doing.why, state.transcript, "cut")
    return ask(state, doing)


def folding(state: AgentState, doing: Compacting) -> Fold | None:
    """What would go and what would stay."""
    return fold(state.transcript, bounds(state, doing.why), doing.keep, pinned(state.transcript, pins(state)))


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
    found = folding(state, doing)
    assert found is not None, doing.why  # noqa: S101  it was there when the summary was asked for, and nothing changed
    transcript = folded(found, pins(state), summary)
    return replaced(state, doing.why, transcript, "sliding" if summary is None else "summary")


def replaced(state: AgentState, why: str, transcript: Transcript, how: str) -> Moved:
    """Go on with a smaller history, what is too large in it cut."""
    transcript = fitted(transcript, bounds(state, why), pins(state))
    if transcript is state.transcript:
        return think(state)
    state, told = replace(state, transcript=transcript, measured=None), compressed(state, why, transcript, how)
    state, effects = think(state)
    return state, (told, Commit(), *effects)


def compressed(state: AgentState, why: str, transcript: Transcript, how: str) -> Notify:
    """What watchers see of it; `state` is as it was before."""
    before, task = tokens(state), state.current.task
    data: dict[str, Json] = {
        "reason": why,
        "how": how,
        "from": before,
        "to": before * transcript.size // state.transcript.size,  # in the provider's own measure, as `before` is
        "from_messages": len(state.transcript.turns),
        "to_messages": len(transcript.turns),
    }
    text = f"{why}: {data['from']} -> {data['to']} tokens, {plural(len(transcript.turns), 'message')} ({how})"
    left = transcript.recap.task if transcript.recap else ""
    cut = bool(left) and left != task
    if cut:
        data |= {"request_from": size_of(task), "request_to": size_of(left)}
        text += f"; the request itself is cut: {size_of(task)} -> {size_of(left)} bytes"
    return Notify(NoticeType.STEP, "compress", text, data, warning=cut or how != "summary")


def tokens(state: AgentState) -> int:
    """About how many tokens the next request would have."""
    return next_input(state.transcript, state.measured)


def pins(state: AgentState) -> Pins:
    """What must survive; a hint does as long as the call that it is about is the newest."""
    run = state.current
    plan = f"{run.plan.status_text()}\n\n{run.instruction}" if run.plan else ""
    return Pins(run.task, plan.strip(), run.hint if run.window.same_results > 1 else "")


def bounds(state: AgentState, why: str) -> CompactionRules:
    """What counts: the setting in the provider's own measure; half of what can go where the provider says too long.

    A history that a provider refused was too large, whatever the configuration says.
    """
    rules, size = state.rules.compaction, state.transcript.size
    if why == OVERFLOW:
        room = (size + instructions(state.transcript)) // 2
    else:
        room = size * rules.tokens // max(1, tokens(state))
    return replace(rules, window=min(rules.room, room) // BYTES_PER_TOKEN + 1, threshold=-1)
