"""Who comes into a fleet and how lives end: the part of the Supervisor that systems ask."""

from collections.abc import Sequence
from difflib import get_close_matches

from ...protocols.checkin import AgentStatus
from ...protocols.ids import USER, AgentId, Incarnation
from ...protocols.limits import Limits
from ...protocols.notices import NoticeType
from ..errors import NameInvalid, RunError
from ..limit_errors import LimitTooLarge, PriceMissing, TeamUnknown
from . import wording
from .account import Account, Path, team_name
from .bench import Bench, Facts
from .commands import (
    Admit,
    AdmitUser,
    Begin,
    Bury,
    FormTeams,
    Newcomer,
    Team,
)
from .ledger import Short
from .roster import NEWCOMER, Member, Roster, check_name, is_restarting

__all__ = ("Admissions", "Newcomer", "Team")


class Admissions(Bench):
    """Begins, admits and buries."""

    def begin(self, owner: str, limit: Limits | None) -> None:
        """Open the fleet, for the first time or again.

        What was asked before was answered under the limit that held then, and stays so. Teams are those that are formed
        from now on: for one of before that is not formed again, nothing is set aside any more.

        Args:
            owner: Names this opening.
            limit: The most that all agents together may spend from now on, in all the fleet's life; None: no limit.
        """
        with self._turn(Begin(owner, limit)):
            self._ledger.limit(self._ledger.root, limit)
            if owner != self.owner:
                for path in self._teams.values():
                    self._ledger.rest(path)
            self.owner = owner

    def form_teams(self, teams: Sequence[Team]) -> None:
        """Open accounts for teams. One that is open already has this limit from now on.

        Raises:
            NameInvalid: No team may have one of the names; all others are formed.
            LimitTooLarge: A carved limit does not fit into the fleet's; all before it are formed.
        """
        with self._turn(FormTeams(tuple(teams))):
            for team in teams:
                check_name(team.name)
                if self._roster.latest(AgentId(team.name)) is not None:
                    raise NameInvalid(name=team.name, reason="an agent of the fleet has that name")
                path = (*self._ledger.root, team_name(team.name))
                if team.name not in self._teams:
                    self._check_opened(team.name, self._ledger.open(path, None))
                    self._teams[team.name] = path
                # The limit comes first: one that rests, because the fleet has just begun anew, is opened with the new.
                self._check_opened(team.name, self._ledger.limit(path, team.limit))
                self._check_opened(team.name, self._ledger.open(path, team.limit))

    def admit(self, agent: AgentId, parent: AgentId | None, limit: Limits | None, pid: int) -> Incarnation:
        """Take in one agent as `admit_all` does, or, as `USER`, one more process through which a person speaks."""
        if agent == USER:
            with self._turn(AdmitUser()):
                self._users += 1
                return Incarnation(self._users)
        return self.admit_all((Newcomer(agent, parent, limit),), pid)[0]

    def admit_all(self, newcomers: Sequence[Newcomer], pid: int) -> tuple[Incarnation, ...]:
        """Take in new agents and next lives of dead ones; all of them or none.

        A next life has the parent, the limit and the account of the one before, which is fenced since it died. An
        agent under a stopped one is taken in, and told to stop at its first check-in.

        Args:
            newcomers: A parent may stand before its children.
            pid: Their process, or the one that starts them; what they report later counts.

        Returns:
            The numbers of these lives, from 1.

        Raises:
            NameInvalid: No agent may have one of the names.
            NameTaken: An agent of that name lives, or is dead but had another parent, limit or team.
            AgentUnknown: There is no such parent.
            TeamUnknown: There is no such team.
            LimitTooLarge: A carved limit does not fit into what is above it.
            PriceMissing: Money is limited, and a preset does not say what its model costs.
        """
        with self._turn(Admit(tuple(newcomers), pid)):
            before = self._roster.state()
            members = self._roster.admit_all(self._newcomer(each, pid) for each in newcomers)
            opened: dict[Path, bool] = {}
            try:
                for member in members:
                    path = self._path(member.agent)
                    opened[path] = self._open_account(member, path)
            except RunError:
                for path, is_new in opened.items():
                    (self._ledger.close if is_new else self._ledger.rest)(path)
                self._roster = Roster(before)
                raise
            for member in members:
                self._admitted(member)
            return tuple(member.incarnation for member in members)

    def newcomer(self, agent: AgentId) -> Newcomer:
        """The agent as it asked to come in, to ask for its next life.

        Raises:
            AgentUnknown: There is no such agent.
        """
        with self._lock:
            member = self._roster.find(agent)
            return Newcomer(agent, member.parent, member.limit, member.team, member.priced, member.unbounded)

    def died(self, agent: AgentId, incarnation: Incarnation, reason: str, *, restart: bool = False) -> bool:
        """Note that a life is over, count its open calls as spent in full, and tell its parent if it was the last one.

        Nothing happens if that life was over already, but that one which was to be followed by another is the last.

        Args:
            agent: Whose life.
            incarnation: Its number.
            reason: Why it is over.
            restart: Whether whoever owns the agent would begin its next life now.

        Returns:
            Whether it is to be begun: the agent is not stopped, and was not restarted too often of late.
        """
        with self._turn(Bury(agent, incarnation, reason, restart)):
            if restart and is_restarting(self._roster.latest(agent), incarnation):
                return True
            living = self._roster.current(agent, incarnation)
            wanted = restart and living is not None and living.stopped is None
            again = wanted and self._restarts.allow(agent, self._now())
            member = self._roster.bury(agent, incarnation, reason, self._now(), restarts=again)
            if member is None:
                return False
            fenced = self._ledger.fence(self._path(agent), incarnation)
            self._gate.leave(agent)
            if not again:
                self._rest(agent)
            for reservation in fenced:
                self._gate.give_back(reservation, self._now())
            facts: Facts = {"incarnation": incarnation, "reservations": list(fenced), "restarts": again}
            self._tell(NoticeType.AGENT, "died", agent, reason, facts)
            if wanted and not again:
                self._tell(NoticeType.AGENT, "quarantined", agent, wording.quarantine(agent))
            if not again:
                self._note(member.parent, wording.death_note(agent, reason))
            return again

    def _newcomer(self, asks: Newcomer, pid: int) -> Member:
        status = AgentStatus(agent=asks.agent, incarnation=Incarnation(0), phase=NEWCOMER, since=self._now())
        above = None if asks.parent == USER else asks.parent
        return Member(
            asks.agent,
            Incarnation(0),
            above,
            asks.limit,
            pid,
            status,
            team=asks.team,
            priced=asks.priced,
            unbounded=asks.unbounded,
        )

    def _open_account(self, member: Member, path: Path) -> bool:
        """Open an agent's account; gives whether it is a new one.

        Raises:
            NameInvalid: A team has the agent's name.
            TeamUnknown: There is no such team.
            LimitTooLarge: Its carved limit does not fit into what is above it.
            PriceMissing: Money is limited, and a preset does not say what its model costs.
        """
        if member.agent in self._teams:
            raise NameInvalid(name=member.agent, reason="a team of the fleet has that name")
        if member.team and member.team not in self._teams:
            raise TeamUnknown(name=member.team, near=tuple(get_close_matches(member.team, self._teams)))
        lineage = self._ledger.lineage(path)
        is_new = lineage[-1].path != path
        paying = (*lineage, Account(path, member.limit)) if is_new else lineage
        unpaid = [each.name for each in paying if each.limit is not None and each.limit.dollars is not None]
        if unpaid and not member.priced:
            raise PriceMissing(agent=member.agent, account=unpaid[0])
        self._check_opened(member.agent, self._ledger.open(path, member.limit))
        return is_new

    def _check_opened(self, name: str, short: Short | None) -> None:
        if short is not None:
            above, reason = short.account.name, wording.unfit(short)
            raise LimitTooLarge(name=name, above=above, unit=short.unit, reason=reason)

    def _rest(self, agent: AgentId) -> None:
        """Set nothing aside any more for an agent that is gone."""
        if (run := self._runs.get(agent)) is not None:
            self._ledger.rest(run)
        self._ledger.rest(self._path(agent))

    def _admitted(self, member: Member) -> None:
        if member.stopped is not None:
            self._ledger.stop(self._path(member.agent))
        facts: Facts = {
            "incarnation": member.incarnation,
            "parent": member.parent,
            "limit": None if member.limit is None else member.limit.tokens,
            "pid": member.pid,
        }
        self._tell(NoticeType.AGENT, "admitted", member.agent, wording.admission(member), facts)
        limited = any(account.limit is not None for account in self._ledger.lineage(self._path(member.agent)))
        if member.unbounded and limited and member.incarnation == 1:
            text = f"{member.agent} has a provider that may bill more than it is granted, so its limits are not hard"
            self._tell(NoticeType.BUDGET, "soft", member.agent, text)
