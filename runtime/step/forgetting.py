"""What a failed run does not leave behind: the request that no provider takes, which would spoil every later one.

The history goes back to where the run began. Messages of peers that it had read are named in one note, so that the
model can ask for them again; their words are left out, because it may be they that were refused.
"""

from dataclasses import replace

from ...protocols.messages import Message, Role, Turn
from ...protocols.notices import NoticeType
from ...protocols.plural import plural
from .compaction import is_note, is_reply, start_of
from .effects import Notify
from .heads import LEFT_OUT, peer_messages
from .recap import Recap
from .state import AgentState
from .transcript import Transcript

__all__ = ("REFUSED", "forget", "spoiled")

REFUSED = "ContentRefused"
"""Name of the error by which a provider says that it does not answer to such contents."""

SPOILING = frozenset({REFUSED, "ContextOverflow"})
"""Errors that the same history meets again."""

NAMED = 20
"""How many messages the note names, the newest."""


def spoiled(state: AgentState, kind: str) -> bool:
    """Whether a run that failed must not stay in the memory: it would fail again, or nothing came of it at all."""
    transcript = state.transcript
    told = transcript.recap is not None and transcript.since == start_of(transcript) and state.current.rounds > 0
    return kind in SPOILING or not (told or any(map(is_reply, transcript.of_run)))


def forget(state: AgentState, kind: str) -> tuple[AgentState, tuple[Notify, ...]]:
    """The agent without what the run, which is over, added to its memory; and what watchers see of that.

    Args:
        state: No batch is open.
        kind: Why the run ended: the name of an error's class.
    """
    if state.rules.memory == "run":
        return state, ()
    transcript = state.transcript
    place, start = beginning(transcript, kind), start_of(transcript)
    turns, recap = transcript.turns[:place], transcript.recap
    heads = [head for turn in transcript.turns[place:] if is_note(turn) for head in named(turn.content)]
    if recap is not None and place == start:  # it tells of the run as well as of what was before it
        heads, recap = [*(head for mail in recap.mails for head in named(mail)), *heads], remembered(recap)
        turns = turns if recap is None else (*turns, Message(Role.USER, recap.text))
    runs = tuple(began for began in transcript.runs if began < len(turns)) or (start,)
    if heads:
        runs = (*runs, len(turns)) if len(turns) > start else runs  # a run of its own: what is before it, was taken
        turns = (*turns, Message(Role.USER, missing(heads)))
    text = f"What the run added to the memory is left out, {plural(len(transcript.turns) - place, 'message')}"
    text += f", with {', '.join(heads)}" if heads else ""
    told = Notify(NoticeType.RUN, "forgotten", text, {"error": kind, "mails": [*heads]}, warning=True)
    return replace(state, transcript=transcript.replaced(turns, runs, recap)), (told,)


def named(note: str) -> tuple[str, ...]:
    """The messages that a note holds, or names because it stands for them, by the line above each."""
    if note.startswith(LEFT_OUT):
        return tuple(line.removeprefix("- ") for line in note.splitlines() if line.startswith("- "))
    return tuple(mail.partition("\n")[0] for mail in peer_messages(note))


def beginning(transcript: Transcript, kind: str) -> int:
    """Where the run began; of refused contents the first run since the model last ended one in words.

    What stands before that, a provider has taken. What an earlier run left without an answer may be what is refused.
    """
    *earlier, place = transcript.runs
    while kind == REFUSED and earlier and not proven(transcript, place):
        place = earlier.pop()
    return place


def proven(transcript: Transcript, place: int) -> bool:
    """Whether a provider has taken all that stands before the place."""
    last: Turn = transcript.turns[place - 1]
    return (isinstance(last, Message) and is_reply(last) and not last.calls) or (
        transcript.recap is not None and place == start_of(transcript) + 1
    )


def remembered(recap: Recap) -> Recap | None:
    """What a note tells of earlier runs; None: nothing."""
    recap = Recap(summary=recap.summary, slid=recap.slid, done=recap.done)
    return recap if recap.text else None


def missing(heads: list[str]) -> str:
    """The note that names the messages which are left out."""
    more = [f"- and {len(heads) - NAMED} older ones"] if len(heads) > NAMED else []
    return "\n".join((LEFT_OUT, *(f"- {head}" for head in heads[-NAMED:]), *more))
