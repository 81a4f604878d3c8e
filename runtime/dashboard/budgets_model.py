"""What the page of budgets shows: a bar for each account, and how the fleet's spending rose. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...protocols.ids import AgentId
from ...protocols.limits import UNITS, count_of, shown
from ..supervision.account import Account, Level
from .chronicle import Spent
from .fleet_model import amount_shown

__all__ = ("DRAWN", "account_rows", "burn_down", "joined", "members", "spending")


def account_rows(accounts: Iterable[Account]) -> list[dict[str, Any]]:
    """A row for each account: `id` is its path; parts are in per cent of the nearest limit, which is `of`."""
    return [account_row(each) for each in accounts]


def account_row(account: Account) -> dict[str, Any]:
    """One account."""
    settled, reserved, of = nearest(account)
    return {
        "id": "/".join(account.path),
        "level": str(account.level),
        "name": account.name,
        "depth": len(account.path) - 1,
        "spent": account.spent.tokens,
        "reserved": account.reserved.tokens,
        "limit": "" if account.limit is None else str(account.limit),
        "settled_part": settled,
        "reserved_part": reserved,
        "of": of,
        "shown": amount_shown(account),
        "calls": account.spent.model_calls,
    }


def nearest(account: Account) -> tuple[float | None, float | None, str]:
    """What is spent and set aside of the nearest limit, in per cent, and that limit; None: nothing is limited."""
    limit = account.limit
    if limit is None:
        return None, None, ""
    parts = [
        (part(count_of(account.spent, unit), most), part(count_of(account.reserved, unit), most), shown(unit, most))
        for unit in UNITS
        if (most := getattr(limit, unit.value)) is not None
    ]
    return max(parts, key=lambda each: each[0] + each[1], default=(None, None, ""))


def part(count: float, most: float) -> float:
    """A count in per cent of the most."""
    return round(min(100.0, 100 * count / most), 1)


def members(account: Account, accounts: Iterable[Account]) -> tuple[AgentId, ...]:
    """The agents that spend from an account, itself if it is one's."""
    depth = len(account.path)
    below = (each for each in accounts if each.path[:depth] == account.path and each.level is Level.AGENT)
    return tuple(AgentId(each.name) for each in below)


def joined(agents: Iterable[AgentId], spent_by: Mapping[AgentId, Sequence[Spent]]) -> list[Spent]:
    """How the spending of several agents rose together."""
    rises: list[tuple[float, int]] = []
    for agent in agents:
        before = 0
        for point in spent_by.get(agent, ()):
            rises.append((point.at, point.tokens - before))
            before = point.tokens
    whole, points = 0, list[Spent]()
    for at, tokens in sorted(rises):
        whole += tokens
        points.append(Spent(at, whole))
    return points


DRAWN = 200
"""Points of a curve, at most."""


def thinned(points: Sequence[Spent]) -> Sequence[Spent]:
    """So many points as are drawn, evenly chosen, the last one among them."""
    if len(points) <= DRAWN:
        return points
    last = len(points) - 1
    return [points[round(place * last / (DRAWN - 1))] for place in range(DRAWN)]


def spending(points: Sequence[Spent], now: int) -> list[tuple[float, int]]:
    """How the spending rose, as Unix milliseconds and tokens.

    Args:
        points: From the notices, which may be forgotten in part, and know of no calls that failed.
        now: What the fleet's account says. The curve is moved so that it ends there.
    """
    missing = now - points[-1].tokens if points else 0
    return [(1000 * each.at, max(0, each.tokens + missing)) for each in thinned(points)]


def burn_down(points: Sequence[Spent], now: int, limit: int | None) -> list[tuple[float, int]]:
    """What was left of the limit as it is now, over time; without a limit, what was spent."""
    rose = spending(points, now)
    return rose if limit is None else [(at, max(0, limit - spent)) for at, spent in rose]
