"""What the length of the history costs: one event of the core, and the CPU of a whole round.

The core is fed rounds of one call, again and again, on top of a history; its time is that of `advance` alone, without
the digests that are computed outside it. A round's CPU is measured in one run that goes on and on, beside a bare loop
that for each round writes the same messages as JSON, posts them and parses the answer: what building a request costs
grows with what is in it, whoever builds it, so what counts is whether the ratio grows.
"""

import asyncio
import gc
import json
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import count, pairwise
from typing import Any

from _measure import SOURCE, arguments, cpu, finish, median, table

sys.path.insert(0, SOURCE)

import httpx
from _canned import canned_server
from rounds import bodies_of

from amrita_fleet import Agent, AmritaConfig, Fleet, create_agent, tool
from amrita_fleet.protocols.checkin import Grant, Proceed
from amrita_fleet.protocols.ids import AgentId, RunId
from amrita_fleet.protocols.messages import Finish as FinishReason
from amrita_fleet.protocols.messages import Message, Reply, Role, ToolCall, Usage
from amrita_fleet.runtime.config import FunctionConfig, LLMConfig
from amrita_fleet.runtime.step.advance import advance
from amrita_fleet.runtime.step.compaction import CompactionRules
from amrita_fleet.runtime.step.effects import AskLeave, CallModel, LookForMail, RunTool, TakeMail
from amrita_fleet.runtime.step.events import Asked, CallFacts, Directed, Event, MailSeen, MailTaken, Replied, ToolEnded
from amrita_fleet.runtime.step.rules import Rules
from amrita_fleet.runtime.step.state import AgentState

LENGTHS = (10, 100, 1000)
"""Messages of history."""

CORE = 200
"""Messages of history at which an event of the core is timed."""


def fed(state: AgentState, rounds: int, numbers: Iterator[int]) -> tuple[AgentState, list[tuple[str, float]]]:
    """The state after so many rounds, and the seconds that each event took."""
    took: list[tuple[str, float]] = []
    events: list[Event] = [Asked(RunId("a.1.1"), "go")] if state.run is None else []
    resumed = state.doing
    if not events:
        events = [Directed(resumed.ask.op, Proceed(Grant("a/1/1", 100)))]  # type: ignore[union-attr]
    until = (state.run.rounds if state.run else 0) + rounds
    while True:
        event = events.pop(0)
        begun = time.perf_counter()
        state, effects = advance(state, event)
        took.append((type(event).__name__, time.perf_counter() - begun))
        for effect in effects:
            match effect:
                case TakeMail(op=op):
                    events.append(MailTaken(op, ()))
                case LookForMail(op=op):
                    events.append(MailSeen(op, waits=False))
                case AskLeave(op=op):
                    if state.current.rounds >= until:
                        return state, took
                    events.append(Directed(op, Proceed(Grant("a/1/1", 100))))
                case CallModel(op=op):
                    number = next(numbers)
                    call = ToolCall(f"call_{number}", "double", json.dumps({"number": number}))
                    reply = Reply(Message(Role.ASSISTANT, "", (call,)), Usage(100, 10), FinishReason.CALLS, "req")
                    events.append(Replied(op, reply, (CallFacts(f"signature {number}"),)))
                case RunTool(op=op, call=call):
                    events.append(ToolEnded(op, "42 " * 100, f"digest {op}"))
                case _:
                    pass


def microseconds_an_event(repeats: int) -> dict[str, float]:
    """Median microseconds of each kind of event, with `CORE` messages of history."""
    numbers = count()
    start = AgentState.begin(
        AgentId("a"), Rules(rounds=10**6, instructions="You count.", compaction=CompactionRules(strategy="none"))
    )
    state, _ = fed(start, CORE // 2, numbers)
    assert len(state.transcript.turns) >= CORE
    gc.collect()
    found: dict[str, list[float]] = {}
    for _ in range(repeats):
        _, took = fed(state, 10, numbers)
        for name, seconds in took:
            found.setdefault(name, []).append(seconds * 1e6)
    return {name: round(median(values), 1) for name, values in found.items()}


def describe(base_url: str, rounds: int, marks: list[float]) -> Agent:
    """An agent that notes its process's CPU at each call of its tool."""

    @tool
    async def double(number: int) -> int:
        """Twice the number."""
        marks.append(cpu())
        return 2 * number

    config = AmritaConfig(
        function_config=FunctionConfig(agent_tool_call_limit=rounds + 1), llm=LLMConfig(memory_strategy="none")
    )
    return create_agent(base_url=base_url, model="canned", tools=[double], config=config)


async def ours(base_url: str, rounds: int) -> list[float]:
    """CPU seconds of each round of one run."""
    marks: list[float] = []
    async with Fleet(system="local") as fleet:
        (agent,) = await fleet.spawn(describe(base_url, rounds, marks), ["a"])
        outcome = await agent.run("go")
        assert outcome.rounds == rounds, outcome
    return [after - before for before, after in pairwise(marks)]


async def bare(base_url: str, bodies: Sequence[dict[str, Any]]) -> list[float]:
    """CPU seconds of each round of a loop that writes, posts and parses the same."""
    url, headers, marks = f"{base_url}/chat/completions", {"content-type": "application/json"}, [cpu()]
    async with httpx.AsyncClient() as client:
        for body in bodies:
            content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
            json.loads((await client.post(url, content=content, headers=headers)).content)
            marks.append(cpu())
    return [after - before for before, after in pairwise(marks)]


async def measure(repeats: int) -> dict[int, float]:
    """Our CPU a round beside that of the bare loop, by the messages of history."""
    rounds = max(LENGTHS) // 2 + 20
    ratios: dict[int, list[float]] = {length: [] for length in LENGTHS}
    with canned_server(rounds) as base_url:
        bodies = [json.loads(body) for body in await bodies_of(base_url, rounds)]
        for _ in range(repeats):
            mine, floor = await ours(base_url, rounds), await bare(base_url, bodies)
            for length in LENGTHS:
                around = range(max(0, length // 2 - 5), length // 2 + 15)
                ratios[length].append(sum(mine[at] for at in around) / sum(floor[at] for at in around))
    return {length: round(median(values), 3) for length, values in ratios.items()}


def main() -> None:
    """Print both tables, and the ratios."""
    args = arguments(__doc__)
    events = microseconds_an_event(20 if args.quick else 300)
    table(["event of the core", f"microseconds at {CORE} messages"], list(events.items()))
    ratios = asyncio.run(measure(1 if args.quick else 5))
    rows = [[f"{length:,}", f"{ratio:.2f}"] for length, ratio in ratios.items()]
    print()
    table(["messages of history", "CPU of a round / of the bare loop"], rows)
    growth = round(ratios[LENGTHS[-1]] / ratios[LENGTHS[0]], 3)
    slowest = max(events.values())
    print(
        f"\nan event takes {slowest:.0f} microseconds at most; a round with 1,000 messages, {growth:.2f} times as much"
    )
    by_length = {str(length): ratio for length, ratio in ratios.items()}
    finish({"microseconds": slowest, "ratio": by_length, "growth": growth}, as_json=args.json)


if __name__ == "__main__":
    main()
