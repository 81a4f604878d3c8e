"""What agents run on, as a fleet sees it: this process (`local`) or a Ray cluster (`ray`)."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Protocol, Self, cast, runtime_checkable

from ..protocols.checkin import AgentStatus
from ..protocols.ids import AgentId, Incarnation, RunId
from ..protocols.limits import Limits
from ..protocols.notices import Notice
from ..protocols.outcome import Outcome
from ..protocols.restarts import RestartPolicy
from .agent import Agent
from .approvals import ApprovalPort
from .budgets import BudgetPort
from .control import Controls, Kill
from .draining import Drain
from .errors import SystemUnavailable
from .insight import Sights
from .ports import Journal, PostOffice
from .supervision.account import Account
from .supervision.commands import Newcomer
from .supervision.policy import WatchPolicy
from .suspension import Stand

__all__ = (
    "STOP_PATIENCE",
    "DeadFleet",
    "Joined",
    "Progress",
    "SpawnOrder",
    "Stopped",
    "System",
    "collect_garbage",
    "load_system",
    "with_children",
)

Progress = Callable[[int, int], None]
"""Called as agents become ready: how many are, and how many were ordered."""

SYSTEMS = {"ray": "amrita_fleet.actors.system", "local": "amrita_fleet.runtime.local"}

STOP_PATIENCE = 5.0
"""Seconds a stop waits for one agent's acknowledgement."""


@dataclass(frozen=True)
class SpawnOrder:
    """One agent to be spawned.

    Attributes:
        parent: Who is told by mail when it ends badly.
        limit: A limit of its own.
        team: Its team; empty: its parent's, if that is in one.
        again: It is a child of another agent, which the Supervisor knows: its limit and its team are those it has.
        carried: The description's bytes, if it came in them from another process, and goes on in them.
    """

    name: AgentId
    agent: Agent
    parent: AgentId | None = None
    limit: Limits | None = None
    team: str = ""
    again: bool = False
    carried: tuple[bytes, ...] = ()

    @property
    def newcomer(self) -> Newcomer:
        """What is asked of the Supervisor for it."""
        agent = self.agent
        rest = agent.priced, agent.unbounded, agent.allowance, self.again, agent.restart
        return Newcomer(self.name, self.parent, self.limit, self.team, *rest)


def with_children(orders: tuple[SpawnOrder, ...], rows: Iterable[AgentStatus]) -> tuple[SpawnOrder, ...]:
    """The orders, and those of children that lived below such agents when their fleet ended: they come back with them.

    Only a kind that its parent may still spawn comes back.

    Args:
        orders: What a person asks for.
        rows: All agents of the fleet.
    """
    fallen = [row for row in rows if row.kind and row.awaits_spawn]
    every, names = list(orders), {order.name for order in orders}
    for order in every:  # grows while it is walked
        kinds: Mapping[str, Agent] = {} if order.agent.spawns is None else order.agent.spawns.kinds
        for row in fallen:
            if row.parent == order.name and row.kind in kinds and row.agent not in names:
                every.append(SpawnOrder(row.agent, kinds[row.kind], order.name, again=True))
                names.add(row.agent)
    return tuple(every)


@dataclass(frozen=True, slots=True)
class Stopped:
    """What came of a stop. All named may do nothing more: the Supervisor grants them no model call.

    Attributes:
        acknowledged: Those that said so, and whose run has ended.
        silent: Those that did not within `STOP_PATIENCE`, because a tool blocks them or their process is away.
    """

    acknowledged: tuple[AgentId, ...] = ()
    silent: tuple[AgentId, ...] = ()

    @classmethod
    def of(cls, said: Iterable[tuple[AgentId, bool]]) -> Self:
        """Sort agents by whether they acknowledged."""
        told = dict(said)
        return cls(tuple(name for name in told if told[name]), tuple(name for name in told if not told[name]))


@dataclass(frozen=True, slots=True)
class DeadFleet:
    """A fleet that can do nothing more, and of which something is left.

    Attributes:
        name: The fleet's.
        reason: Why it is dead.
        actors: What is left, by the names of its actors.
    """

    name: str
    reason: str
    actors: tuple[str, ...]


class System(Protocol):
    """Where agents live. Opened once, closed once.

    Attributes:
        fleet: The fleet's name; one that is joined without being named has it once the system is open.
        approvals: The way to the calls that wait for a person; there once the system is open.
        control: Gives the way to a live agent; there once the system is open.
        insight: Gives the way to look into a live agent; there once the system is open.
        kill: Ends an agent's process; there once the system is open.
        drain: Has all agents that the system owns go on to their next boundary; there once the system is open.
        budgets: The way to the limits; there once the system is open.
    """

    fleet: str
    approvals: ApprovalPort
    budgets: BudgetPort
    control: Controls
    insight: Sights
    kill: Kill
    drain: Drain

    @property
    def post(self) -> PostOffice:
        """The way to the mailboxes; there once the system is open."""
        ...

    async def open(self) -> None:
        """Start what agents need: the Supervisor first.

        Raises:
            SystemUnavailable: It cannot be started or reached.
        """
        ...

    async def close(self) -> None:
        """End everything this system started, or let go of a fleet that goes on. Safe to call twice."""
        ...

    async def spawn(self, orders: tuple[SpawnOrder, ...], progress: Progress) -> None:
        """Bring agents to life; all of them or none.

        Raises:
            NameTaken: The fleet has such an agent.
            NameInvalid: No agent can be named so.
            AgentUnknown: There is no such parent.
            Unpicklable: An agent cannot go to another process.
            SystemUnavailable: There is no room for them, or one did not become ready.
            ToolServerFailed: An MCP server of an agent cannot be used.
        """
        ...

    async def admit_user(self) -> Incarnation:
        """A new life of the person who sends: each process that sends for people has its own."""
        ...

    async def start(
        self,
        agent: AgentId,
        task: str,
        time_limit: float | None,
        said: tuple[str, ...] = (),
        stand: Stand | None = None,
        limit: Limits | None = None,
    ) -> RunId:
        """Queue a run; its Steps begin when those before it are over.

        Args:
            agent: Whose run it is.
            task: What it shall do.
            time_limit: Seconds it has; None: the agent's own limit.
            said: What the user added to the task.
            stand: Where it shall stand still, from its first point on; whoever asks gets it to go on by the token.
            limit: The most it may spend; None: only the limits above count.

        Raises:
            AgentUnknown: There is no such agent.
            ChannelClosed: It has stopped.
            QueueFull: Too many runs wait.
            PriceMissing: Its money is limited, and a preset does not say what its model costs.
        """
        ...

    async def outcome(self, agent: AgentId, run: RunId) -> Outcome:
        """Wait for the end of a run.

        Raises:
            AgentUnknown: There is no such agent.
            RunUnknown: It has no such run, or it ended too long ago.
            ChannelClosed: The agent died before the run ended.
        """
        ...

    async def stop(self, agents: tuple[AgentId, ...], reason: str) -> Stopped:
        """Stop agents and those below them; none given: all. Answers when they have stopped, or did not in time.

        Raises:
            AgentUnknown: There is no such agent; nobody is stopped.
        """
        ...

    async def pause(self, agent: AgentId, reason: str | None) -> None:
        """Pause an agent and those below it at the next boundary or model call; without a reason, let them go on.

        Raises:
            AgentUnknown: There is no such agent.
            PeerUnreachable: Some could not be told; the others were. It can be asked for again.
        """
        ...

    async def statuses(self, *, fresh: bool = True) -> tuple[AgentStatus, ...]:
        """One row for each agent, in the order they were admitted.

        `fresh`: each agent is asked for what only it knows now; else what it has reported must do.
        """
        ...

    async def notices(self, after: int, wait: float) -> tuple[Notice, ...]:
        """Notices numbered above `after`; waits up to `wait` seconds while there are none.

        Below 0, `after` counts from the end: -1 gives the newest.
        """
        ...

    async def accounts(self) -> tuple[Account, ...]:
        """The Supervisor's accounts."""
        ...


@runtime_checkable
class Joined(Protocol):
    """What the system of a fleet has beside that of `System` where the fleet does not end with this process."""

    async def end_on_close(self) -> None:
        """Have `close` end the fleet, and `drain` have its agents drain.

        Raises:
            SystemUnavailable: It ends with another process.
        """
        ...


def load_system(  # noqa: PLR0913  what a fleet can be told apart by
    kind: str,
    fleet: str,
    limit: Limits | None,
    address: str | None,
    journal: Journal | str | Path | None = None,
    *,
    service: bool = False,
    restarts: RestartPolicy | None = None,
    watch: WatchPolicy | None = None,
) -> System:
    """Make a system by its name, loading its module only now, as anyio loads its back ends.

    With `service` the fleet outlives this process. `restarts`: how often an agent may be restarted; `watch`: what is
    done about agents that hang or loop; None: as usual.

    Raises:
        SystemUnavailable: There is no such system, it can be no service, or it cannot have this journal.
        JournalInvalid: The journal's URL is none.
    """
    if kind not in tuple(SYSTEMS):  # what is given may have no hash
        raise SystemUnavailable(system=kind, reason=f"there are only {', '.join(sorted(SYSTEMS))}.")
    if address is not None and kind == "local":
        raise SystemUnavailable(system=kind, reason="it lives in this process and has no address: leave it out.")
    if service and kind == "local":
        raise SystemUnavailable(system=kind, reason="its fleet lives in this process and cannot outlive it.")
    module = import_module(SYSTEMS[kind])
    if service:
        return cast("System", module.open_system(fleet, limit, address, journal, restarts, watch, service=True))
    return cast("System", module.open_system(fleet, limit, address, journal, restarts, watch))


def join_system(fleet: str, address: str | None) -> System:
    """The system, on Ray, of a fleet that another process began; an empty name means the only one there is."""
    return cast("System", import_module(SYSTEMS["ray"]).attach_system(fleet or None, address))


async def collect_garbage(
    fleet: str | None = None, *, address: str | None = None, remove: bool = True
) -> tuple[DeadFleet, ...]:
    """End what is left of dead fleets on Ray.

    Those are the ones without a Supervisor, and services that were stopped whole or cannot go on.

    A fleet whose Supervisor does not answer now is left alone.

    Args:
        fleet: This one alone, whether it is dead or not; None: all that are dead.
        address: Ray's; None: what `RAY_ADDRESS` names, else the one that runs on this machine.
        remove: False: only find them.

    Returns:
        Those that were found.

    Raises:
        SystemUnavailable: Ray cannot be reached, or has nothing of that fleet.
    """
    module = import_module(SYSTEMS["ray"])
    return cast("tuple[DeadFleet, ...]", await module.collect(fleet, address, remove=remove))
