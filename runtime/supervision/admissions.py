"""Who comes into a fleet and how lives end: the part of the Supervisor that systems ask."""

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import NamedTuple

from ...protocols.checkin import AgentStatus
from ...protocols.ids import USER, AgentId, Incarnation
from ...protocols.limits import Limits
from ...protocols.mail import DeadLetter, Refusal
from ...protocols.notices import NoticeType
from ...protocols.restarts import RestartPolicy
from ...protocols.spawning import SpawnAnswer, SpawnCause, Spawned, SpawnRefusal, SpawnRequest
from ..errors import NameInvalid, NameTaken, RunError
from ..limit_errors import LimitTooLarge, PriceMissing, TeamUnknown
from . import wording
from .account import Account, Path, team_name
from .bench import Bench, Facts
from .commands import Admit, AdmitUser, Begin, Bury, CloseMailbox, FormTeams, Newcomer, Spawn, Team
from .ledger import Short
from .member import Member
from .restart import USUAL, Death
from .roster import NEWCOMER, Roster, check_name, is_restarting
from .spawn_policy import Household, refusal

__all__ = ("Admissions", "OpenMailbox", "Unheard")


class Unheard(NamedTuple):
    """An agent of which nothing was heard since it was admitted: by which process, and when (Unix seconds)."""

    agent: AgentId
    incarnation: Incarnation
    pid: int
    since: float


class OpenMailbox(NamedTuple):
    """The mailbox of a life that is over for good, and that was not closed yet; `refusal`: why nobody will read it."""

    agent: AgentId
    incarnation: Incarnation
    refusal: Refusal


class Admissions(Bench):
    """Begins, admits and buries."""

    def begin(self, owner: str, limit: Limits | None, restarts: RestartPolicy = USUAL) -> None:
        """Open the fleet, for the first time or again.

        What was asked before was answered under the limit that held then, and stays so. Who is paused until the fleet
        may spend more may go on, and asks again. Teams are those that are formed from now on: for one of before that is
        not formed again, nothing is set aside any more.

        Args:
            owner: Names this opening.
            limit: The most that all agents together may spend from now on, in all the fleet's life; None: no limit.
            restarts: How often an agent may be restarted from now on.
        """
        with self._turn(Begin(owner, limit, restarts)):
            self._ledger.limit(self._ledger.root, limit)
            self._restarts.policy = restarts
            self._let_go(self._ledger.root)
            if owner != self.owner:
                for path in self._teams.values():
                    self._ledger.rest(path)
            self.owner = owner

    def form_teams(self, teams: Sequence[Team]) -> None:
        """Open accounts for teams. One that is open has this limit from now on; who is paused for it asks again.

        Raises:
            NameInvalid: No team may have one of the names; all others are formed.
            LimitTooLarge: A carved limit does not fit into the fleet's; all before it are formed.
        """
        with self._turn(FormTeams(tuple(teams))):
            for team in teams:
                check_name(team.name, "team")
                if self._roster.latest(AgentId(team.name)) is not None:
                    raise NameInvalid(name=team.name, reason="an agent of the fleet has that name", what="team")
                path = (*self._ledger.root, team_name(team.name))
                if team.name not in self._teams:
                    self._check_opened(team.name, self._ledger.open(path, None))
                    self._teams[team.name] = path
                # The limit comes first: one that rests, because the fleet has just begun anew, is opened with the new.
                self._check_opened(team.name, self._ledger.limit(path, team.limit))
                self._check_opened(team.name, self._ledger.open(path, team.limit))
                self._let_go(path)

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
            NameTaken: An agent of that name lives, is dead but had another parent, limit or team, or was stopped and
                has died since the fleet was opened: with the next opening it comes back as stopped.
            AgentUnknown: There is no such parent.
            TeamUnknown: There is no such team.
            LimitTooLarge: A carved limit does not fit into what is above it.
            PriceMissing: Money is limited, and a preset does not say what its model costs.
        """
        self._check_not_stopped(newcomers)
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

    def spawn(self, request: SpawnRequest, pid: int) -> SpawnAnswer:
        """Take in the child that an agent asks for, if it may have one: looked at and let in as one thing.

        Asked for again by the same call, it is the same child as long as that lives.

        Args:
            request: What is asked for.
            pid: The process that brings it to life.
        """
        with self._turn(Spawn(request, pid)):
            answer = self._spawned(request, pid)
            if isinstance(answer, SpawnRefusal):
                facts: Facts = {"cause": answer.cause, "kind": request.kind, "name": request.name}
                self._tell(NoticeType.AGENT, "spawn_refused", request.agent, answer.why, facts)
            return answer

    def newcomer(self, agent: AgentId) -> Newcomer:
        """The agent as it asked to come in, to ask for its next life.

        Raises:
            AgentUnknown: There is no such agent.
        """
        with self._lock:
            member = self._roster.find(agent)
            facts = member.parent, member.limit, member.team, member.priced, member.unbounded
            return Newcomer(agent, *facts, restart=member.restart)

    def died(self, agent: AgentId, incarnation: Incarnation, reason: str, *, restart: bool = False) -> bool:
        """Note that a life is over, count its open calls as spent in full, and tell its parent if it was the last one.

        Nothing happens if that life was over already, but that one which was to be followed by another is the last.

        Args:
            agent: Whose life.
            incarnation: Its number.
            reason: Why it is over.
            restart: Whether whoever owns the agent would begin its next life now.

        Returns:
            Whether it is to be begun: the agent is permanent, not stopped, and was not restarted too often of late.
        """
        with self._turn(Bury(agent, incarnation, reason, restart)):
            if restart and is_restarting(self._roster.latest(agent), incarnation):
                return True
            living = self._roster.current(agent, incarnation)
            wanted = restart and living is not None and living.stopped is None and living.restart == "permanent"
            deaths = self._restarts.too_often(agent, self._now(), reason) if wanted else ()
            again = wanted and not deaths
            shown = wording.quarantined(deaths, self._restarts.policy) if deaths else reason
            member = self._roster.bury(agent, incarnation, shown, self._now(), restarts=again, owner=self.owner)
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
            if deaths:
                self._quarantined(agent, deaths)
            if not again and (member.told or not member.kind):  # that a child is not born, its parent's call says
                self._note(member.parent, wording.death_note(agent, reason))
            return again

    @property
    def unheard(self) -> tuple[Unheard, ...]:
        """Those that somebody is to bring to life, and that do not live yet; those ordered together stand together."""
        with self._lock:
            return tuple(
                Unheard(each.agent, each.incarnation, each.pid, each.status.since)
                for each in self._roster.family(())
                if each.unheard
            )

    @property
    def unclosed(self) -> tuple[OpenMailbox, ...]:
        """The mailboxes that are to be closed. None of their agents may be admitted before that."""
        with self._lock:
            return tuple(
                OpenMailbox(dead.agent, dead.incarnation, Refusal.DIED if dead.stopped is None else Refusal.STOPPED)
                for dead in map(self._roster.find, self._roster.unclosed)
            )

    def close_mailbox(
        self, agent: AgentId, incarnation: Incarnation, under: Incarnation, letters: tuple[DeadLetter, ...]
    ) -> None:
        """Tell of what the mailbox of a life held that is over for good, once however often this is asked.

        Args:
            agent: Whose mailbox.
            incarnation: Of which life.
            under: A later number under which that is written in the agent's records, which no life gets any more; or
                that of the life, if nothing is.
            letters: What was accepted, and neither read nor told to be dead.
        """
        with self._turn(CloseMailbox(agent, incarnation, under, letters)):
            if self._roster.close(agent, incarnation, under) is None:
                return
            for letter in letters:
                notice = wording.dead_letter(agent, letter)
                self.feed.append(notice)
                if (told := wording.dead_letter_note(notice)) is not None:
                    self._note(*told)

    def _check_not_stopped(self, newcomers: Sequence[Newcomer]) -> None:
        """Nobody is spawned anew who was stopped for good, and could do nothing.

        It is not written: what an older version let in was let in.
        """
        with self._lock:
            for was in () if self.log.replaying else (self._roster.latest(each.agent) for each in newcomers):
                if was is not None and was.stopped is not None and was.fell_in(self.owner):
                    raise NameTaken(name=was.agent, stopped=was.stopped)

    def _spawned(self, request: SpawnRequest, pid: int) -> SpawnAnswer:
        spawner = self._roster.current(request.agent, request.incarnation)
        if spawner is None or spawner.stopped is not None:
            why = f"{request.agent} may do nothing more, and so spawns nobody."
            return SpawnRefusal(SpawnCause.NOT_GRANTED, why)
        was = self._roster.latest(request.name)
        if was is not None and (was.call, was.parent) == (request.call, spawner.agent) and was.lives:
            born = not was.awaited or was.told > 0 or was.restarts
            return Spawned(was.agent, was.incarnation, was.limit, born)
        if (refused := refusal(request, self._household(spawner.agent))) is not None:
            return refused
        return self._let_in(request, pid)

    def _let_in(self, request: SpawnRequest, pid: int) -> SpawnAnswer:
        bills = request.priced, request.unbounded
        asks = Newcomer(
            request.name, request.agent, request.limit, "", *bills, request.allowance, restart=request.restart
        )
        newcomer = replace(self._newcomer(asks, pid), kind=request.kind, call=request.call, awaited=True)
        before = self._roster.state()
        try:
            member = self._roster.admit(newcomer)
            self._open_account(member, self._path(member.agent))
        except RunError as error:
            self._roster = Roster(before)
            return SpawnRefusal(cause_of(error), str(error))
        self._admitted(member)
        return Spawned(member.agent, member.incarnation, member.limit)

    def _household(self, agent: AgentId) -> Household:
        """Who was spawned by whom, now, as it matters to this agent; the lock is held."""
        above = self._ledger.lineage(self._path(agent))[:-1]
        return Household(self._roster.members(), lambda name: self._ledger.account(self._path(name)), above)

    def _quarantined(self, agent: AgentId, deaths: tuple[Death, ...]) -> None:
        facts: Facts = {"deaths": [{"at": death.at, "reason": death.reason} for death in deaths]}
        text = wording.quarantine(agent, deaths, self._restarts.policy)
        self._tell(NoticeType.AGENT, "quarantined", agent, text, facts)

    def _newcomer(self, asks: Newcomer, pid: int) -> Member:
        if asks.again and (was := self._roster.latest(asks.agent)) is not None:
            asks = asks._replace(limit=was.limit, team=was.team)
        here = pid if asks.born else 0
        status = AgentStatus(agent=asks.agent, incarnation=Incarnation(0), phase=NEWCOMER, since=self._now(), pid=here)
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
            allowance=asks.allowance,
            restart=asks.restart,
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

    def _let_go(self, path: Path) -> tuple[Member, ...]:
        """Have those go on who are paused until this account has more."""
        members = self._roster.release(path)
        for member in members:
            if member.active:
                self._tell(NoticeType.AGENT, "resumed", member.agent, "may go on")
        return members

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
            "kind": member.kind,
        }
        self._tell(NoticeType.AGENT, "admitted", member.agent, wording.admission(member), facts)
        limited = any(account.limit is not None for account in self._ledger.lineage(self._path(member.agent)))
        if member.unbounded and limited and member.incarnation == 1:
            text = f"{member.agent} has a provider that may bill more than it is granted, so its limits are not hard"
            self._tell(NoticeType.BUDGET, "soft", member.agent, text)


def cause_of(error: RunError) -> SpawnCause:
    """What kept a child out that its spawner may have."""
    if isinstance(error, NameInvalid | NameTaken):
        return SpawnCause.NAME
    return SpawnCause.TOKENS if isinstance(error, LimitTooLarge) else SpawnCause.NOT_GRANTED
