"""Where the gateway has a fleet from: what it reads and what it pulls, as a port, and the one over a running fleet."""

from typing import Protocol

from ...protocols.approval import Approval
from ...protocols.checkin import AgentStatus
from ...protocols.ids import AgentId, MessageId
from ...protocols.insight import Heard, Insight, Spoken
from ...protocols.limits import Limits
from ...protocols.mail import Receipt
from ...protocols.notices import Notice
from ..errors import NameInvalid
from ..given import check_text
from ..helm import Helm, name_of
from ..supervision.account import Account
from ..system import Stopped, System

__all__ = ("FleetLevers", "FleetSource", "SystemSource")


class FleetLevers(Protocol):
    """What the gateway can do to a fleet."""

    @property
    def moves(self) -> bool:
        """Whether they move anything: those of a recording do not."""
        ...

    async def answer(self, approval: str, *, allowed: bool, reason: str) -> None:
        """Answer one; raises what `Approvals.allow` and `Approvals.refuse` raise."""
        ...

    async def send(self, agent: str, body: str) -> Receipt:
        """Send a message as the person at the keyboard; raises what `Helm.send` raises."""
        ...

    async def pause(self, agent: str, reason: str | None) -> None:
        """Pause an agent and those below it; without a reason let them go on. Raises what `Helm.pause` raises."""
        ...

    async def stop(self, agents: tuple[str, ...], reason: str) -> Stopped:
        """Stop agents and those below them; none named: all. Raises what `Helm.stop` raises."""
        ...

    async def kill(self, agent: str) -> None:
        """End an agent's process at once. Raises what `Fleet.kill` raises."""
        ...

    async def limit(self, account: str | None, limit: Limits | None) -> None:
        """Limit an agent, a team or a run anew; None: the fleet. Raises what `Fleet.limit` raises."""
        ...

    async def grant_no_more(self, account: str | None) -> None:
        """Have who asks for more of it give a last answer; None: of the fleet's limit. Raises what `limit` raises."""
        ...


class FleetSource(FleetLevers, Protocol):
    """A fleet as the gateway knows it: a running one, or a recording of one."""

    @property
    def name(self) -> str:
        """The fleet's."""
        ...

    async def rows(self) -> tuple[AgentStatus, ...]:
        """A row for each agent, in the order they came, as far as the Supervisor has been told.

        Raises:
            FleetError: They cannot be had now; of one that is over, `ChannelClosed`, `FleetClosed` or `FleetTaken`.
        """
        ...

    async def accounts(self) -> tuple[Account, ...]:
        """All accounts, the fleet's among them; raises what `rows` raises."""
        ...

    async def notices(self, after: int, wait: float) -> tuple[Notice, ...]:
        """Notices numbered above `after`, oldest first; waits up to `wait` seconds while there are none.

        Raises what `rows` raises.
        """
        ...

    async def approvals(self) -> tuple[Approval, ...]:
        """The calls that wait for a person; raises what `Approvals.pending` raises."""
        ...

    async def receipt(self, recipient: str, message: str) -> Receipt | None:
        """What became of a message; None: nobody knows. Raises what `Helm.receipt` raises."""
        ...

    async def look(self, agent: str) -> Insight:
        """What only an agent's own process knows of it; the Supervisor has no part in it.

        Raises:
            NotRecorded: This is a recording.
            AgentUnknown: There is no such agent.
            ChannelClosed: It is dead.
            PeerUnreachable: It does not answer now.
        """
        ...

    async def listen(self, agent: str, heard: Heard, wait: float) -> Spoken:
        """What an agent's model says beyond that; waits up to `wait` seconds for it. Raises what `look` raises."""
        ...


class SystemLevers:
    """The levers of a running fleet, by its helm and its system."""

    moves = True

    def __init__(self, helm: Helm, system: System) -> None:
        """Both belong to the running event loop, and are open."""
        self._helm = helm
        self._system = system

    async def answer(self, approval: str, *, allowed: bool, reason: str) -> None:
        """Answer one. What is allowed needs no reason."""
        if allowed:
            await self._helm.approvals.allow(approval)
        else:
            await self._helm.approvals.refuse(approval, reason)

    async def send(self, agent: str, body: str) -> Receipt:
        """Send a message from the user."""
        return await self._helm.send(agent, body)

    async def pause(self, agent: str, reason: str | None) -> None:
        """Pause or resume."""
        if reason is None:
            await self._helm.resume(agent)
        else:
            await self._helm.pause(agent, reason)

    async def stop(self, agents: tuple[str, ...], reason: str) -> Stopped:
        """Stop some, or all."""
        return await (self._helm.stop(*agents, reason=reason) if agents else self._helm.stop_all(reason))

    async def kill(self, agent: str) -> None:
        """End its process."""
        await self._system.kill(name_of(agent))

    async def limit(self, account: str | None, limit: Limits | None) -> None:
        """Limit one account.

        Raises:
            NameInvalid: The name is none; an empty one must not come to mean the whole fleet.
        """
        await self._system.budgets.limit(named(account), limit)

    async def grant_no_more(self, account: str | None) -> None:
        """Say no to those who ask; raises what `limit` raises."""
        await self._system.budgets.grant_no_more(named(account))


class SystemSource(SystemLevers):
    """A running fleet, by its helm and its system."""

    @property
    def name(self) -> str:
        """The fleet's."""
        return self._system.fleet

    async def rows(self) -> tuple[AgentStatus, ...]:
        """What the Supervisor knows: no agent is asked."""
        return await self._system.statuses(fresh=False)

    async def accounts(self) -> tuple[Account, ...]:
        """The Supervisor's accounts."""
        return await self._system.accounts()

    async def notices(self, after: int, wait: float) -> tuple[Notice, ...]:
        """The Supervisor's notices."""
        return await self._system.notices(after, wait)

    async def approvals(self) -> tuple[Approval, ...]:
        """What all agents hold."""
        return await self._helm.approvals.pending()

    async def receipt(self, recipient: str, message: str) -> Receipt | None:
        """Ask the recipient, or what is left of it."""
        check_text("message", message)
        return await self._system.post.receipt(name_of(recipient), MessageId(message))

    async def look(self, agent: str) -> Insight:
        """Ask the agent's process."""
        return await self._system.insight(name_of(agent)).look()

    async def listen(self, agent: str, heard: Heard, wait: float) -> Spoken:
        """Ask the agent's process."""
        return await self._system.insight(name_of(agent)).listen(heard, wait)


def named(account: str | None) -> AgentId:
    """Whose account it is.

    Raises:
        NameInvalid: The name is none; an empty one must not come to mean the whole fleet.
    """
    if account == "":
        raise NameInvalid(name="", reason="leave the account out to mean the fleet")
    return AgentId("") if account is None else name_of(account)
