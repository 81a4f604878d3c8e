"""What the page of the fleet shows: a row for each agent, and the fleet in short. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...protocols.checkin import DEAD, RESTARTING, STOPPED, AgentStatus
from ...protocols.limits import dollars
from ..supervision.account import Account, Level

__all__ = ("Summary", "agent_rows", "amount_shown", "fleet_account", "summary", "tone")

TONES: Mapping[str, str] = {
    "thinking": "work",
    "acting": "work",
    "waiting": "wait",
    "paused": "hold",
    "winding_down": "hold",
    RESTARTING: "hold",
    STOPPED: "bad",
    DEAD: "bad",
}
"""The colour of a phase; of others, `calm`."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The fleet in short.

    Attributes:
        phases: How many agents are in which phase, the most frequent first.
        spent: What is spent, against the limit.
        share: The part of the limit in tokens that is spent, at most 1; None: there is none.
    """

    agents: int
    phases: tuple[tuple[str, int], ...]
    spent: str
    share: float | None


def tone(phase: str) -> str:
    """The name of a phase's colour."""
    return TONES.get(phase, "calm")


def agent_rows(rows: Iterable[AgentStatus]) -> list[dict[str, Any]]:
    """A row for each agent: `id` is its name, `since` in Unix seconds."""
    return [
        {
            "id": row.agent,
            "state": row.phase.replace("_", " "),
            "tone": tone(row.phase),
            "since": row.since,
            "step": row.step,
            "waiting": row.waiting,
            "tokens": row.tokens,
            "limit": row.limit,
            "note": " ".join((row.stopped or row.note).split()),
        }
        for row in rows
    ]


def fleet_account(accounts: Iterable[Account]) -> Account | None:
    """The account of the whole fleet; None: nothing was read yet."""
    return next((account for account in accounts if account.level is Level.FLEET), None)


def amount_shown(account: Account | None) -> str:
    """What an account has spent, against its limit."""
    if account is None:
        return "nothing yet"
    limit = account.limit
    parts = [f"{account.spent.tokens:,}{'' if not limit or not limit.tokens else f' of {limit.tokens:,}'} tokens"]
    if account.spent.nanodollars or (limit and limit.dollars):
        most = f" of {dollars(limit.dollars)}" if limit and limit.dollars else ""
        parts.append(f"{dollars(account.spent.dollars)}{most}")
    return ", ".join(parts)


def summary(rows: Sequence[AgentStatus], accounts: Iterable[Account]) -> Summary:
    """The fleet in short."""
    account = fleet_account(accounts)
    most = None if account is None or account.limit is None else account.limit.tokens
    share = None if account is None or not most else min(1.0, account.spent.tokens / most)
    phases = tuple(Counter(row.phase for row in rows).most_common())
    return Summary(len(rows), phases, amount_shown(account), share)
