"""Whether an agent may spawn one more: depth, lifetime children, living agents and projected cost, in one look.

An agent that was spawned by another one counts for that one and, as long as those were spawned by agents too, for all
above. Whom a person has spawned is limited by nobody, and begins a line of its own.

A child costs at most its own token limit, for its account holds it to that. So a living one counts with its limit, one
that may do nothing more with what it has spent, and for whoever has a limit, at the moment of each spawn,

    spent by itself + counted for all below it <= limit

The Supervisor asks and lets the child in under one lock, so that siblings who race cannot pass a limit together.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from ...protocols.ids import AgentId
from ...protocols.plural import are, plural
from ...protocols.spawning import Allowance, SpawnCause, SpawnRefusal, SpawnRequest
from ..errors import NameInvalid
from .account import Account
from .member import Member
from .roster import check_name

__all__ = ("Household", "refusal")

NAMED = 8
"""Agents that a refusal names at most."""


class Purse(NamedTuple):
    """A limit that a child's cost must fit in: whose it is, in words, and the tokens that are left of it."""

    whose: str
    left: int


class Household:
    """Who was spawned by whom, and what that may cost, at one moment."""

    def __init__(
        self, members: Iterable[Member], account: Callable[[AgentId], Account], above: Iterable[Account]
    ) -> None:
        """Look at a fleet.

        Args:
            members: All of them.
            account: Gives an agent's account.
            above: The accounts in which the spawner's stands, and in which its child's will: the fleet's, its team's.
        """
        self._members = {member.agent: member for member in members}
        self._account = account
        self._above = tuple(above)
        self._children: defaultdict[AgentId, list[Member]] = defaultdict(list)
        for member in self._members.values():
            if member.kind and member.parent is not None:
                self._children[member.parent].append(member)

    def member(self, name: AgentId) -> Member | None:
        """The agent of that name, living or dead, if there is one."""
        return self._members.get(name)

    def line(self, agent: AgentId) -> Iterator[Member]:
        """The agent, then who spawned it, and so on, up to one that a person has spawned."""
        member = self._members[agent]
        yield member
        while member.kind and member.parent is not None:
            member = self._members[member.parent]
            yield member

    def children(self, agent: AgentId) -> list[Member]:
        """All that it has spawned; one that never came to life does not count."""
        return [child for child in self._children[agent] if child.lives or child.told]

    def below(self, agent: AgentId) -> list[Member]:
        """All that it and those below it have spawned, whether they came to life or not."""
        found = list(self._children[agent])
        for member in found:  # grows while it is walked
            found += self._children[member.agent]
        return found

    def living(self, agent: AgentId) -> list[Member]:
        """Those below it that live and may go on."""
        return [member for member in self.below(agent) if member.lives and member.stopped is None]

    def cost(self, member: Member) -> int:
        """The most tokens that it can come to, as far as it has a limit, or has come to if it may do nothing more."""
        account = self._account(member.agent)
        held, limit = account.spent.tokens + account.reserved.tokens, tokens_of(account)
        acts = member.lives and member.stopped is None
        return max(held, limit) if acts and limit is not None else held

    def purses(self, agent: AgentId) -> Iterator[Purse]:
        """The limits that one more child of an agent must fit in."""
        for member in self.line(agent):
            below = sum(map(self.cost, self.below(member.agent)))
            if member.allowance is not None and member.allowance.tokens is not None:
                yield Purse(f"all below {member.agent} may spend together", member.allowance.tokens - below)
            account = self._account(member.agent)
            if tokens_of(account) is not None:
                yield Purse(f"{member.agent} may spend", account.room(last_answer=False).tokens - below)
        for account in self._above:
            if tokens_of(account) is not None:
                left = account.room(last_answer=False).tokens - self._promised(account)
                yield Purse(f"the {account.level} {account.name} may spend", left)

    def _promised(self, above: Account) -> int:
        """Tokens that living agents, which others have spawned, may still spend of an account beside what is booked.

        What is carved for one is booked already.
        """
        promised = 0
        for member in (child for children in self._children.values() for child in children):
            account = self._account(member.agent)
            if account.path[: len(above.path)] == above.path and not account.is_carved:
                promised += self.cost(member) - account.spent.tokens - account.reserved.tokens
        return promised


def tokens_of(account: Account) -> int | None:
    """The most tokens that may be spent from an account; None: any number, as far as it says."""
    return None if account.limit is None else account.limit.tokens


def refusal(request: SpawnRequest, household: Household) -> SpawnRefusal | None:
    """Why a child may not be spawned; None: it may be.

    Args:
        request: What is asked for, by an agent of the household that may go on.
        household: As it is now.
    """
    if (misnamed := name_refusal(request, household)) is not None:
        return misnamed
    for generation, above in enumerate(household.line(request.agent), start=1):
        if above.allowance is None:
            if generation == 1:
                return SpawnRefusal(SpawnCause.NOT_GRANTED, f"{above.agent} may spawn nobody.")
            continue
        if (refused := crowded(generation, above, above.allowance, household)) is not None:
            return refused
    return too_dear(request, household)


def name_refusal(request: SpawnRequest, household: Household) -> SpawnRefusal | None:
    """Why a child cannot be called so. The name of one that never came to life is free."""
    try:
        check_name(request.name)
    except NameInvalid as error:
        return SpawnRefusal(SpawnCause.NAME, str(error))
    was = household.member(request.name)
    if was is None or not (was.lives or was.told):
        return None
    gone = "" if was.lives else ", which is dead"
    return SpawnRefusal(SpawnCause.NAME, f"The fleet has an agent named {was.agent}{gone}. Choose another name.")


def crowded(generation: int, above: Member, allowed: Allowance, household: Household) -> SpawnRefusal | None:
    """Why one more would be too many for an agent, whose child it would be in the `generation`."""
    name = above.agent
    if generation > allowed.depth:
        much = plural(allowed.depth, "generation")
        why = f"{name} may have {much} of agents below it, and this would be one more. Do the work yourself."
        return SpawnRefusal(SpawnCause.DEPTH, why)
    if generation == 1 and len(household.children(name)) >= allowed.children:
        why = f"{name} may spawn {allowed.children} in its life, and has."
        return SpawnRefusal(SpawnCause.CHILDREN, f"{why} {instead(household.living(name))}")
    living = household.living(name)
    if len(living) >= allowed.live:
        why = f"{allowed.live} may live below {name} at once, and {len(living)} {'does' if len(living) == 1 else 'do'}."
        return SpawnRefusal(SpawnCause.LIVE, f"{why} {instead(living, stop=True)}")
    return None


def instead(living: list[Member], *, stop: bool = False) -> str:
    """What to do in the place of a spawn."""
    if not living:
        return "Do the work yourself."
    more = ", ..." if len(living) > NAMED else ""
    names = ", ".join(member.agent for member in living[:NAMED])
    end = ", or end one that you no longer need with stop_agent" if stop else ""
    return f"Give the work to one that is there ({names}{more}) with ask_peer or send_message{end}."


def too_dear(request: SpawnRequest, household: Household) -> SpawnRefusal | None:
    """Why the child could cost more than is left."""
    purse = min(household.purses(request.agent), key=lambda purse: purse.left, default=None)
    wanted = None if request.limit is None else request.limit.tokens
    if purse is None or (wanted is not None and wanted <= purse.left):
        return None
    has = max(0, purse.left)
    left = f"{plural(has, 'token')} {are(has)} left of what {purse.whose}, beside what is promised to living agents"
    if purse.left < 1:
        why = f"{left}. Do the work yourself, or end one that you no longer need with stop_agent."
    elif wanted is None:
        why = f"A {request.kind} has no token limit of its own, and {left}. Say how many it may spend with tokens."
    else:
        why = f"{request.name} might spend {plural(wanted, 'token')}, and {left}. Ask for no more with tokens."
    return SpawnRefusal(SpawnCause.TOKENS, why)
