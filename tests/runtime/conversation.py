"""The conversation that three agents have while their processes die: mail, questions, waits, tools, a plan, compaction.

Each says its lines in order, one after the other, whatever it is asked: which come next follows from the labels of
those that stand in the request. A message's body names its sender, its recipient and its number.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from amrita_fleet import Agent, AmritaConfig, tool
from amrita_fleet.protocols.ids import AgentId
from amrita_fleet.protocols.messages import Json, ToolCall
from amrita_fleet.runtime.config import FunctionConfig, LLMConfig
from amrita_fleet.runtime.step.compaction import SUMMARISE
from amrita_fleet.runtime.step.decomposition import DECOMPOSE_ALWAYS, SUMMARISE_SYSTEM
from amrita_fleet.runtime.system import SpawnOrder

from .doomed import Act, Asked, World, preset

__all__ = ("ANA", "BOB", "BODIES", "CYD", "NAMES", "agents", "part")

ANA, BOB, CYD = NAMES = AgentId("ana"), AgentId("bob"), AgentId("cyd")

BODIES: Mapping[tuple[AgentId, AgentId], list[str]] = {
    (ANA, BOB): ["ana begins", "ana.bob.1"],
    (ANA, CYD): ["ana begins", "ana.cyd.1"],
    (BOB, ANA): ["bob.ana.1"],
    (BOB, CYD): ["bob.cyd.1"],
    (CYD, ANA): ["cyd.ana.1", "cyd.ana.2", "cyd.ana.3"],
}
"""What each sends to each, in order."""


def call(name: str, **arguments: Json) -> ToolCall:
    return ToolCall("call_0", name, json.dumps(arguments))


def tell(to: AgentId | list[Json], body: str) -> ToolCall:
    return call("send_message", to=to if isinstance(to, list) else str(to), body=body)


WAITS = {ANA: call("wait_for_messages", seconds=200.0)}


@dataclass(frozen=True)
class Line:
    """What is said once, as soon as all mail of `after` has been read."""

    act: Act
    after: tuple[str, ...] = field(default=())


def line(label: str, *calls: ToolCall, after: tuple[str, ...] = ()) -> Line:
    return Line(Act(f"#{label}", calls), after)


LINES: Mapping[AgentId, tuple[Line, ...]] = {
    ANA: (
        line("begin", call("look", n=1), call("drop", n=1), tell(["bob", "cyd"], "ana begins"), call("look", n=2)),
        line("ask", call("ask_peer", to="bob", question="ana.bob.1", seconds=200.0)),
        line("tell", tell(CYD, "ana.cyd.1"), after=("bob.ana.1",)),
        line("drop", call("drop", n=2)),
        line("end", after=("cyd.ana.3",)),
    ),
    BOB: (
        line("a", call("look", n=3), call("drop", n=3)),
        line("a_done"),
        line("b", tell(CYD, "bob.cyd.1")),
        line("b_done"),
        line("end"),
    ),
    CYD: (
        line("one", call("look", n=4)),
        line("two", tell(ANA, "cyd.ana.1")),
        line("three", call("drop", n=4)),
        line("four", tell(ANA, "cyd.ana.2")),
        line("five", call("look", n=5), call("drop", n=5)),
        line("six", tell(ANA, "cyd.ana.3")),
        line("end"),
    ),
}


def part(asked: Asked) -> Act:
    """What an agent says to a request."""
    aside = SIDE.get(asked.turns[0].content)
    if aside is not None:
        return aside(asked)
    question = question_of(asked)
    if question is not None:
        return Act("#reply", (call("send_message", to="ana", body="bob.ana.1", reply_to=question),))
    said, text = asked.labels, asked.text
    for each in LINES[asked.agent]:
        if each.act.label.removeprefix("#") not in said:
            return each.act if all(body in text for body in each.after) else Act("Not yet.", (WAITS[asked.agent],))
    return Act("I read it.")


def question_of(asked: Asked) -> str | None:
    """The id of the question that bob has not answered yet."""
    if asked.agent != BOB or "reply" in asked.labels:
        return None
    before, found, _ = asked.text.partition(" from ana]\nana.bob.1")
    return before.rpartition("[Message ")[2] if found else None


PLAN = json.dumps(
    {"kind": "plan", "steps": [{"id": "a", "title": "Do a", "needs": []}, {"id": "b", "title": "Do b", "needs": ["a"]}]}
)

SIDE: Mapping[str, Callable[[Asked], Act]] = {
    DECOMPOSE_ALWAYS: lambda _: Act(PLAN),
    SUMMARISE_SYSTEM: lambda _: Act('{"verb": "did", "object": "it"}'),
    SUMMARISE: lambda asked: Act(" ".join(f"#{label}" for label in sorted(asked.labels))),
}
"""What is answered aside from the conversation."""


def agents(world: World) -> tuple[SpawnOrder, ...]:
    """The three, in a new process: bob makes plans, cyd's memory is short."""

    @tool(replay="safe")
    async def look(n: int) -> str:
        """Look at something."""
        world.ran[f"look {n}"] += 1
        return f"saw {n}"

    @tool
    async def drop(n: int) -> str:
        """Drop something."""
        world.ran[f"drop {n}"] += 1
        return f"dropped {n}"

    rounds = FunctionConfig(agent_tool_call_limit=40, step_rounds=2)
    config = AmritaConfig(function_config=rounds)
    short = AmritaConfig(function_config=rounds, llm=LLMConfig(memory_length_limit=8))
    tools = (look, drop)
    return (
        SpawnOrder(ANA, Agent(preset=preset("ana"), tools=tools, config=config)),
        SpawnOrder(BOB, Agent(preset=preset("bob"), tools=tools, config=config, plan="always")),
        SpawnOrder(CYD, Agent(preset=preset("cyd"), tools=tools, config=short)),
    )
