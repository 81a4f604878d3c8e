"""Who is in the fleet: lives, families, and what holds for whom (stopped, paused, dead).

A stop leaves a tombstone: on the agents, on all under them, and on whoever is admitted under them later. Neither a
restart nor a parent lifts it.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches

from ...protocols.checkin import DEAD, RESTARTING, STOPPED, AgentStatus
from ...protocols.ids import SUPERVISOR, USER, AgentId, Incarnation
from ...protocols.notices import Notice
from ..errors import AgentUnknown, NameInvalid, NameTaken, RunError
from ..given import is_name
from .account import Path
from .member import Member

__all__ = ("Roster", "RosterState", "check_name", "is_restarting")

NEWCOMER = "idle"
"""The phase of an agent that has not reported yet."""


def check_name(name: object, what: str = "agent") -> None:
    """Check that an agent, or what else is said, may have this name.

    Raises:
        NameInvalid: It may not.
    """
    if not isinstance(name, str):
        raise NameInvalid(name=str(name), reason=f"a name is a text, not {type(name).__name__}", what=what)
    if name in (SUPERVISOR, USER):
        raise NameInvalid(name=name, reason="the runtime uses that name itself", what=what)
    if not is_name(name):
        reason = "a name has 1 to 64 letters, digits, hyphens and underscores and begins with a letter or digit"
        raise NameInvalid(name=name, reason=reason, what=what)


@dataclass(frozen=True, slots=True)
class RosterState:
    """A roster at one moment.

    Attributes:
        members: All of them, living or not, in the order they first came. Nobody is ever forgotten: the name of a dead
            one says which life is its next, and a tombstone holds for ever.
        stopped: Why the whole fleet may do nothing more; None while it may.
    """

    members: tuple[Member, ...] = ()
    stopped: str | None = None


NOBODY = RosterState()


class Members:
    """Whom there is to look up. A person (`USER`) is none.

    Attributes:
        unclosed: Those that are dead for good, and whose mailbox was not closed yet.
    """

    def __init__(self, members: Iterable[Member]) -> None:
        """Begin with these."""
        self._members = {member.agent: member for member in members}
        self.unclosed = dict.fromkeys(member.agent for member in self._members.values() if member.unclosed)

    def find(self, agent: AgentId) -> Member:
        """The member of that name.

        Raises:
            AgentUnknown: There is none; the error has names like it.
        """
        if (member := self._members.get(agent)) is None:
            raise AgentUnknown(name=agent, near=tuple(get_close_matches(agent, self._members)))
        return member

    def latest(self, agent: AgentId) -> Member | None:
        """The member of that name, if there is one."""
        return self._members.get(agent)

    def current(self, agent: AgentId, incarnation: Incarnation) -> Member | None:
        """The member if that life of it is the latest and not dead, stopped or not; else None."""
        member = self._members.get(agent)
        return member if member and member.incarnation == incarnation and member.dead is None else None

    def members(self) -> tuple[Member, ...]:
        """All members, living or not, in the order they first came."""
        return tuple(self._members.values())

    def family(self, agents: tuple[AgentId, ...]) -> tuple[Member, ...]:
        """The agents named, then all under them; everybody, in the order they came, if none is named.

        Raises:
            AgentUnknown: One of the names.
        """
        if not agents:
            return self.members()
        children: dict[AgentId | None, list[Member]] = defaultdict(list)
        for member in self._members.values():
            children[member.parent].append(member)
        found = {agent: self.find(agent) for agent in agents}
        queue = list(found.values())
        for member in queue:  # grows while it is walked
            fresh = [child for child in children[member.agent] if child.agent not in found]
            found.update((child.agent, child) for child in fresh)
            queue.extend(fresh)
        return tuple(queue)

    def _update(self, members: Iterable[Member]) -> tuple[Member, ...]:
        updated = tuple(members)
        for member in updated:
            self._put(member)
        return updated

    def _put(self, member: Member) -> None:
        self._members[member.agent] = member
        if member.unclosed:
            self.unclosed[member.agent] = None
        else:
            self.unclosed.pop(member.agent, None)


class Roster(Members):
    """The members of one fleet, and what happens to them.

    Attributes:
        stopped: Why the whole fleet is stopped, those to come included; None while it is not.
    """

    def __init__(self, state: RosterState = NOBODY) -> None:
        """Begin with nobody, or go on with another roster."""
        super().__init__(state.members)
        self.stopped = state.stopped

    def admit(self, newcomer: Member) -> Member:
        """Take in a new agent, or a dead one's next life.

        Args:
            newcomer: The agent as it asks to come in; its incarnation is given here. A next life was spawned as the one
                before was, and may spawn what that one might, if nothing else is said.

        Returns:
            The member. It is stopped from the beginning if its parent, its earlier life or the fleet was.

        Raises:
            NameInvalid: No agent may have this name.
            NameTaken: It lives, or it is dead but was another's child or had another limit or team.
            AgentUnknown: There is no such parent.
        """
        check_name(newcomer.agent)
        parent = self.find(newcomer.parent) if newcomer.parent is not None else None
        if parent is not None and not newcomer.team:
            newcomer = replace(newcomer, team=parent.team)
        was = self._members.get(newcomer.agent)
        if was is not None and was.dead is None:
            raise NameTaken(name=newcomer.agent, stopped=was.stopped)
        if was is not None and (other := differs(newcomer, was)):
            raise NameTaken(name=newcomer.agent, differs=other)
        tombstones = (self.stopped, *(relative.stopped for relative in (parent, was) if relative is not None))
        member = replace(
            newcomer,
            incarnation=Incarnation(max(was.incarnation, was.closed) + 1 if was else 1),
            paused=was.paused if was else None,
            short=was.short if was else (),
            kind=newcomer.kind or (was.kind if was else ""),
            call=newcomer.call or (was.call if was else ""),
            allowance=newcomer.allowance or (was.allowance if was else None),
            heard=was.heard if was else 0,
        )
        for reason in tombstones:
            if reason is not None and member.stopped is None:
                member = member.under_tombstone(reason, member.status.since)
        self._put(member)
        return member

    def admit_all(self, newcomers: Iterable[Member]) -> tuple[Member, ...]:
        """Take in all of them, in this order, or none.

        Raises:
            NameInvalid: No agent may have one of the names.
            NameTaken: It lives, or it is dead but was another's child or had another limit.
            AgentUnknown: There is no such parent.
        """
        before = dict(self._members), dict(self.unclosed)
        try:
            return tuple([self.admit(newcomer) for newcomer in newcomers])
        except RunError:
            self._members, self.unclosed = before
            raise

    def heard(self, status: AgentStatus, notices: tuple[Notice, ...] = ()) -> Member | None:
        """Keep what an agent reports of itself, and up to which notice it has told.

        None, and nothing is kept, if that life of it is over.
        """
        if (member := self.current(status.agent, status.incarnation)) is None:
            return None
        told = max((notice.number for notice in notices), default=0)
        recorded = max((notice.recorded for notice in notices), default=0)
        updated = replace(member, status=status, told=max(member.told, told), heard=max(member.heard, recorded))
        if member.stopped is not None:
            updated = updated.marked(STOPPED, member.status.since, member.stopped)
        self._put(updated)
        return updated

    def bury(
        self,
        agent: AgentId,
        incarnation: Incarnation,
        reason: str,
        at: float,
        *,
        restarts: bool = False,
        owner: str = "",
    ) -> Member | None:
        """Note that a life is over, or, of one that is and was to be followed by another, that none follows.

        None if nothing changes. `owner` names the opening of the fleet in which that is.
        """
        latest = self._members.get(agent)
        ends = not restarts and is_restarting(latest, incarnation)
        member = latest if ends else self.current(agent, incarnation)
        if member is None:
            return None
        phase = RESTARTING if restarts else DEAD
        dead = replace(member, dead=reason, restarts=restarts, buried=owner).marked(phase, at, reason)
        self._put(dead)
        return dead

    def close(self, agent: AgentId, incarnation: Incarnation, under: Incarnation) -> Member | None:
        """Note that the mailbox of a life was closed, under that number; None if nothing changes."""
        member = self._members.get(agent)
        if member is None or member.incarnation != incarnation or not member.unclosed:
            return None
        closed = replace(member, closed=under)
        self._put(closed)
        return closed

    def stop(self, agents: tuple[AgentId, ...], reason: str, at: float) -> tuple[Member, ...]:
        """Put tombstones on agents and all under them; on the fleet if no agent is named.

        Returns:
            Those that were not stopped before.

        Raises:
            AgentUnknown: One of the names; then nobody is stopped.
        """
        fresh = [member for member in self.family(agents) if member.stopped is None]
        if not agents and self.stopped is None:
            self.stopped = reason
        return self._update(member.under_tombstone(reason, at) for member in fresh)

    def pause(self, agents: tuple[AgentId, ...], reason: str | None) -> tuple[Member, ...]:
        """Pause agents and all under them for a reason, or with None resume them.

        Returns:
            Those for whom something changed.

        Raises:
            AgentUnknown: One of the names; then nothing changes.
        """
        return self._update(
            replace(member, paused=reason, short=())
            for member in self.family(agents)
            if (member.paused is None) != (reason is None) or (member.short and reason is not None)
        )

    def hold(self, agent: AgentId, reason: str, account: Path, unit: str) -> None:
        """Pause one agent until that account has more of the unit.

        Raises:
            AgentUnknown: There is none of that name.
        """
        self._update([replace(self.find(agent), paused=reason, short=account, lacks=unit)])

    def release(self, account: Path) -> tuple[Member, ...]:
        """Let go on who is paused until that account has more; gives those."""
        return self._update(
            [replace(member, paused=None, short=()) for member in self._members.values() if member.short == account]
        )

    def state(self) -> RosterState:
        """The whole roster as it is now."""
        return RosterState(self.members(), self.stopped)


def is_restarting(member: Member | None, incarnation: Incarnation) -> bool:
    """Whether that life of it is over, and the next one is about to begin."""
    return member is not None and member.incarnation == incarnation and member.restarts


def differs(newcomer: Member, was: Member) -> str:
    """In what a newcomer differs from the dead one of its name, which lives again only as the same agent; or empty."""
    facts = (
        ("parent", newcomer.parent, was.parent),
        ("limit", newcomer.limit, was.limit),
        ("team", newcomer.team, was.team),
    )
    return " and ".join(f"{name} {new or 'none'} instead of {old or 'none'}" for name, new, old in facts if new != old)
