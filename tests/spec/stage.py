"""What the tests of the specification share: agents whose models are scripted behind the strict simulator.

Everything is real but the models: the public API, HTTP on loopback, both wire formats, and a provider that refuses
whatever any real one refuses.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

from amrita_fleet import Agent, AgentRef, Fleet, ModelPreset, Notice, Outcome, create_agent
from amrita_fleet.protocols.messages import Json
from amrita_fleet.runtime.simulator.conversation import Answer, Call, Conversation
from amrita_fleet.runtime.simulator.modes import SEPARATOR
from amrita_fleet.runtime.simulator.scenario import Rule, Scenario
from amrita_fleet.runtime.simulator.server import Simulator

Move: TypeAlias = Answer | Callable[[Conversation], Answer]

INSTRUCTIONS = "You are under test."


def calls(name: str, **arguments: Json) -> Answer:
    """The model calls one tool."""
    return Answer(calls=(Call(name, arguments),))


def together(*answers: Answer) -> Answer:
    """The calls of several answers in one."""
    return Answer(calls=tuple(call for answer in answers for call in answer.calls))


def says(text: str) -> Answer:
    """The model answers in words."""
    return Answer(text)


def plans(*steps: tuple[str, str, tuple[str, ...]]) -> Answer:
    """The model divides its task into steps: their ids, titles and needs."""
    listed: list[Json] = [{"id": name, "title": title, "needs": list(needs)} for name, title, needs in steps]
    return says(json.dumps({"kind": "plan", "steps": listed}))


def sums_up(verb: str, thing: str) -> Answer:
    """The model says what a step of its plan came to."""
    return says(json.dumps({"verb": verb, "object": thing}))


class Model:
    """A model that makes its moves in turn, the last one again and again.

    Attributes:
        name: Its family is known by the beginning, and that it thinks by the word `thinking`; after a `+` stand
            faults, as `simulator.modes` reads them.
        read: What it was asked, oldest first, by requests that the strict provider let in.
    """

    def __init__(self, *moves: Move, name: str = "simulated") -> None:
        self.name = name
        self.read: list[Conversation] = []
        self._moves = moves

    def __call__(self, conversation: Conversation) -> Answer:
        self.read.append(conversation)
        move = self._moves[min(len(self.read), len(self._moves)) - 1]
        return move if isinstance(move, Answer) else move(conversation)

    @property
    def scenario(self) -> Scenario:
        """The model as the simulator takes it."""
        rule = Rule.model_construct(python=self)
        return Scenario(name=self.name, models=(self.name.partition(SEPARATOR)[0],), rules=(rule,))


class Stage:
    """A fleet in this process, and the provider of its models."""

    def __init__(self, fleet: Fleet, simulator: Simulator) -> None:
        self.fleet = fleet
        self.simulator = simulator

    def agent(self, model: Model, *, protocol: str = "openai", **fields: Any) -> Agent:  # noqa: ANN401  what an agent may be told
        """An agent on one wire format; fields of a preset where the format is not chat completions' own."""
        if protocol == "openai":
            return create_agent(base_url=self.simulator.base_url, model=model.name, instructions=INSTRUCTIONS, **fields)
        parts = {"config": "model_config", "thinking_config": "thinking_config"}
        asked = {field: fields.pop(name) for field, name in parts.items() if name in fields}
        named = {"protocol": protocol, "base_url": self.simulator.base_url, "model": model.name}
        preset = ModelPreset.parse(named | asked)
        return Agent(preset=preset, instructions=INSTRUCTIONS, **fields)

    async def spawn(self, model: Model, name: str = "ana", **fields: Any) -> AgentRef:  # noqa: ANN401  what an agent may be told
        """A living agent on a model."""
        (agent,) = await self.fleet.spawn(self.agent(model, **fields), [name])
        return agent

    async def play(self, model: Model, task: str = "Go.", **fields: Any) -> tuple[Outcome, list[Notice]]:  # noqa: ANN401  what an agent may be told
        """One run of one agent: how it ended and what was to be seen of it."""
        run = await (await self.spawn(model, **fields)).start(task)
        notices = [notice async for notice in run]
        return await run.outcome(), notices

    async def seen(self, kind: str, agent: str = "ana", text: str = "") -> Notice:
        """Wait for the first notice of a kind that concerns an agent and has a text in its facts."""
        async with asyncio.timeout(30):
            async for notice in self.fleet.notices():
                if notice.agent == agent and kinds([notice]) == [kind] and text in str(dict(notice.data)):
                    return notice
        raise AssertionError

    async def mail_waits(self) -> None:
        """Wait until a message waits in some agent's mailbox; no notice tells of that."""
        async with asyncio.timeout(30):
            while not any(status.waiting for status in await self.fleet.statuses()):  # noqa: ASYNC110
                await asyncio.sleep(0.001)

    @property
    def refused(self) -> int:
        """Requests that the strict provider answered with an error."""
        return self.simulator.totals.refused


@asynccontextmanager
async def stage(*models: Model, limit: int | None = None) -> AsyncGenerator[Stage, None]:
    """A fleet whose models are these."""
    scenarios = [model.scenario for model in models]
    async with Simulator(scenarios=scenarios) as simulator, Fleet(system="local", limit=limit) as fleet:
        yield Stage(fleet, simulator)


def kinds(notices: list[Notice]) -> list[str]:
    """Each notice's `type.extra_type`."""
    return [f"{notice.type}.{notice.extra_type}" for notice in notices]


def of_kind(notices: list[Notice], kind: str) -> list[Notice]:
    """The notices of one kind, told apart as users tell them."""
    wanted, extra = kind.split(".")
    return [notice for notice in notices if notice.get("type") == wanted and notice.get("extra_type") == extra]


def outputs(conversation: Conversation) -> list[str]:
    """The tool outputs that a model has read."""
    return [said.content for said in conversation.messages if said.role == "tool"]


def notes(conversation: Conversation) -> list[str]:
    """What the user, or the runtime in the user's place, has said to a model."""
    return [said.content for said in conversation.messages if said.role == "user"]
