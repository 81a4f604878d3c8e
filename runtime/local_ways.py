"""A fleet's ways within one process: to the Supervisor, to the mailboxes, to the calls that wait for a person."""

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager

from ..protocols.approval import Approval, agent_of
from ..protocols.checkin import DEAD, NOT_YET, AgentStatus, CheckIn, Directive, Settlement, Stop
from ..protocols.ids import AgentId, Incarnation, MessageId
from ..protocols.limits import Limits
from ..protocols.mail import Receipt
from ..protocols.notices import Notice
from ..protocols.waits import Standing, WaitRefusal, WaitRequest
from .control import AgentControl
from .dead_letters import DeadLetterOffice
from .draining import undrained, undrained_report
from .errors import ChannelClosed, FleetClosed, PeerUnreachable
from .host import AgentHost
from .insight import AgentSight
from .journal_errors import Fenced, FleetTaken, JournalConflict, JournalUnavailable
from .lease import is_latest
from .ports import Clock
from .supervision.commands import Team
from .supervision.supervisor import Supervisor
from .supervision.wait_desk import WaitDesk
from .turning_away import turned_away
from .watchdog import Watchdog

__all__ = ("LocalAgents", "LocalApprovals", "LocalBudgets", "LocalDrain", "LocalLink", "LocalPost", "one_owner")


@contextmanager
def one_owner(fleet: str) -> Generator[None, None, None]:
    """Whoever finds a stream of the fleet taken is told what that means.

    Raises:
        FleetTaken: Another process has gone on with the fleet; this one may do nothing more.
    """
    try:
        yield
    except (Fenced, JournalConflict) as error:
        raise FleetTaken(fleet=fleet) from error


class LocalLink:
    """The Supervisor, one call away."""

    def __init__(self, fleet: str, supervisor: Supervisor, waits: WaitDesk, watchdog: Watchdog | None = None) -> None:
        """Keep it, whose it is, who is told of waits, and the watch beside it; None: nobody watches."""
        self._fleet = fleet
        self._supervisor = supervisor
        self._waits = waits
        self._calls = watchdog or supervisor

    async def check_in(self, asked: CheckIn) -> Directive:
        """Ask for leave; what is granted is written down before it is told."""
        directive = self._calls.check_in(asked)
        try:
            with one_owner(self._fleet):
                await self._supervisor.log.written()
        except FleetTaken as error:  # agents of this process may do nothing more, and end nothing for good
            return Stop(str(error), fenced=True)
        return directive

    async def settle(self, settlement: Settlement) -> None:
        """Say what an attempt came to."""
        self._calls.settle(settlement)

    async def report(self, status: AgentStatus, notices: tuple[Notice, ...]) -> None:
        """Tell how the agent is; what is new is written down before it counts as told.

        Raises:
            FleetClosed: Nothing is written any more. What a record says is told by the agent's next life.
        """
        self._supervisor.report(status, notices)
        self._waits.heard(status)
        try:
            await self._supervisor.log.written()
        except (Fenced, JournalConflict, JournalUnavailable) as error:
            raise FleetClosed(fleet=self._fleet, stage="closed") from error

    async def wait(self, asked: WaitRequest) -> WaitRefusal | None:
        """Say that a wait for mail begins."""
        return await self._waits.ask(asked)

    async def renew(self, agent: AgentId, incarnation: Incarnation) -> bool:
        """Whether this life is the latest."""
        return is_latest(self._supervisor.find(agent), incarnation)

    async def peers(self, agent: AgentId, incarnation: Incarnation) -> tuple[AgentStatus, ...]:  # noqa: ARG002
        """The other agents."""
        return tuple(row for row in self._supervisor.statuses() if row.agent != agent)


class LocalPost:
    """Hands batches to the hosts of this process.

    Attributes:
        coming: Agents that are being spawned.
        office: Knows of the mail of those that have no host.
    """

    office: DeadLetterOffice

    def __init__(self, hosts: dict[AgentId, AgentHost], supervisor: Supervisor) -> None:
        """Share the system's table of hosts."""
        self.coming: set[AgentId] = set()
        self._hosts = hosts
        self._supervisor = supervisor

    async def deliver(self, recipient: AgentId, batch: bytes) -> bytes:
        """Hand over a batch.

        Raises:
            AgentUnknown: There is no such agent.
            ChannelClosed: It has died. One that was stopped refuses, dead or not.
            PeerUnreachable: It is being spawned, gives way to another life, or is not spawned again yet.
        """
        if recipient in self.coming:
            raise PeerUnreachable(agent=recipient, reason="it is being spawned")
        if recipient not in self._hosts:
            row = self._supervisor.find(recipient)
            if row.stopped:
                return await turned_away(recipient, batch, self.office.receipt)
            if row.awaits_spawn:
                raise PeerUnreachable(agent=recipient, reason=NOT_YET)
        return await self.host(recipient).deliver(batch)

    async def receipt(self, recipient: AgentId, message: MessageId) -> Receipt | None:
        """Ask the recipient's mailbox, or, where it has none now, what is written of it.

        Raises:
            AgentUnknown: There is no such agent.
            JournalUnavailable: The journal cannot be reached.
        """
        host = self._hosts.get(recipient)
        return await self.office.receipt(recipient, message) if host is None else host.receipt(message)

    def host(self, agent: AgentId) -> AgentHost:
        """The host of an agent.

        Raises:
            AgentUnknown: There is no such agent.
            ChannelClosed: It is being spawned, was stopped, or has died.
        """
        host = self._hosts.get(agent)
        if host is None:
            row = self._supervisor.find(agent)
            raise ChannelClosed(agent=agent, reason="it is being spawned" if row.phase != DEAD else row.absence)
        return host

    def control(self, agent: AgentId) -> AgentControl:
        """The control of an agent; raises what `host` raises."""
        return self.host(agent).control

    def insight(self, agent: AgentId) -> AgentSight:
        """The way to look into an agent; raises what `host` raises."""
        return self.host(agent).insight


class LocalAgents:
    """The hosts of this process, for one who asks how agents stand."""

    def __init__(self, hosts: dict[AgentId, AgentHost]) -> None:
        """Share the system's table of hosts."""
        self._hosts = hosts

    async def standing(self, agent: AgentId) -> Standing | None:
        """How an agent stands now; None of one that is being spawned, or gives way to another life."""
        host = self._hosts.get(agent)
        return None if host is None else host.waits.standing()

    async def end_wait(self, agent: AgentId, incarnation: Incarnation, op: int, refusal: WaitRefusal) -> None:
        """End one wait of an agent's life, if it is not over."""
        if (host := self._hosts.get(agent)) is not None:
            host.waits.end(incarnation, op, refusal)


class LocalDrain:
    """Has the hosts of this process drain.

    Attributes:
        begun: Nobody is to be spawned any more, nor to come to life that is being spawned.
    """

    def __init__(self, hosts: dict[AgentId, AgentHost], supervisor: Supervisor, clock: Clock) -> None:
        """Share the system's table of hosts."""
        self.begun = False
        self._hosts = hosts
        self._supervisor = supervisor
        self._clock = clock

    async def __call__(self, grace: float) -> None:
        """Have all of them drain; see `Drain`."""
        self.begun = True
        hosts = dict(self._hosts)
        left = await undrained({name: host.drain() for name, host in hosts.items()}, self._clock.sleep(grace))
        rows = [hosts[name].status() for name in left]
        self._supervisor.report(*undrained_report(rows, grace, self._clock.now()))


class LocalApprovals:
    """The calls of the hosts of this process that wait for a person."""

    def __init__(self, hosts: dict[AgentId, AgentHost], post: LocalPost) -> None:
        """Share the system's table of hosts."""
        self._hosts = hosts
        self._post = post

    async def pending(self) -> tuple[Approval, ...]:
        """All calls that wait, agent by agent."""
        return tuple(each for host in self._hosts.values() for each in host.approvals.pending())

    async def answer(self, approval: str, *, allowed: bool, reason: str) -> None:
        """Answer one.

        Raises:
            AgentUnknown: There is no agent that it could be about.
            ApprovalUnknown: It does not wait for an answer.
            ChannelClosed: Its agent is being spawned.
        """
        self._post.host(agent_of(approval)).approvals.answer(approval, allowed=allowed, reason=reason)


class LocalBudgets:
    """The limits of a fleet that lives in this process."""

    def __init__(self, supervisor: Supervisor, tell: Callable[[tuple[AgentId, ...]], Awaitable[None]]) -> None:
        """Keep the Supervisor, and the way to agents that may go on."""
        self._supervisor = supervisor
        self._tell = tell

    async def form_teams(self, teams: tuple[Team, ...]) -> None:
        """Open accounts for teams; see `BudgetPort`."""
        self._supervisor.form_teams(teams)
        await self._tell(())

    async def limit(self, of: str, limit: Limits | None) -> None:
        """Limit an account anew; see `BudgetPort`."""
        await self._tell(self._supervisor.limit(of, limit))

    async def grant_no_more(self, of: str) -> None:
        """Have agents wind down; see `BudgetPort`."""
        await self._tell(self._supervisor.grant_no_more(of))
