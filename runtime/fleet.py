"""A fleet of agents: spawn, run, message, watch, stop."""

import secrets
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Literal, NoReturn, Self

from ..protocols.ids import AgentId
from .agent import Agent, TokenLimit, limit_of
from .errors import ArgumentInvalid, FleetClosed, NamesInvalid
from .given import check_fleet_name, check_kind, check_text
from .helm import AgentRef, Helm, name_of
from .ports import Journal
from .supervision.policy import WatchPolicy
from .supervision.roster import check_name
from .system import Progress, SpawnOrder, join_system, load_system

__all__ = ("AgentRef", "Fleet", "Helm")


def unheard(_ready: int, _ordered: int) -> None:
    """Progress that nobody asked for."""


class Fleet(Helm):
    """Agents that share a Supervisor, a token limit and a name space.

    Use it as `async with Fleet(...) as fleet:`; leaving ends every agent, but not a service's. On Ray (the
    default) it starts a local cluster, or joins the one that `RAY_ADDRESS` or `address` names.
    """

    def __init__(  # noqa: PLR0913  what a fleet can be told apart by
        self,
        name: str | None = None,
        *,
        limit: TokenLimit | int | None = None,
        system: Literal["ray", "local"] = "ray",
        address: str | None = None,
        journal: Journal | str | Path | None = None,
        service: bool = False,
        watch: WatchPolicy | None = None,
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
            watch: What is done about agents that hang, loop or write in circles; None: the defaults.

        Raises:
            ArgumentInvalid: The name, the address, or the policy of the watch is none.
            JournalInvalid: The journal is none.
            PresetInvalid: The limit is below 1.
            SystemUnavailable: There is no such system, or it can be no service.
        """
        check_names(name, address)
        if watch is not None:
            check_kind("watch", watch, WatchPolicy)
        name = name or f"fleet-{secrets.token_hex(3)}"
        made = load_system(system, name, tokens_of(limit), address, journal, service=service, watch=watch)
        super().__init__(name, made)

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
        await self._made.open()
        self._stage = "open"
        self.name = self.name or self._made.fleet
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End everything."""
        await self.close()

    async def close(self) -> None:
        """End every agent and what was started for them, or let go of a fleet that goes on. Safe to call twice."""
        if self._stage == "open":
            await self._let_go()
            await self._made.close()

    async def end(self) -> None:
        """End the fleet, also a service.

        Raises:
            FleetClosed: It is not open.
            SystemUnavailable: It ends with the process that began it.
        """
        system = self._system
        await system.close(for_good=True)
        await self._let_go()

    async def _let_go(self) -> None:
        self._stage = "closed"
        await self._bridges.aclose()
        if self._sender is not None:
            await self._sender.aclose()

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
