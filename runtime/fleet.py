"""A fleet of agents: spawn, run, message, watch, stop."""

import asyncio
import secrets
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Literal, NoReturn, Self, cast

from ..protocols.errors import PresetInvalid
from ..protocols.ids import AgentId
from ..protocols.limits import Limits, plain_limit
from ..protocols.restarts import RestartPolicy
from .agent import Agent
from .closing import DRAIN_GRACE, Closing, patiently
from .dashboard.opening import OneGateway
from .errors import ArgumentInvalid, FleetClosed, NameInvalid, NamesInvalid
from .gateway.serving import Dashboard
from .given import check_fleet_name, check_grace, check_kind, check_text
from .helm import AgentRef, Helm, name_of
from .journal.choose import check_journal
from .ports import Journal
from .run import Run
from .supervision.commands import Team
from .supervision.policy import WatchPolicy
from .supervision.roster import check_name
from .system import Joined, Progress, SpawnOrder, join_system, load_system
from .termination import termination

__all__ = ("AgentRef", "Fleet", "Helm")


def unheard(_ready: int, _ordered: int) -> None:
    """Progress that nobody asked for."""


class Fleet(Helm):
    """Agents that share a Supervisor, a token limit and a name space.

    Use it as `async with Fleet(...) as fleet:`; leaving lets every agent go on to its next boundary, then ends it, but
    not a service's. On Ray (the default) it starts a local cluster, or joins the one that `RAY_ADDRESS` or `address`
    names.

    In the main thread SIGTERM cancels the task that entered it, as Ctrl-C does, unless the program handles that signal
    itself; once that task is over, the process ends by the signal. A fleet that goes on is left out of this.
    """

    _owned = False
    _teams: tuple[Team, ...] = ()
    _terminable: asyncio.Task[object] | None = None

    def __init__(  # noqa: PLR0913  what a fleet can be told apart by
        self,
        name: str | None = None,
        *,
        limit: Limits | int | None = None,
        teams: Mapping[str, Limits | int | None] | None = None,
        system: Literal["ray", "local"] = "ray",
        address: str | None = None,
        journal: Journal | str | Path | None = None,
        service: bool = False,
        restarts: RestartPolicy | None = None,
        watch: WatchPolicy | None = None,
    ) -> None:
        """Nothing runs before the fleet is entered.

        Args:
            name: The fleet's name; None: a new one.
            limit: The most that all agents together may spend; a number is one of so many tokens.
            teams: Names of teams, each with the most that all agents in it may spend; None: only the fleet's limit.
            system: Where agents live.
            address: Ray's address; None: `RAY_ADDRESS`, or a new local cluster. `auto`: the cluster of this machine.
            journal: Where everything is written that another process needs to go on: a path (SQLite), a
                `postgresql://` URL, or None. Opened again under the same name with the same journal, the fleet has its
                accounts, and agents that are spawned under their names go on where they were. Without a name it is a
                fleet of its own each time: `fleet.name` says under which it can be opened again.
            service: The fleet outlives this process: it runs on a Ray that runs already, `end` ends it, and any process
                can attach to it. It needs a journal.
            restarts: How often an agent whose process died may be restarted; None: 3 times in 60 seconds.
            watch: What is done about agents that hang, loop or write in circles; None: the defaults.

        Raises:
            ArgumentInvalid: The name, the address, the journal, or a policy is none.
            JournalInvalid: The journal is none.
            PresetInvalid: A limit is none.
            SystemUnavailable: There is no such system, or it can be no service.
        """
        check_names(name, address)
        check_journal(journal)
        if restarts is not None:
            check_kind("restarts", restarts, RestartPolicy)
        if watch is not None:
            check_kind("watch", watch, WatchPolicy)
        name = name or f"fleet-{secrets.token_hex(3)}"
        limits = plain_limit(limit)
        made = load_system(system, name, limits, address, journal, service=service, restarts=restarts, watch=watch)
        super().__init__(name, made)
        self._owned = not service
        self._teams = teams_of(teams)

    @classmethod
    def attach(cls, name: str | None = None, *, address: str | None = None) -> Self:
        """A fleet that another process began, to watch and steer it; leaving it ends nothing.

        Into one that is a service agents can be spawned, and `end` ends it.

        Args:
            name: The fleet's name; None: the only one that runs there.
            address: Ray's; None: `RAY_ADDRESS`, or the Ray of this machine.

        Raises:
            ArgumentInvalid: The name, or the address, is none.
        """
        check_names(name, address)
        fleet = cls.__new__(cls)  # the constructor is for those that begin one
        Helm.__init__(fleet, name or "", join_system(name or "", address))
        return fleet

    def __enter__(self) -> NoReturn:
        """`with` cannot wait for what a fleet needs; raises `FleetClosed`, which says what can."""
        raise FleetClosed(fleet=self.name, stage=self._stage)

    def __exit__(self, *_: object) -> None:
        """Never, since it is not entered so."""

    async def __aenter__(self) -> Self:
        """Start what agents need.

        Raises:
            FleetClosed: It was entered before.
            SystemUnavailable: The system cannot be started or reached, or has no such fleet.
            NameInvalid: No team can be named so.
            LimitTooLarge: A team's carved limit does not fit into the fleet's.
        """
        if self._stage != "new":
            raise FleetClosed(fleet=self.name, stage=self._stage)
        self._terminable = termination().watch() if self._owned else None
        try:
            await self._made.open()
            termination().renew()
            await self._form_teams()
        except BaseException:
            termination().release(self._terminable)
            raise
        self._stage = "open"
        self.name = self.name or self._made.fleet
        return self

    async def _form_teams(self) -> None:
        if self._teams:
            try:
                await self._made.budgets.form_teams(self._teams)
            except BaseException:
                if isinstance(self._made, Joined):  # this process began it: else it would go on without its teams
                    await self._made.end_on_close()
                await self._made.close()
                raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it, as `close` does, whatever was raised inside; a cancellation that came from there is the first."""
        await self._close(DRAIN_GRACE, cancelled=isinstance(error, asyncio.CancelledError))

    async def close(self, grace: float = DRAIN_GRACE) -> None:
        """Let agents go on to their next boundary, then end them and what was started for them.

        Nothing new begins meanwhile. With a journal, what is unfinished goes on when the fleet is opened again; without
        one its runs end with the outcome `stopped`. Agents that are idle, wait for mail or a person, are paused or
        suspended are not waited for; who reaches no boundary in time is cut off in mid-Step, which `agent.undrained`
        tells of. Who is cancelled while he waits has the agents drain all the same; a second time ends them at once.

        Safe to call twice, and while another call waits: then each waits for its own grace, and the shortest counts.

        Args:
            grace: Seconds that agents have; 0: they end at once.

        Raises:
            NumberInvalid: The grace is no number of seconds from 0.
        """
        check_grace(grace)
        await self._close(grace)

    async def _close(self, grace: float, *, cancelled: bool = False) -> None:
        if self._stage != "new":
            self._stage = "closed"
            try:
                await self._closing.run(grace, cancelled=cancelled)
            finally:
                self._over = True
                watching, self._terminable = self._terminable, None
                termination().release(watching)

    async def end(self, grace: float = DRAIN_GRACE) -> None:
        """Close the fleet; a service is ended by this, as `close` ends all others.

        Who is cancelled while he waits has the fleet end all the same, as with `close`.

        Args:
            grace: Seconds that agents have to reach their next boundary.

        Raises:
            FleetClosed: It is not open.
            NumberInvalid: The grace is no number of seconds from 0.
            SystemUnavailable: It ends with the process that began it.
        """
        check_grace(grace)
        cuts = 0
        if isinstance(self._system, Joined):
            taking_over = asyncio.create_task(self._system.end_on_close())
            cuts = await patiently(taking_over, cuts, most=None)
            taking_over.result()
        await self._close(0 if cuts > 1 else grace, cancelled=cuts > 0)
        if cuts:
            raise asyncio.CancelledError

    @cached_property
    def _closing(self) -> Closing:
        return Closing(self._made.drain, self._end)

    async def _end(self) -> None:
        await self._gateway.aclose()
        await self._bridges.aclose()
        if self._sender is not None:
            await self._sender.aclose()
        await self._made.close()

    async def serve_dashboard(self, *, host: str = "127.0.0.1", port: int = 0) -> Dashboard:
        """Serve the fleet over HTTP until it is closed, as a JSON API and a stream of events; once, if asked again.

        On Ray, in an actor of its own on this process's node; of a fleet that was joined, or is local, in this process.

        Args:
            host: The name or address of this machine that it listens on; who can reach it still needs the token.
            port: 0: any that is free.

        Raises:
            FleetClosed: The fleet is not open.
            ArgumentInvalid: The host or the port is none.
            ExtraMissing: The extra `dashboard` is not installed.
            SystemUnavailable: The port is taken, the address cannot be used, or there can be no token.
        """
        return await self._gateway.open(self, self._system, host, port)

    async def dashboard_over(self) -> str:
        """Wait until the dashboard has nothing more to show, and give why; at once an empty text if none is served."""
        return await self._gateway.over()

    @cached_property
    def _gateway(self) -> OneGateway:
        return OneGateway()

    async def kill(self, agent: AgentRef | str) -> None:
        """End an agent's process at once, whatever it does: the way out where a `stop` is too much, and nothing helps.

        It counts as a death: the agent is restarted as after any other, and goes on from its last record; without a
        journal, it has lost its run and its memory, or, in this process, stays dead.

        Raises:
            AgentUnknown: There is no such agent.
            ChannelClosed: It has died.
            PeerUnreachable: It has no process now, or cannot be found now.
            NameInvalid: Its name is no text.
        """
        await self._system.kill(name_of(agent))

    async def limit(self, limit: Limits | int | None, of: AgentRef | Run | str | None = None) -> None:
        """Limit the fleet, a team, an agent or a run anew, while it runs. What is spent or granted already stays so.

        The new limit takes the whole place of the old one: what it does not name is not limited any more, and is done
        as by default. `dataclasses.replace(account.limit, tokens=...)` keeps the rest.

        Who is paused because too little was left goes on. A limit that is raised later is as good as one that was
        higher from the beginning: who has reached it takes runs and mail again.

        Args:
            limit: The new limit; a number is one of so many tokens; None: no limit of its own, only those above it.
            of: The name of a team or an agent, the agent, or a run of it that was started with a limit; None: the
                fleet.

        Raises:
            PresetInvalid: The limit is none, or one of a run in seconds.
            AccountUnknown: There is neither an agent nor a team of that name, or the run is over, has made no model
                call yet, or has no limit.
            NameInvalid: The name is none.
            LimitTooLarge: It is carved, and does not fit into what is above it.
            PriceMissing: Dollars are limited, and a preset does not say what its model costs.
            PeerUnreachable: Some that could go on could not be told; the others were. It can be asked for again.
        """
        if isinstance(limit, str):
            reason = f"The limit comes first, then whose it is: write limit({of!r:.100}, of={limit!r:.100})."
            raise PresetInvalid(field="limit", reason=reason)
        await self._system.budgets.limit(account_name(of), plain_limit(limit))

    async def grant_no_more(self, *, of: AgentRef | Run | str | None = None) -> None:
        """Say no to those who are paused until a limit is raised: they, and who comes to it later, give last answers.

        Args:
            of: As in `limit`.

        Raises:
            AccountUnknown: As in `limit`.
            ArgumentInvalid: It has no limit of its own.
            NameInvalid: The name is none.
            PeerUnreachable: Some could not be told; the others were. It can be asked for again.
        """
        await self._system.budgets.grant_no_more(account_name(of))

    async def spawn(
        self,
        agent: Agent,
        names: Iterable[str] = ("agent",),
        *,
        parent: AgentRef | str | None = None,
        limit: Limits | int | None = None,
        team: str = "",
        progress: Progress = unheard,
    ) -> tuple[AgentRef, ...]:
        """Bring one agent's description to life under each of the names; all of them or none.

        Args:
            agent: The description.
            names: One for each agent, unique in the fleet.
            parent: The agent that is told by mail when one of them ends badly, and whose stop stops them.
            limit: The limit of each; None: the description's own.
            team: The team they belong to, one of the fleet's `teams`; empty: their parent's, or none.
            progress: Called as agents become ready.

        Raises:
            ArgumentInvalid: The agent, the names or the progress are none.
            NamesInvalid: `names` is one text.
            NameTaken: The fleet has such an agent.
            NameInvalid: No agent can be named so.
            AgentUnknown: There is no such parent.
            TeamUnknown: There is no such team.
            PresetInvalid: The limit is none.
            LimitTooLarge: It is carved, and does not fit into what is above it.
            PriceMissing: Dollars are limited, and a preset does not say what its model costs.
            Unpicklable: The description holds something that cannot go to another process.
            SystemUnavailable: The cluster has no room for them, or an agent did not become ready.
        """
        if isinstance(names, str):
            raise NamesInvalid(given=names)
        check_kind("agent", agent, Agent)
        check_kind("names", names, Iterable)
        if not callable(progress):
            raise ArgumentInvalid(name="progress", reason="it must be a function of two numbers")
        names = tuple(names)
        for name in names:
            check_name(name)
        check_text("team", team)
        own = plain_limit(agent.limit if limit is None else limit)
        above = None if parent is None else name_of(parent)
        orders = tuple(SpawnOrder(AgentId(name), agent, above, own, team) for name in names)
        await self._system.spawn(orders, progress)
        return tuple(AgentRef(self, order.name) for order in orders)


def check_names(name: str | None, address: str | None) -> None:
    """Refuse what can name neither a fleet nor an address.

    Raises:
        ArgumentInvalid: It is such a one.
    """
    check_fleet_name("" if name is None else name)
    check_text("address", "" if address is None else address)


def account_name(of: AgentRef | Run | str | None) -> str:
    """Whose account is meant: an agent's, a team's or a run's; empty: the fleet's.

    Raises:
        NameInvalid: It is no text, empty, or one that nothing can carry.
    """
    if of is None:
        return ""
    if of == "":  # an empty variable must not come to mean the whole fleet
        raise NameInvalid(name="", reason="leave `of` out to mean the fleet")
    return of.id if isinstance(of, Run) else name_of(of)


def teams_of(given: object) -> tuple[Team, ...]:
    """Teams by name, with their limits.

    Raises:
        ArgumentInvalid: It is no mapping.
        NameInvalid: No team can be named so.
        PresetInvalid: A limit is none.
    """
    if given is None:
        return ()
    check_kind("teams", given, Mapping)
    teams = cast("Mapping[str, Limits | int | None]", given)
    for name in teams:
        check_name(name, "team")
    return tuple(Team(name, plain_limit(limit)) for name, limit in teams.items())
