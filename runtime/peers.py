"""Whom an agent may write to. The rule is kept by the one who sends: a message to anybody else never leaves."""

from collections.abc import Awaitable, Callable, Iterable

from ..protocols.checkin import AgentStatus
from ..protocols.ids import AgentId

__all__ = ("Peers",)


class Peers:
    """The peers of one life of an agent.

    Without names it may write to everybody. With them it may write to those, to its parent, to all below it, and to
    whoever has written to it: else nobody could be answered.
    """

    def __init__(
        self,
        agent: AgentId,
        parent: AgentId | None,
        names: Iterable[str] | None,
        heard_from: Callable[[AgentId], bool],
        others: Callable[[], Awaitable[tuple[AgentStatus, ...]]],
    ) -> None:
        """Keep the rule.

        Args:
            agent: Whose peers they are.
            parent: The agent it is below; None: nobody.
            names: Whom else it may write to first; None: everybody.
            heard_from: Whether somebody has written to it.
            others: Asks the Supervisor for the rows of all other agents.
        """
        self._agent = agent
        self._parent = parent
        self._names = None if names is None else frozenset(names)
        self._heard_from = heard_from
        self._others = others

    async def rows(self) -> tuple[AgentStatus, ...]:
        """Those that it may write to.

        Raises:
            FleetError: The Supervisor does not answer.
        """
        rows = await self._others()
        children = below(self._agent, rows)
        return tuple(row for row in rows if self._knows(row.agent) or row.agent in children)

    async def include(self, other: AgentId) -> bool:
        """Whether it may write to somebody. The Supervisor is asked only about those whom nothing else lets in.

        Raises:
            FleetError: It does not answer.
        """
        return self._knows(other) or other in below(self._agent, await self._others())

    def _knows(self, other: AgentId) -> bool:
        return self._names is None or other in self._names or other == self._parent or self._heard_from(other)


def below(agent: AgentId, rows: Iterable[AgentStatus]) -> frozenset[AgentId]:
    """The agents below one, in all generations."""
    parents = {row.agent: row.parent for row in rows}
    found = set[AgentId]()
    for child, parent in parents.items():
        line, above = [child], parent
        while above is not None and above not in {agent, *found, *line}:
            line.append(above)
            above = parents.get(above)
        if above == agent or above in found:
            found.update(line)
    return frozenset(found)
