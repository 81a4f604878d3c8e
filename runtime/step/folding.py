"""What is written in place of the turns that go: one note, which holds what must not be lost of them.

The request in work, the plan, the newest messages of peers and what the runtime last told the model stay word for word
while they have half of the room together. Beyond that each loses its middle, and the line in its place says so.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ...protocols.messages import Message, Role, Turn
from .compaction import Fold, is_note, is_reply
from .digest import shown
from .heads import guarded, is_mail, peer_messages
from .recap import Recap
from .sizes import FRAME, level, shortened, size_of, weight
from .transcript import Transcript

__all__ = ("Pins", "collapsed", "folded", "pinned")

SUMMARY = 8 * 1024
"""Bytes of a summary at most."""

MAILS = 4
"""How many of the newest messages of peers stay; those that the model has not answered yet stay in any case."""

LEAST_MAIL = 256
"""Bytes below which a message is not cut for the sake of older ones."""

DONE = 20
DONE_LINE = 120
"""How many of the newest earlier requests stay, and the bytes of each."""

LINE = 2000
"""Bytes of one turn at most where turns are told in short."""

HEAD = 48
"""Bytes kept for the line above a part, and what stands between parts."""


@dataclass(frozen=True, slots=True)
class Pins:
    """What must survive. Each may be empty.

    Attributes:
        task: The request in work.
        plan: The plan's status with its head, and what is to be done now.
        hint: What the model was told about a call that it goes on repeating.
    """

    task: str = ""
    plan: str = ""
    hint: str = ""


def pinned(transcript: Transcript, pins: Pins) -> int:
    """Bytes of what would stay if all turns went."""
    mails = [mail for turn in transcript.turns if is_note(turn) for mail in peer_messages(turn.content)]
    old = transcript.recap.mails if transcript.recap else ()
    return sum(size_of(text) + HEAD for text in (pins.task, pins.plan, pins.hint, *[*old, *mails][-MAILS:]) if text)


def folded(found: Fold, pins: Pins, summary: str | None) -> Transcript:
    """The history with one note in place of what goes.

    Args:
        found: From `compaction.fold`.
        pins: What stands in the note unless it stands in what stays.
        summary: What a model wrote about what goes; None or blank: there is none (sliding), and an older one stays.
    """
    before = earlier(found)
    left = max(found.room // 2, found.room - sum(map(weight, found.kept)) - FRAME)
    size = min(left, sum(map(weight, found.old)) - FRAME - 1)
    recap = with_summary(pinned_parts(found, pins, before), before, (summary or "").strip(), size)
    return replaced(found, with_requests(recap, before.done, size))


def collapsed(found: Fold, pins: Pins) -> Transcript:
    """The history with a note in place of what goes that tells the newest of it in short.

    For turns that are too large by themselves, whatever makes them so: calls as well as thoughts are told as text,
    because an edited reply would be refused. It has at most the room of the fold.
    """
    before = earlier(found)
    size = found.room - sum(map(weight, found.kept)) - FRAME
    recap = with_summary(pinned_parts(found, pins, before), before, "", size)
    recap = replace(recap, last=newest(untold(found, pins), (size - size_of(recap.text)) * 3 // 4 - HEAD))
    return replaced(found, with_requests(recap, before.done, size))


def replaced(found: Fold, recap: Recap) -> Transcript:
    """The history with the note."""
    start = len(found.system)
    runs = (start, *(place - found.cut + start + 1 for place in found.history.runs if place >= found.cut))
    return found.history.replaced((*found.system, Message(Role.USER, recap.text), *found.kept), runs, recap)


# --- what is pinned ---------------------------------------------------------------------------------------------------


def pinned_parts(found: Fold, pins: Pins, before: Recap) -> Recap:
    """What is pinned and does not stand in what stays: the request first, then the plan, then messages."""
    said = {turn.content for turn in found.kept if is_note(turn)}
    mails, room = last_mails(before.mails, found), found.room // 2
    hint = "" if pins.hint in said else shortened(pins.hint, room // 2)
    plan = "" if any(f"{text}\n\n".startswith(f"{pins.plan}\n\n") for text in said) else pins.plan
    behind = needed((plan, hint, *mails))
    task = "" if pins.task in said else shortened(pins.task, room - HEAD - min(behind, room // 4))
    room -= needed((task, hint))
    plan = shortened(plan, room - HEAD - min(needed(mails), room // 2))
    return Recap(mails=fair(mails, room - needed((plan,))), plan=plan, hint=hint, task=task)


def needed(texts: Iterable[str]) -> int:
    """Bytes of the parts that there are."""
    return sum(size_of(text) + HEAD for text in texts if text)


def last_mails(before: tuple[str, ...], found: Fold) -> tuple[str, ...]:
    """The newest messages of peers that do not stand in what stays, and all that no reply stands behind."""
    staying = sum(len(peer_messages(turn.content)) for turn in found.kept if is_note(turn))
    turns = found.history.turns
    answered = max((place for place, turn in enumerate(turns) if is_reply(turn)), default=-1)
    new = sum(len(peer_messages(turn.content)) for turn in turns[answered + 1 : found.cut] if is_note(turn))
    mails = (*before, *(mail for turn in found.old if is_note(turn) for mail in peer_messages(turn.content)))
    return mails[max(0, len(mails) - max(new, MAILS - staying)) :]


def fair(mails: tuple[str, ...], room: int) -> tuple[str, ...]:
    """The messages, the longest cut until all fit; where not even that helps, the oldest are left out."""
    excess = needed(mails) - room
    if excess <= 0:
        return mails
    limit, taken = level(sorted(map(size_of, mails), reverse=True), excess, LEAST_MAIL), list[str]()
    for mail in reversed(mails):
        if room <= 2 * HEAD:
            break
        taken.append(shortened(mail, min(limit, room - HEAD)))
        room -= needed((taken[-1],))
    return tuple(reversed(taken))


# --- what is remembered -----------------------------------------------------------------------------------------------


def earlier(found: Fold) -> Recap:
    """What an older note says of what was folded before, with the requests that are done since."""
    history, start = found.history, len(found.system)
    before = history.recap or Recap()
    done = list(before.done)
    if before.task and history.since > start:
        done.append(one_line(before.task))
    for place in history.runs:
        if place < min(found.cut, history.since) and not (history.recap and place == start):
            turn = history.turns[place]
            if is_note(turn) and not is_mail(turn.content):
                done.append(one_line(turn.content))
    return replace(before, done=tuple(done[-DONE:]))


def one_line(request: str) -> str:
    """The beginning of a request."""
    return shortened(guarded(" ".join(request[: DONE_LINE * 2].split())), DONE_LINE)


def with_summary(recap: Recap, before: Recap, summary: str, size: int) -> Recap:
    """The note with a summary, as much of it as keeps its text within `size` bytes."""
    text = guarded(summary) if summary else before.summary
    recap = replace(recap, slid=not summary)
    spare = size - size_of(replace(recap, summary="-").text)
    text = shortened(text, min(SUMMARY, size // 2, spare))
    return replace(recap, summary=text, slid=not (summary and text))


def with_requests(recap: Recap, done: tuple[str, ...], size: int) -> Recap:
    """The note with the newest of the earlier requests, as many as keep its text within `size` bytes."""
    for count in range(len(done), 0, -1):
        longer = replace(recap, done=done[-count:])
        if size_of(longer.text) <= size:
            return longer
    return recap


def untold(found: Fold, pins: Pins) -> tuple[Turn, ...]:
    """What goes and stands in no other part of the note."""
    recap, runs = found.history.recap, found.history.runs
    return tuple(
        turn
        for place, turn in enumerate(found.old, len(found.system))
        if not (is_note(turn) and (place in runs or is_mail(turn.content) or turn.content == pins.task))
        and not (recap is not None and turn.content == recap.text)
    )


def newest(turns: tuple[Turn, ...], room: int) -> str:
    """The newest turns in short, oldest first, as many as fit into `room` bytes."""
    lines = list[str]()
    for turn in reversed(turns):
        line = guarded(shortened(shown(turn), LINE))
        room -= size_of(line) + len("\n")
        if room < 0:
            break
        lines.append(line)
    return "\n".join(reversed(lines))
