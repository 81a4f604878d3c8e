"""One fleet on Ray in which everything goes wrong at once, each trouble beside the others, and some that is none."""

import asyncio
import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from uuid import uuid4

from amrita_fleet import (
    Agent,
    AmritaConfig,
    BuiltinConfig,
    Course,
    Deadlines,
    Fleet,
    FunctionConfig,
    LLMConfig,
    ModelPreset,
    Outcome,
    Reply,
    Rung,
    Stage,
    Tool,
    ToolContext,
    Trouble,
    WatchPolicy,
    tool,
)
from amrita_fleet.protocols.notices import Notice
from amrita_fleet.protocols.providers.base import Draft, Provider, Watcher
from amrita_fleet.protocols.providers.openai_chat import OpenAIChat
from amrita_fleet.protocols.providers.script import Move
from amrita_fleet.protocols.providers.scripted import ScriptedProvider, call, say, scripted

from .steady import steady

__all__ = ("POLICY", "Told", "live")

TOLD_THEN_CANCELLED = Course((Stage(Rung.NOTIFY, 0.5), Stage(Rung.CANCEL)))

POLICY = WatchPolicy(
    deadlines=Deadlines(loop=4.0, model=4.0, tool=6.0, call_rounds=3, message_rounds=3),
    courses={
        Trouble.WEDGED: Course((Stage(Rung.NOTIFY, 0.5), Stage(Rung.KILL))),
        Trouble.MODEL: TOLD_THEN_CANCELLED,
        Trouble.TOOL: TOLD_THEN_CANCELLED,
        Trouble.CALL_LOOP: TOLD_THEN_CANCELLED,
        Trouble.MESSAGE_LOOP: TOLD_THEN_CANCELLED,
    },
    period=0.5,
)
"""Shorter than that, and processes of a busy machine would be taken for wedged ones."""

PATIENCE = 80.0
"""Seconds in which all of it is over: ten times what the policy says."""

UNBOUND = AmritaConfig(
    # The agent's own rules would end a loop first, and a summary would take a move of the script.
    builtin=BuiltinConfig(loop_reasoning_trigger=1000),
    function_config=FunctionConfig(agent_tool_call_limit=10_000),
    llm=LLMConfig(memory_strategy="none"),
)


@dataclass(frozen=True)
class Told:
    """What became of it.

    Attributes:
        notices: All of the fleet's, in order.
        outcomes: How the run of each agent ended that was given a task.
        lives: In which life each agent is at last.
    """

    notices: tuple[Notice, ...]
    outcomes: dict[str, Outcome]
    lives: dict[str, int]

    def of(self, agent: str, kind: str, extra: str) -> Notice:
        """The first such notice of an agent."""
        wanted = (agent, kind, extra)
        return next(each for each in self.notices if (each.agent, each.type, each.extra_type) == wanted)

    def watched(self, agent: str) -> list[str]:
        """What the watch did about an agent, in order."""
        about = [each for each in self.notices if each.type == "watch" and agent in str(each.data["agents"])]
        return [each.extra_type for each in about]


def mute() -> ModelPreset:
    """A preset whose model takes a request and never answers. Local, so that all goes to the agent by value."""
    name = f"mute-{uuid4().hex}"

    class MuteProvider(ScriptedProvider):
        async def call(self, draft: Draft, output: int, watch: Watcher | None = None) -> Reply:
            await asyncio.Event().wait()
            return await super().call(draft, output, watch)

    @dataclass(frozen=True)
    class Mute(OpenAIChat):
        @staticmethod
        def get_adapter_protocol() -> tuple[str, ...]:
            return (name,)

        @classmethod
        def direct(cls, preset: ModelPreset) -> Provider:  # noqa: ARG003
            return MuteProvider(scripted(say("never")))

    return ModelPreset(model="mute", protocol=name)


def same(name: str) -> Tool:
    """A tool that takes a moment and gives the same each time."""

    @tool(name=name)
    async def again() -> str:
        """Give what it gave before."""
        await asyncio.sleep(0.05)
        return f"{name}: nothing new"

    return again


def tools() -> dict[str, Tool]:
    """Those that never end well, and one that is slow. Local, so that they go to the agents' processes by value."""
    parts = count(1)

    @tool
    async def hang() -> str:
        """Never return."""
        await asyncio.Event().wait()
        return "never"

    @tool
    async def grind() -> str:
        """Hold up the whole event loop."""
        threading.Event().wait()
        return "never"

    @tool
    async def crash(context: ToolContext) -> str:
        """Die as by `kill -9`, in the first life."""
        if context.incarnation == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return "not again"

    @tool
    async def interrupt() -> str:
        """Behave as if a person had pressed Ctrl-C."""
        raise KeyboardInterrupt

    @tool(polling=True)
    async def poll() -> str:
        """Say how far the build is."""
        await asyncio.sleep(0.2)
        return f"{next(parts)} of 20 parts are built"

    return {each.name: each for each in (hang, grind, crash, interrupt, poll)}


def agents() -> Iterator[tuple[str, Agent]]:
    """All of them, each with its trouble."""
    has = tools()
    for name, loop in {"same": ("look",), "swap": ("open", "shut"), "toil": ("read", "edit", "test")}.items():
        moves = [call(each) for each in loop] * 1000
        yield name, Agent(preset=scripted(*moves), tools=tuple(map(same, loop)), config=UNBOUND)
    for name, to, body in (("ping", "pong", "Thank you!"), ("pong", "ping", "You are welcome.")):
        moves = [call("send_message", to=to, body=body), call("wait_for_messages")] * 1000
        yield name, Agent(preset=scripted(*moves), config=UNBOUND)
    for name, awaited, waiter in (("one", "two", "three"), ("two", "three", "one"), ("three", "one", "two")):
        wait = call("wait_for_messages", from_agents=[awaited], seconds=300)
        yield name, Agent(preset=scripted(wait, call("send_message", to=waiter, body="Go on."), say("done")))
    for name, made in (("wedged", "grind"), ("hung", "hang"), ("killed", "crash"), ("stopped", "interrupt")):
        yield name, Agent(preset=steady(call(made), say("I go on.")), tools=(has[made],))
    yield "mute", Agent(preset=mute())
    report: list[Move] = [call("send_message", to="patient", body="It is built."), say("built")]
    yield "poller", Agent(preset=scripted(*[call("poll")] * 20, *report), tools=(has["poll"],), config=UNBOUND)
    wait = call("wait_for_messages", from_agents=["poller"], seconds=300)
    yield "patient", Agent(preset=scripted(wait, say("It came.")))


async def live(journal: Path) -> Told:
    """Have all of it happen, and see it end."""
    async with Fleet(journal=journal, watch=POLICY) as fleet:
        ordered = dict(agents())
        await asyncio.gather(*(fleet.spawn(agent, names=[name]) for name, agent in ordered.items()))
        async with asyncio.timeout(PATIENCE):
            runs = {name: await fleet.agent(name).start("go") for name in ordered if name != "pong"}
            outcomes = {name: await run.outcome() for name, run in runs.items()}
            notices = await all_of(fleet, {run.id for run in runs.values()})
        return Told(notices, outcomes, {row.agent: row.incarnation for row in await fleet.statuses()})


async def all_of(fleet: Fleet, runs: set[str]) -> tuple[Notice, ...]:
    """The notices up to the one that tells of the last run's end."""
    seen: list[Notice] = []
    async for notice in fleet.notices():
        seen.append(notice)
        if (notice.type, notice.extra_type) == ("run", "finished"):
            runs = runs - {str(notice.run)}
        if not runs:
            break
    return tuple(seen)
