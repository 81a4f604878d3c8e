"""The one place that says who may go on: the plain class around the ledger, the gate, the roster and the notices."""

from dataclasses import replace

from ...protocols.checkin import AgentStatus, CheckIn, Directive, Pause, Settlement, Stop
from ...protocols.ids import USER, AgentId
from ...protocols.notices import Notice, NoticeType
from ...protocols.spawning import StopAnswer, StopRequest
from ..errors import ChannelClosed
from . import wording
from .account import Account, Level, run_name
from .bench import Facts
from .budgets import Budgets
from .commands import Check, PauseAgents, Settle, StopAgents, StopChild, Tell
from .member import PAUSED, Member
from .permission import hold_up

__all__ = ("Supervisor",)


class Supervisor(Budgets):
    """Admits agents, answers their check-ins, counts what they spend, and steers them for people.

    Any thread may call any method; each is quick and waits for nobody.
    """

    # --- what agents call ---------------------------------------------------------------------------------------------

    def check_in(self, asked: CheckIn) -> Directive:
        """Say whether an attempt of a model call may be made.

        Returns:
            `Stop` to a life that is over or an agent that is stopped, `Pause` to one that is paused, `Wait` while it is
            others' turn at the provider or calls in flight hold what it needs, `Proceed` with the tokens it may use,
            and what the account that is short says when that much is no longer left: `WindDown`, `Pause` or `Stop`. For
            a last answer there is nothing further to wind down to, so it is told `EndStep`: make it without a model.

        Raises:
            ValueError: It asks for a negative number of tokens.
        """
        with self._locked():
            member = self._roster.current(asked.agent, asked.incarnation)
            acts = member is not None and member.stopped is None and not self._is_held(member, asked)
            # Who waits for its turn changes nothing that another process would go on with: agents ask again. And what
            # is in the log had its turn, whatever this process would have said.
            if acts and not self.log.replaying and (wait := hold_up(self._gate, asked, self._clock())) is not None:
                return wait
            self._record(Check(asked))
            if member is None:
                return self._fenced(asked)
            if member.stopped is not None:
                return self._turned_away(Stop(member.stopped), asked)
            if self._is_held(member, asked):
                return self._turned_away(Pause(member.paused or ""), asked)
            return self._pay(asked)

    def step_back(self, agent: AgentId) -> None:
        """An agent asks for no model call for now: it gives up its place in line at the provider."""
        with self._locked():
            self._gate.leave(agent)

    def settle(self, settlement: Settlement) -> None:
        """Book what an attempt came to; any life may, any number of times, and only what is newly known counts.

        Raises:
            ValueError: The number of tokens is negative.
        """
        with self._turn(Settle(settlement)):
            key = settlement.reservation
            facts: Facts = {"reservation": key, "tokens": settlement.tokens}
            over = self._ledger.settle(
                key, settlement.spent, estimated=settlement.estimated, tools=settlement.tool_calls
            )
            result, after, jitter = settlement.result, settlement.after, self._jitter(key)
            self._gate.give_back(key, self._now(), result=result, after=after, jitter=jitter)
            if over is None:
                text = f"{key} is settled but not reserved here, so nothing was counted"
                self._tell(NoticeType.BUDGET, "unmatched", settlement.agent, text, facts)
            elif over:
                text = f"the provider counted {wording.overshoot(over)} more than were reserved for {key}"
                more: Facts = {"overshoot": over.tokens, "dollars": over.dollars}
                self._tell(NoticeType.BUDGET, "overshoot", settlement.agent, text, facts | more)

    def report(self, status: AgentStatus, notices: tuple[Notice, ...]) -> None:
        """Keep how an agent is and what happened to it.

        Its parent is told of a run that ended without an answer, a sender of a message that was never consumed.

        What a life that is over reports is refused whole. Of a person only the notices are kept. A report whose answer
        was lost may come again, together with newer notices: each numbered one counts once.

        Args:
            status: As the agent knows it; its tokens, limit and parent are known here.
            notices: In order, numbered rising within the life, or not at all. They get their numbers in the fleet's log
                here, and a time if they have none.
        """
        with self._turn(Tell(status, notices)):
            member = self._roster.current(status.agent, status.incarnation)
            if member is None and status.agent != USER:
                return
            news = notices if member is None else member.news(notices)
            self._roster.heard(status, notices)
            self.feed.append(*news)
            for notice in news:
                if (notice.type, notice.extra_type) == (NoticeType.RUN, "finished") and notice.run is not None:
                    self._run_over(notice.agent, notice.run)
                if member is not None and (text := wording.run_note(notice)) is not None:
                    self._note(member.parent, text)
                if (dead := wording.dead_letter_note(notice)) is not None:
                    self._note(*dead)

    def stop_child(self, request: StopRequest) -> StopAnswer:
        """Stop one that an agent, or one below it, has spawned, and all under that one."""
        with self._turn(StopChild(request)):
            asks, child = self._roster.current(request.agent, request.incarnation), request.child
            if asks is None or asks.stopped is not None:
                return StopAnswer(why=f"{request.agent} may do nothing more, and so stops nobody.")
            below = [member.agent for member in self._household(request.agent).below(request.agent)]
            if child not in below:
                there = f"Those are: {', '.join(below)}." if below else "There is none."
                return StopAnswer(why=f"You may stop only agents that you, or those below you, have spawned. {there}")
            return StopAnswer(self._stop((child,), request.reason))

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
            return tuple(self._row(member) for member in self._roster.family(()))

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
            return self._stop(agents, reason)

    def pause(self, agents: tuple[AgentId, ...], reason: str | None) -> tuple[AgentId, ...]:
        """Have agents and all under them stay where they are, or, without a reason, go on; all if none is named.

        Returns:
            Those of them that live and must now be told, whether something changed for them or not: who could not be
            told the last time is told when the same is asked for again.

        Raises:
            AgentUnknown: One of the names; then nothing changes.
            ChannelClosed: One that is named was stopped for good; then nothing changes either.
        """
        self._check_may_go_on(agents)
        event, text = ("resumed", "may go on") if reason is None else ("paused", reason)
        with self._turn(PauseAgents(agents, reason)):
            for member in self._roster.pause(agents, reason):
                if member.active:
                    self._tell(NoticeType.AGENT, event, member.agent, text)
            return tuple(member.agent for member in self._roster.family(agents) if member.active)

    # ------------------------------------------------------------------------------------------------------------------

    def _check_may_go_on(self, agents: tuple[AgentId, ...]) -> None:
        """To whom was stopped for good, neither a pause nor its end means anything. It is not written, as a refusal."""
        with self._lock:
            for member in () if self.log.replaying else map(self._roster.find, agents):
                if member.stopped is not None:
                    raise ChannelClosed(agent=member.agent, reason=f"it was stopped for good: {member.stopped}")

    def _stop(self, agents: tuple[AgentId, ...], reason: str) -> tuple[AgentId, ...]:
        """Put tombstones; gives those under them that live."""
        self._put_tombstones(agents, reason)
        return tuple(member.agent for member in self._roster.family(agents) if member.dead is None)

    def _is_held(self, member: Member, asked: CheckIn) -> bool:
        """Whether it has to stay where it is. One that lacked what another run might spend has not: that is over."""
        spends = member.short and Account(member.short).level is Level.RUN
        return member.paused is not None and not (spends and member.short[-1] != run_name(asked.run))

    def _fenced(self, asked: CheckIn) -> Stop:
        reason = wording.fenced(asked, self._roster.latest(asked.agent))
        self._tell(NoticeType.AGENT, "fenced", asked.agent, reason, {"incarnation": asked.incarnation})
        return Stop(reason, fenced=True)

    def _turned_away(self, directive: Stop | Pause, asked: CheckIn) -> Directive:
        self._gate.leave(asked.agent)
        return directive

    def _row(self, member: Member) -> AgentStatus:
        row = member.row(self._ledger.account(self._path(member.agent)))
        waits = self.log.waits if row.run is not None and member.active else ""
        queued = self._gate.queued(member.agent, self._clock())
        # What the agent itself has said may be older: who stands in line, or is held, has asked since.
        note = wording.turn(queued) if queued else self._held(member)
        return replace(row, note=note or row.note or waits)

    def _held(self, member: Member) -> str:
        """For what it is paused until its account has more, and for how long; empty: it is not."""
        if not (member.short and member.active):
            return ""
        since = member.status.since if member.status.phase == PAUSED else None
        return wording.held(
            self._ledger.account(member.short), member.lacks, None if since is None else self._clock() - since
        )
