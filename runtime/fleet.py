"""A fleet of agents: spawn, run, message, watch, stop."""

import asyncio
import secrets
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Literal, NoReturn, Self

from ..protocols.ids import AgentId
from ..protocols.restarts import RestartPolicy
from .agent import Agent, TokenLimit, limit_of
from .closing import DRAIN_GRACE, Closing, patiently
from .errors import ArgumentInvalid, FleetClosed, NamesInvalid
from .given import check_fleet_name, check_grace, check_kind, check_text
from .helm import AgentRef, Helm, name_of
from .ports import Journal
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
    _terminable: asyncio.Task[object] | None = None

    def __init__(  # noqa: PLR0913  what a fleet is told once
        self,
        name: str | None = None,
        *,
        limit: TokenLimit | int | None = None,
        system: Literal["ray", "local"] = "ray",
        address: str | None = None,
        journal: Journal | str | Path | None = None,
        service: bool = False,
        restarts: RestartPolicy | None = None,
    ) -> None:
        """Nothing runs before the fleet is entered.

        Args:
            name: The fleet's name; None: a new one.
            limit: What all agents together may spend, in tokens, prompt and completion, retries included.
            system: Where agents live.
            address: Ray's address; None: `RAY_ADDRESS`, or a new local cluster. `auto`: the cluster of this machine.
            journal: Where everything is written that another process needs to go on: a path (SQLite), a
                `postgresql://` URL, or None. Opened again under the same name with the same journal, the fleet has its
                accounts, and agents that are spawned under their names go on where they were.
            service: The fleet outlives this process: it runs on a Ray that runs already, `end` ends it, and any process
                can attach to it. It needs a journal.
            restarts: How often an agent whose process died may be restarted; None: 3 times in 60 seconds.

        Raises:
            ArgumentInvalid: The name, the address, or the policy of restarts is none.
            JournalInvalid: The journal is none.
            PresetInvalid: The limit is below 1.
            SystemUnavailable: There is no such system, or it can be no service.
        """
        check_names(name, address)
        if restarts is not None:
            check_kind("restarts", restarts, RestartPolicy)
        name = name or f"fleet-{secrets.token_hex(3)}"
        made = load_system(system, name, tokens_of(limit), address, journal, service=service, restarts=restarts)
        super().__init__(name, made)
        self._owned = not service

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
        """
        if self._stage != "new":
            raise FleetClosed(fleet=self.name, stage=self._stage)
        self._terminable = termination().watch() if self._owned else None
        try:
            await self._made.open()
            termination().renew()
        except BaseException:
            termination().release(self._terminable)
            raise
        self._stage = "open"
        self.name = self.name or self._made.fleet
        return self

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
        await self._bridges.aclose()
        if self._sender is not None:
            await self._sender.aclose()
        await self._made.close()

    async def spawn(
        self,
        agent: Agent,
        names: Iterable[str] = ("agent",),
        *,
        parent: AgentRef | str | None = None,
        limit: TokenLimit | int | None = None,
        progress: Progress = unheard,
    ) -> tuple[AgentRef, ...]:
        """Bring one agent's description to life under each of the names; all of them or none.

        Args:
            agent: The description.
            names: One for each agent, unique in the fleet.
            parent: The agent that is told by mail when one of them ends badly, and whose stop stops them.
            limit: Token limit of each; None: the description's own.
            progress: Called as agents become ready.

        Raises:
            ArgumentInvalid: The agent, the names or the progress are none.
            NamesInvalid: `names` is one text.
            NameTaken: The fleet has such an agent.
            NameInvalid: No agent can be named so.
            AgentUnknown: There is no such parent.
            PresetInvalid: The limit is below 1.
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
        tokens = tokens_of(agent.limit if limit is None else limit)
        above = None if parent is None else name_of(parent)
        orders = tuple(SpawnOrder(AgentId(name), agent, above, tokens) for name in names)
        await self._system.spawn(orders, progress)
        return tuple(AgentRef(self, order.name) for order in orders)


def check_names(name: str | None, address: str | None) -> None:
    """Refuse what can name neither a fleet nor an address.

    Raises:
        ArgumentInvalid: It is such a one.
    """
    check_fleet_name("" if name is None else name)
    check_text("address", "" if address is None else address)


def tokens_of(limit: TokenLimit | int | None) -> int | None:
    """A limit in tokens.

    Raises:
        PresetInvalid: It is below 1, or no whole number.
    """
    checked = limit_of(limit)
    return None if checked is None else checked.tokens
