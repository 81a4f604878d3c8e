"""What the Supervisor says, in one line each."""

import math
from collections import Counter
from collections.abc import Mapping
from textwrap import shorten

from ...protocols.amounts import Amount
from ...protocols.checkin import DEAD, ENDED, AgentStatus, CheckIn
from ...protocols.ids import AgentId
from ...protocols.limits import UNITS, Exhaustion, Unit, count_of, dollars, shown
from ...protocols.mail import DeadLetter, Refusal
from ...protocols.messages import Json
from ...protocols.notices import Notice, NoticeType
from ...protocols.plural import are, plural
from ...protocols.restarts import RestartPolicy
from ...protocols.waits import Endless, WaitRefusal
from .account import BOUNDLESS, Account
from .gate import Queued
from .ledger import Short
from .member import UNSPAWNED, Member
from .restart import Death
from .waits import Knot

__all__ = (
    "ENDED",
    "PROCESS_DIED",
    "QUIET",
    "UNSPAWNED",
    "admission",
    "dead_letter",
    "dead_letter_note",
    "death_note",
    "endless",
    "fenced",
    "held",
    "overshoot",
    "quarantine",
    "quarantined",
    "run_note",
    "shortage",
    "turn",
    "unfit",
    "whole",
)

PROCESS_DIED = "its process died"
"""Why a life is over that another process follows which knows no more."""

QUIET = WaitRefusal(Endless.QUIET, "all agents are idle or waiting, so nobody will write")
"""Why the waits of a fleet end in which nothing happens any more."""

TEXT_SHOWN = 200
"""Characters of a run's text, or else of the reason for its end, that a parent reads."""


def shortage(short: Short) -> str:
    """Why a call cannot be made, with the numbers."""
    account, unit = short.account, short.unit
    if short.unpriced:
        return f"The dollars of {account.name!r} are limited, and nobody says what this model costs."
    if unit is Unit.SECONDS:
        seconds = 0.0 if account.limit is None else account.limit.seconds or 0.0
        had = f"The {plural(seconds, 'second')} that {account.name!r} had from its first model call"
        return f"{had} {are(seconds)} over."
    return f"This call needs at least {counted(short.least, unit)}. {left(account, unit)}"


def unfit(short: Short) -> str:
    """Why a limit cannot be carved, with the numbers."""
    return f"it needs {counted(short.least, short.unit)}. {left(short.account, short.unit)}"


def left(account: Account, unit: Unit) -> str:
    """What has become of a limit."""
    most = BOUNDLESS if account.limit is None else account.limit.most
    carved = {"set aside for carved limits": account.carved} if account.carved else {}
    parts = {
        "spent": account.spent,
        "held by calls in flight": account.reserved,
        **carved,
        "kept for last answers": account.pool,
    }
    told = [
        f"{quantity(each, unit)} {are(1 if unit is Unit.DOLLARS else count_of(each, unit))} {what}"
        for what, each in parts.items()
    ]
    return f"Of the {quantity(most, unit)} that {account.name!r} may spend, {', '.join(told[:-1])} and {told[-1]}."


def overshoot(over: Amount) -> str:
    """What a provider counted beyond what was reserved."""
    return " and ".join(counted(over, unit) for unit in UNITS if count_of(over, unit))


def counted(amount: Amount, unit: Unit) -> str:
    """So much of one thing, with its name."""
    return shown(unit, count_of(amount, unit))


def quantity(amount: Amount, unit: Unit) -> str:
    """So much of one thing, where its name was said."""
    count = count_of(amount, unit)
    return dollars(count) if unit is Unit.DOLLARS else f"{count:,}"


def held(account: Account, unit: str, seconds: float | None) -> str:
    """Why an agent is paused until an account has more: `asks for more: limit tokens of team writing, for 41 s`.

    Args:
        account: Which one.
        unit: What it had too little of; empty: an older version did not say.
        seconds: For how long the agent has been so; None: it has not said so yet.
    """
    asks = account.limit is not None and Exhaustion(account.limit.on_exhaustion) is Exhaustion.ASK
    limit = f"limit {unit}" if unit else "the limit"
    time = "" if seconds is None else f", for {max(0.0, seconds):.0f} s"
    return (
        f"{'asks for more' if asks else 'paused until there is more'}: {limit} of {account.level} {account.name}{time}"
    )


def turn(queued: Queued) -> str:
    """Where an agent stands that waits for a provider: `3rd of 12 for https://host, cooling down for 8 s`."""
    cooling = f", cooling down for {math.ceil(queued.cooling)} s" if queued.cooling else ""
    return f"{ordinal(queued.place)} of {queued.line} for {queued.provider}{cooling}"


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}th" if number % 100 in {11, 12, 13} else f"{number}{ending}"


def admission(member: Member) -> str:
    """That an agent came, and how."""
    came = "joined the fleet" if member.incarnation == 1 else f"came back to the fleet, life {member.incarnation}"
    if member.kind and member.incarnation == 1:
        came += f", spawned by {member.parent} as {member.kind}"
    return came if member.stopped is None else f"{came}, but may do nothing: {member.stopped}"


def fenced(asked: CheckIn, latest: Member | None) -> str:
    """Why a life may not go on; `latest` is the latest one of that name."""
    if latest is None:
        return f"{asked.agent!r} was never admitted to this fleet: it is fenced."
    if latest.incarnation != asked.incarnation:
        return f"Life {asked.incarnation} of {asked.agent!r} is not the latest, {latest.incarnation}: it is fenced."
    return f"Life {asked.incarnation} of {asked.agent!r} was found dead ({latest.dead}): it is fenced."


def run_note(notice: Notice) -> str | None:
    """What a parent is told of a run that ended without an answer; None when there is nothing to tell."""
    if (notice.type, notice.extra_type) != (NoticeType.RUN, "finished") or notice.data["outcome"] == "answered":
        return None
    said = notice.data.get("text") or notice.data.get("reason") or ""
    text = shorten(str(said), TEXT_SHOWN, placeholder="...")
    return whole(f"{notice.agent} ended its run: {notice.data['outcome']}. {text}".rstrip())


def dead_letter_note(notice: Notice) -> tuple[AgentId, str] | None:
    """Whom to tell of a message that was accepted and never consumed, and what; None when the notice is no such."""
    if (notice.type, notice.extra_type) != (NoticeType.MAIL, "dead"):
        return None
    id_, refusal = notice.data["id"], notice.data["refusal"]
    if refusal == Refusal.LOST:
        told = f"{notice.agent} died with your message {id_}, and may not have read it: {refusal}."
    else:
        told = f"{notice.agent} never read your message {id_}: {refusal}."
    return AgentId(str(notice.data["sender"])), told


def dead_letter(agent: AgentId, letter: DeadLetter) -> Notice:
    """What watchers are told of a message to an agent that died for good."""
    how = "was lost when its recipient died" if letter.refusal is Refusal.LOST else "was never consumed"
    text = f"{letter.id} from {letter.sender} {how}: {letter.refusal}"
    facts: dict[str, Json] = {"id": letter.id, "sender": letter.sender, "refusal": letter.refusal.value}
    return Notice(NoticeType.MAIL, "dead", agent, text, data=facts)


def death_note(agent: AgentId, reason: str) -> str:
    """What a parent is told of a death."""
    return whole(f"{agent} died: {' '.join(reason.split()).rstrip('.')}.")


def quarantine(agent: AgentId, deaths: tuple[Death, ...], policy: RestartPolicy) -> str:
    """Why an agent is not restarted once more: of what it died, the last death last."""
    often = (
        f"{times(len(deaths))} within {plural(policy.period, 'second')}, and may be restarted {times(policy.intensity)}"
    )
    counted = Counter(shorten(death.reason, TEXT_SHOWN, placeholder="...").rstrip(".") for death in deaths)
    reasons = [reason if number == 1 else f"{reason} ({times(number)})" for reason, number in counted.items()]
    return whole(f"{agent} died {often}; it stays dead until it is spawned anew. It died of: {'; '.join(reasons)}.")


def quarantined(deaths: tuple[Death, ...], policy: RestartPolicy) -> str:
    """The same in short, for its row."""
    period = plural(policy.period, "second")
    return whole(f"quarantined: it died {times(len(deaths))} within {period}, the last time: {deaths[-1].reason}")


def times(number: int) -> str:
    """How often."""
    return {0: "never", 1: "once", 2: "twice"}.get(number, f"{number} times")


def endless(knot: Knot, rows: Mapping[AgentId, AgentStatus]) -> WaitRefusal:
    """Why nobody would end the first wait of a knot; `rows` has those of it that are gone."""
    own, absent = knot.waits[0], [absence(rows[agent]) for agent in knot.gone]
    if set(own.senders) <= set(knot.gone):
        return WaitRefusal(Endless.GONE, ", ".join(absent), knot.gone)
    waits = [f"{wait.agent} waits for {' or '.join(wait.senders)}" for wait in knot.waits]
    return WaitRefusal(Endless.KNOT, ", ".join((*waits, *absent)), tuple(wait.agent for wait in knot.waits))


def absence(row: AgentStatus) -> str:
    """That an agent will never write, and why."""
    how = "is dead" if row.phase == DEAD else "has stopped"
    reason = shorten(row.note, TEXT_SHOWN, placeholder="...").rstrip(".")
    return whole(f"{row.agent} {how} ({reason})" if reason else f"{row.agent} {how}")


def whole(text: str) -> str:
    """The text as mail can carry it: half a surrogate pair, which has no UTF-8 form, is a question mark."""
    return text.encode(errors="replace").decode()
