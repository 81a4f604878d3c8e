"""Hooks decide in the agent's own process, on both systems."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import pytest

from amrita_fleet import (
    AddNote,
    Agent,
    AmritaConfig,
    EndRun,
    ExtendRounds,
    Fleet,
    FunctionConfig,
    Hooks,
    LimitReached,
    ModelPreset,
    ReplaceOutput,
    Reply,
    RewriteArguments,
    StepBegun,
    Tool,
    ToolAsked,
    ToolDone,
    tool,
)
from amrita_fleet.protocols.providers.base import Draft, Provider, Watcher
from amrita_fleet.protocols.providers.openai_chat import OpenAIChat
from amrita_fleet.protocols.providers.script import Move, call, repeat, say
from amrita_fleet.protocols.providers.scripted import ScriptedProvider, scripted

MakeFleet = Callable[..., Fleet]

pytestmark = pytest.mark.anyio


@cache
def mirror() -> type[OpenAIChat]:
    """A protocol whose model follows its script, but where that says `?` answers with all that it was told."""

    class Mirror(ScriptedProvider):
        async def call(self, draft: Draft, output: int, watch: Watcher | None = None) -> Reply:
            reply = await super().call(draft, output, watch)
            if reply.message.content != "?":
                return reply
            return replace(
                reply, message=replace(reply.message, content="|".join(turn.content for turn in draft.turns))
            )

    @dataclass(frozen=True)
    class Mirrored(OpenAIChat):
        @staticmethod
        def get_adapter_protocol() -> tuple[str, ...]:
            return ("mirror",)

        @classmethod
        def direct(cls, preset: ModelPreset) -> Provider:
            return Mirror(preset)

    return Mirrored


def agent(*moves: Move, hooks: Hooks, rounds: int = 10) -> Agent:
    @tool
    async def echo(text: str) -> str:
        """Say it again."""
        return text

    tools: tuple[Tool, ...] = (echo,)
    config = AmritaConfig(function_config=FunctionConfig(agent_tool_call_limit=rounds))
    preset = replace(scripted(*moves), protocol=mirror().get_adapter_protocol()[0])
    return Agent(preset=preset, tools=tools, hooks=(hooks,), config=config)


async def test_a_note_of_a_hook_stands_before_the_step(make_fleet: MakeFleet) -> None:
    class Reminding(Hooks):
        def before_step(self, step: StepBegun) -> AddNote:
            return AddNote(f"Step {step.step} of {step.run}: be brief.")

    async with make_fleet() as fleet:
        (ana,) = await fleet.spawn(agent(say("?"), hooks=Reminding()), ["ana"])
        run = await ana.start("go")
        assert f"Step 1 of {run.id}: be brief." in (await run.outcome()).text


async def test_a_hook_ends_a_run_before_the_model_is_asked(make_fleet: MakeFleet) -> None:
    class Closed(Hooks):
        async def before_step(self, step: StepBegun) -> EndRun:
            return EndRun(f"{step.agent} is off duty")

    async with make_fleet() as fleet:
        (ana,) = await fleet.spawn(agent(say("never"), hooks=Closed()), ["ana"])
        outcome = await ana.run("go")
    assert (str(outcome), outcome.rounds) == ("stopped", 0)
    assert "ana is off duty" in outcome.reason


async def test_hooks_rewrite_what_a_tool_gets_and_what_the_model_reads(make_fleet: MakeFleet) -> None:
    class Polite(Hooks):
        async def before_tool(self, call: ToolAsked) -> RewriteArguments:
            return RewriteArguments({"text": f"please {call.arguments['text']}"})

        def after_tool(self, result: ToolDone) -> ReplaceOutput:
            return ReplaceOutput(f"{result.output}, thanks")

    async with make_fleet() as fleet:
        (ana,) = await fleet.spawn(agent(call("echo", text="sing"), say("?"), hooks=Polite()), ["ana"])
        assert (await ana.run("go")).text.endswith("|please sing, thanks")


async def test_a_hook_extends_the_limit_of_rounds_once(make_fleet: MakeFleet) -> None:
    class Generous(Hooks):
        def __init__(self) -> None:
            self.left = 1

        async def on_limit(self, limit: LimitReached) -> ExtendRounds | None:
            self.left -= 1
            return ExtendRounds(2) if self.left >= 0 and limit.limit == "agent_tool_call_limit" else None

    async with make_fleet() as fleet:
        moves = (call("echo", text="a"), call("echo", text="b"), call("echo", text="c"), repeat(say("last words")))
        (ana,) = await fleet.spawn(agent(*moves, hooks=Generous(), rounds=1), ["ana"])
        outcome = await ana.run("go")
    assert (str(outcome), outcome.text) == ("limit:agent_tool_call_limit", "last words")
    assert outcome.rounds == 3


async def test_no_other_limit_is_extended_and_the_watchers_learn_so(make_fleet: MakeFleet) -> None:
    class Generous(Hooks):
        async def on_limit(self, limit: LimitReached) -> ExtendRounds:
            return ExtendRounds(limit.step)

    frugal = AmritaConfig(function_config=FunctionConfig(agent_step_token_budget=1))
    async with make_fleet() as fleet:
        moves = (call("echo", text="a"), repeat(say("last words")))
        (ana,) = await fleet.spawn(replace(agent(*moves, hooks=Generous()), config=frugal), ["ana"])
        run = await ana.start("go")
        (told,) = [notice async for notice in run if notice.extra_type in {"extended", "not_extended"}]
        outcome = await run.outcome()
    assert (told.type, told.extra_type) == ("run", "not_extended")
    assert told.data["limit"] == "agent_step_token_budget"
    assert (str(outcome), outcome.text) == ("limit:agent_step_token_budget", "last words")


async def test_a_hook_that_raises_keeps_the_call_from_running_and_is_told(make_fleet: MakeFleet) -> None:
    class Broken(Hooks):
        def before_tool(self, call: ToolAsked) -> None:
            raise ConnectionError(f"no policy for {call.tool}")

    async with make_fleet() as fleet:
        (ana,) = await fleet.spawn(agent(call("echo", text="x"), say("?"), hooks=Broken()), ["ana"])
        run = await ana.start("go")
        notices = [notice async for notice in run]
        text = (await run.outcome()).text
    sentence = "The hook Broken.before_tool failed: ConnectionError: no policy for echo."
    assert f"ERROR: echo was not run. {sentence}" in text
    (failed,) = [notice for notice in notices if notice.extra_type == "hook_failed"]
    assert (failed.type, failed.text, failed.run) == ("agent", sentence, run.id)
