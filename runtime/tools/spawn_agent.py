"""The tools of an agent that may spawn others: `spawn_agent` and `stop_agent`.

What a model chooses is a kind, of those that a person has described, a name and a task; it never describes an agent.
The child gets the task as a question, so that the text with which it ends its run comes back as a message.
"""

from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import NamedTuple

from ...protocols.errors import FleetError
from ...protocols.ids import AgentId
from ...protocols.limits import Limits
from ...protocols.mail import BODY_LIMIT, Kind
from ...protocols.messages import Json
from ...protocols.restarts import Restart
from ...protocols.spawning import Allowance, SpawnRefusal, SpawnRequest, StopRequest
from ..errors import SystemUnavailable
from ..ports import Children
from .builtin import schema, sent
from .output import ToolContext, ToolOutput
from .tool import Tool

__all__ = ("SPAWN_AGENT", "STOP_AGENT", "KindOffer", "spawning_tools")

SPAWN_AGENT = "spawn_agent"
STOP_AGENT = "stop_agent"
"""Names that no other tool of any agent may have."""


LEAST_TOKENS = 2_200
"""With fewer no agent makes a call of its own: the first is reserved by its bytes, most of them the built-in tools'."""


class KindOffer(NamedTuple):
    """A kind of agents that may be spawned.

    Attributes:
        about: What it is for, in one line.
        limit: The most one of them may spend; None: the kind has no limit of its own.
        allowance: What one of them may spawn; None: nobody.
        priced: Each of its presets says what its model costs.
        unbounded: A provider of its may bill any number of tokens more than it is granted.
        restart: Whether another life of one of them may follow a death.
    """

    about: str
    limit: Limits | None = None
    allowance: Allowance | None = None
    priced: bool = False
    unbounded: bool = False
    restart: Restart = "permanent"

    def limited(self, tokens: int | None) -> Limits | None:
        """What one of them may spend if it is asked for with so many tokens, or with none in particular."""
        if self.limit is None:
            return None if tokens is None else Limits(tokens=tokens)
        most = [each for each in (self.limit.tokens, tokens) if each is not None]
        return replace(self.limit.plain, tokens=min(most, default=None))


def spawning_tools(offers: Mapping[str, KindOffer], children: Children | None) -> tuple[Tool, ...]:
    """The tools of an agent that may spawn these kinds.

    Raises:
        SystemUnavailable: Nobody can be spawned where it lives.
    """
    if children is None:
        raise SystemUnavailable(system="here", reason="it has nobody who brings the children of agents to life.")
    return (
        Tool(
            name=SPAWN_AGENT,
            function=SpawnAgent(offers, children),
            description=described(offers),
            parameters=parameters(offers),
            replay="safe",
        ),
        Tool(
            name=STOP_AGENT,
            function=StopAgent(children),
            description="End an agent that you have spawned and no longer need, for good, with all it has spawned.",
            parameters=schema(["name"], name={"type": "string", "description": "The agent's name."}),
            replay="safe",
        ),
    )


def described(offers: Mapping[str, KindOffer]) -> str:
    """What the model reads of `spawn_agent`."""
    kinds = "; ".join(f"{name}: {offer.about}" if offer.about else name for name, offer in offers.items())
    return (
        "Spawn an agent that works for you, and give it a task. You go on meanwhile: its answer comes to you as a "
        f"message. It lives on after that, and ask_peer gives it further tasks. Kinds: {kinds}"
    )


def parameters(offers: Mapping[str, KindOffer]) -> Mapping[str, Json]:
    """The schema of `spawn_agent`'s arguments."""
    return schema(
        ["kind", "name", "task"],
        kind={"type": "string", "enum": [*offers], "description": "Which kind of agent."},
        name={"type": "string", "description": "A new name for it: letters, digits, hyphens and underscores."},
        task={"type": "string", "description": "What it shall do. It sees nothing else of your conversation."},
        tokens={
            "type": "integer",
            "description": f"The most tokens it may spend in its life, from {LEAST_TOKENS}; left out: its kind's.",
        },
    )


class SpawnAgent:
    """The function of `spawn_agent`."""

    def __init__(self, offers: Mapping[str, KindOffer], children: Children) -> None:
        """Keep what a call needs."""
        self._offers = offers
        self._children = children

    async def __call__(
        self, context: ToolContext, kind: str, name: str, task: str, tokens: int | None = None
    ) -> ToolOutput:
        """Spawn, then send the task."""
        offer = self._offers.get(kind)
        if offer is None:
            near = get_close_matches(kind, self._offers, n=3) or list(self._offers)
            return ToolOutput.failure(f"There is no kind {kind!r}. Choose one of: {', '.join(near)}.")
        if flaw := flaw_of(task, tokens):
            return ToolOutput.failure(f"Nothing was spawned: {flaw}.")
        request = SpawnRequest(
            agent=context.agent,
            incarnation=context.incarnation,
            kind=kind,
            name=AgentId(name),
            call=f"{context.run}.{context.call}",
            limit=offer.limited(tokens),
            allowance=offer.allowance,
            priced=offer.priced,
            unbounded=offer.unbounded,
            restart=offer.restart,
        )
        try:
            answer = await self._children.spawn(request)
        except FleetError as error:
            unsure = f"Whether {name} was spawned is not known; look with list_peers before you try again."
            return ToolOutput.failure(f"{str(error).rstrip('.')}. {unsure}")
        if isinstance(answer, SpawnRefusal):
            return ToolOutput.failure(f"{name} was not spawned. {answer.why}")
        given = await sent(context, name, task, "", Kind.QUESTION)
        if given.failed:
            why = given.content.removeprefix("ERROR: ")
            return ToolOutput.failure(f"{name} was spawned, but has not got its task. {why}")
        cost = "" if answer.limit is None else f" It may spend {answer.limit}."
        comes = f"Its answer comes as a message from {name}: go on, or wait for it with wait_for_messages."
        return ToolOutput(f"Spawned {name} ({kind}), which works on its task.{cost} {comes}")


def flaw_of(task: str, tokens: int | None) -> str:
    """Why no agent can be spawned for this; empty: nothing is wrong."""
    if not task.strip():
        return "its task is blank"
    if len(task.encode(errors="replace")) > BODY_LIMIT:
        return f"its task has more than {BODY_LIMIT:,} bytes; write a shorter one"
    if tokens is not None and tokens < LEAST_TOKENS:
        return (
            f"with tokens={tokens} it could not make a single model call; ask for {LEAST_TOKENS:,} or more, "
            "or leave tokens out to give it as many as its kind may spend"
        )
    return ""


class StopAgent:
    """The function of `stop_agent`."""

    def __init__(self, children: Children) -> None:
        """Keep what a call needs."""
        self._children = children

    async def __call__(self, context: ToolContext, name: str) -> ToolOutput:
        """Stop it, and say who was stopped with it."""
        try:
            answer = await self._children.stop_child(StopRequest(context.agent, context.incarnation, AgentId(name)))
        except FleetError as error:
            return ToolOutput.failure(f"{str(error).rstrip('.')}. Whether {name} was stopped is not known; try again.")
        if answer.why:
            return ToolOutput.failure(answer.why)
        with_it = [agent for agent in answer.stopped if agent != name]
        also = f", and with it {', '.join(with_it)}" if with_it else ""
        return ToolOutput(f"{name} is stopped for good{also}.")
