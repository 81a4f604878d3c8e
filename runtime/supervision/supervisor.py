"""The one place that says who may go on: the plain class around the ledger, the gate, the roster and the notices.

Its lock is held for one short piece of policy at a time; what follows for others (notes to parents, waking watchers)
is done after it is released.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from threading import Lock
from typing import TypeAlias
from zlib import crc32

from ...protocols.checkin import AgentStatus, CheckIn, Directive, Pause, Settlement, Stop, WindDown
from ...protocols.ids import USER, AgentId, Incarnation
from ...protocols.messages import Json
from ...protocols.notices import Notice, NoticeType
from . import wording
from .account import Account, Path
from .command_log import CommandLog, Unrecorded
from .commands import (
    Admit,
    AdmitUser,
    Bury,
    Check,
    Command,
    Newcomer,
    PauseAgents,
    Settle,
    StopAgents,
    Tell,
)
from .feed import NoticeFeed
from .gate import Gate
from .ledger import Ledger
from .permission import hold_up, permit
from .restart import Restarts
from .roster import NEWCOMER, Member, Roster, is_restarting

__all__ = ("Newcomer", "Supervisor")

Facts: TypeAlias = dict[str, Json]


class Supervisor:
    """Admits agents, answers their check-ins, counts their tokens, and steers them for people.

    Any thread may call any method; each is quick and waits for nobody.

    Attributes:
        feed: The fleet's notices, to read and to subscribe to.
        log: Takes what is asked of it. An answer may go out once it is `written`.
    """

    def __init__(
        self,
        *,
        fleet: str,
        limit: int | None,
        now: Callable[[], float],
        post: Callable[[AgentId, str], None],
        log: CommandLog | None = None,
    ) -> None:
        """Begin a fleet without agents.

        Args:
            fleet: Its name.
            limit: The most tokens all agents together may spend; None: no limit.
            now: Gives Unix seconds.
            post: Sends a note of one line to an agent, from any thread. It must return at once and raise nothing.
            log: Keeps what is asked, for another process to go on from; None: nobody does.

        Raises:
            ValueError: The limit is negative.
        """
        self.log = log or Unrecorded(now)
        self.feed = NoticeFeed(self._now)
        self._at = 0.0
        self._clock = now
        self._post = post
        # Not an RLock: a method that ran inside another would call `post` while the outer one still holds the lock.
        self._lock = Lock()
        self._ledger = Ledger(fleet, limit)
        self._gate = Gate()
        self._roster = Roster()
        self._restarts = Restarts()
        self._notes: list[tuple[AgentId, str]] = []

    # --- what systems call --------------------------------------------------------------------------------------------

    def admit(self, agent: AgentId, parent: AgentId | None, limit: int | None, pid: int) -> Incarnation:
        """Take in one agent as `admit_all` does, or, as `USER`, one more process through which a person speaks."""
        if agent == USER:
            with self._turn(AdmitUser()):
                return self._roster.admit_user()
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
            NameTaken: An agent of that name lives, or is dead but had another parent or limit.
            AgentUnknown: There is no such parent.
            ValueError: A limit is negative.
        """
        with self._turn(Admit(tuple(newcomers), pid)):
            accounts = [Account(self._path(each.agent), each.limit) for each in newcomers]
            members = self._roster.admit_all(self._newcomer(each, pid) for each in newcomers)
            for member, account in zip(members, accounts, strict=True):
                self._admitted(member, account)
            return tuple(member.incarnation for member in members)

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
            for reservation in fenced:
                self._gate.give_back(reservation, self._now())
            facts: Facts = {"incarnation": incarnation, "reservations": list(fenced), "restarts": again}
            self._tell(NoticeType.AGENT, "died", agent, reason, facts)
            if wanted and not again:
                self._tell(NoticeType.AGENT, "quarantined", agent, wording.quarantine(agent))
            if not again:
                self._note(member.parent, wording.death_note(agent, reason))
            return again

    # --- what agents call ---------------------------------------------------------------------------------------------

    def check_in(self, asked: CheckIn) -> Directive:
        """Say whether an attempt of a model call may be made.

        Returns:
            `Stop` to a life that is over or an agent that is stopped, `Pause` to one that is paused, `Wait` while it is
            others' turn at the provider or calls in flight hold what it needs, `Proceed` with the tokens it may use,
            and `WindDown` when that much is no longer left. For a last answer there is nothing further to wind down to,
            so it is told `EndStep`: make the last answer without a model.

        Raises:
            ValueError: It asks for a negative number of tokens.
        """
        with self._locked():
            member = self._roster.current(asked.agent, asked.incarnation)
            acts = member is not None and member.stopped is None and member.paused is None
            # Who waits for its turn changes nothing that another process would go on with: agents ask again. And what
            # is in the log had its turn, whatever this process would have said.
            if acts and not self.log.replaying and (wait := hold_up(self._gate, asked, self._clock())) is not None:
                return wait
            self._record(Check(asked))
            if member is None:
                return self._fenced(asked)
            if member.stopped is not None:
                return self._turned_away(Stop(member.stopped), asked)
            if member.paused is not None:
                return self._turned_away(Pause(member.paused), asked)
            directive = permit(self._ledger, self._gate, asked, self._now())
            if isinstance(directive, WindDown):
                self._tell(NoticeType.BUDGET, "wind_down", asked.agent, directive.reason, {"limit": directive.limit})
            return directive

    def settle(self, settlement: Settlement) -> None:
        """Book what an attempt came to; any life may, any number of times, and only what is newly known counts.

        Raises:
            ValueError: The number of tokens is negative.
        """
        with self._turn(Settle(settlement)):
            key = settlement.reservation
            facts: Facts = {"reservation": key, "tokens": settlement.tokens}
            over = self._ledger.settle(key, settlement.tokens, estimated=settlement.estimated)
            result, after, jitter = settlement.result, settlement.after, self._jitter(key)
            self._gate.give_back(key, self._now(), result=result, after=after, jitter=jitter)
            if over is None:
                text = f"{key} is settled but not reserved here, so nothing was counted"
                self._tell(NoticeType.BUDGET, "unmatched", settlement.agent, text, facts)
            elif over:
                text = f"the provider counted {over:,} tokens more than were reserved for {key}"
                self._tell(NoticeType.BUDGET, "overshoot", settlement.agent, text, {**facts, "overshoot": over})

    def report(self, status: AgentStatus, notices: tuple[Notice, ...]) -> None:
        """Keep how an agent is and what happened to it.

        Its parent is told of a run that ended without an answer, a sender of a message that was never consumed.

        What a life that is over reports is refused whole. Of a person only the notices are kept.

        Args:
            status: As the agent knows it; its tokens, limit and parent are known here.
            notices: In order. They get their numbers here, and a time if they have none.
        """
        with self._turn(Tell(status, notices)):
            member = self._roster.heard(status)
            if member is None and status.agent != USER:
                return
            self.feed.append(*notices)
            for notice in notices:
                if member is not None and (text := wording.run_note(notice)) is not None:
                    self._note(member.parent, text)
                if (dead := wording.dead_letter_note(notice)) is not None:
                    self._note(*dead)

    # --- what people call ---------------------------------------------------------------------------------------------

    def find(self, agent: AgentId) -> AgentStatus:
        """The row of one agent.

        Raises:
            AgentUnknown: There is none of that name; the error has names like it.
        """
        with self._lock:
            return self._row(self._roster.find(agent))

    def statuses(self) -> tuple[AgentStatus, ...]:
        """The rows of all agents, dead and stopped ones too, in the order they first came."""
        with self._lock:
            return tuple(self._row(member) for member in self._roster.members())

    def accounts(self) -> tuple[Account, ...]:
        """All accounts as they are at this moment, the fleet's first."""
        with self._lock:
            return self._ledger.accounts()

    @property
    def over(self) -> str:
        """Why the whole fleet was stopped; empty while it was not."""
        with self._lock:
            return self._roster.stopped or ""

    def stop(self, agents: tuple[AgentId, ...], reason: str) -> tuple[AgentId, ...]:
        """Stop agents and all under them, those to come included, for good; the whole fleet if none is named.

        Returns:
            Those of them that live and must now be told, whether they were stopped before or not.

        Raises:
            AgentUnknown: One of the names; then nobody is stopped.
        """
        with self._turn(StopAgents(agents, reason)):
            for member in self._roster.stop(agents, reason, self._now()):
                self._ledger.stop(self._path(member.agent))
                self._tell(NoticeType.AGENT, "stopped", member.agent, reason)
            return tuple(member.agent for member in self._roster.family(agents) if member.dead is None)

    def pause(self, agents: tuple[AgentId, ...], reason: str | None) -> tuple[AgentId, ...]:
        """Have agents and all under them stay where they are, or, without a reason, go on; all if none is named.

        Returns:
            Those of them that live and must now be told, whether something changed for them or not: who could not be
            told the last time is told when the same is asked for again.

        Raises:
            AgentUnknown: One of the names; then nothing changes.
        """
        event, text = ("resumed", "may go on") if reason is None else ("paused", reason)
        with self._turn(PauseAgents(agents, reason)):
            for member in self._roster.pause(agents, reason):
                if member.active:
                    self._tell(NoticeType.AGENT, event, member.agent, text)
            return tuple(member.agent for member in self._roster.family(agents) if member.active)

    # ------------------------------------------------------------------------------------------------------------------

    @contextmanager
    def _turn(self, command: Command) -> Generator[None, None, None]:
        """Hold the lock while something changes that another process would go on with."""
        with self._locked():
            self._record(command)
            yield

    @contextmanager
    def _locked(self) -> Generator[None, None, None]:
        """Hold the lock; tell others afterwards what came of what was done."""
        with self._lock:
            yield
            notes, self._notes = self._notes, []
        self.feed.wake_all()
        for agent, text in () if self.log.replaying else notes:
            self._post(agent, text)

    def _record(self, command: Command) -> None:
        self._at = self.log.note(command)

    def _jitter(self, key: str) -> float:
        """A number in [0, 1) that is another one each time and in each fleet, and the same in a replay."""
        return crc32(f"{self._ledger.root}/{key}/{self._at}".encode()) / 2**32

    def _now(self) -> float:
        """When what is being done was asked for."""
        return self._at

    def _newcomer(self, asks: Newcomer, pid: int) -> Member:
        status = AgentStatus(agent=asks.agent, incarnation=Incarnation(0), phase=NEWCOMER, since=self._now())
        above = None if asks.parent == USER else asks.parent
        return Member(asks.agent, Incarnation(0), above, asks.limit, pid, status)

    def _admitted(self, member: Member, account: Account) -> None:
        self._ledger.open(account.path, account.limit)
        if member.stopped is not None:
            self._ledger.stop(account.path)
        facts: Facts = {
            "incarnation": member.incarnation,
            "parent": member.parent,
            "limit": member.limit,
            "pid": member.pid,
        }
        self._tell(NoticeType.AGENT, "admitted", member.agent, wording.admission(member), facts)

    def _fenced(self, asked: CheckIn) -> Stop:
        reason = wording.fenced(asked, self._roster.latest(asked.agent))
        self._tell(NoticeType.AGENT, "fenced", asked.agent, reason, {"incarnation": asked.incarnation})
        return Stop(reason, fenced=True)

    def _turned_away(self, directive: Stop | Pause, asked: CheckIn) -> Directive:
        self._gate.leave(asked.agent)
        return directive

    def _path(self, agent: AgentId) -> Path:
        return (*self._ledger.root, agent)

    def _row(self, member: Member) -> AgentStatus:
        row = member.row(self._ledger.account(self._path(member.agent)).spent)
        waits = self.log.waits if row.run is not None and member.active else ""
        queued = self._gate.queued(member.agent, self._clock())
        # What the agent itself has said may be older: who stands in line has asked since.
        return replace(row, note=wording.turn(queued) if queued else row.note or waits)

    def _tell(self, kind: NoticeType, event: str, agent: AgentId, text: str, facts: Facts | None = None) -> None:
        self.feed.append(Notice(type=kind, extra_type=event, agent=agent, text=text, data=facts or {}))

    def _note(self, agent: AgentId | None, text: str) -> None:
        member = None if agent is None else self._roster.latest(agent)
        if agent is not None and member is not None and (member.active or member.restarts):
            self._notes.append((agent, text))
