"""Waits for mail and chains of answers come to an end, wherever agents live."""

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from amrita_fleet import Agent, Fleet
from amrita_fleet.protocols.mail import HOPS_LIMIT
from amrita_fleet.protocols.messages import Finish, Message, Reply, Role, ToolCall, Turn, Usage
from amrita_fleet.protocols.notices import Notice
from amrita_fleet.protocols.presets import ModelPreset
from amrita_fleet.protocols.providers.base import Draft, Provider, ToolSchema, Watcher
from amrita_fleet.protocols.providers.openai_chat import OpenAIChat
from amrita_fleet.protocols.providers.script import Move, call, repeat, say
from amrita_fleet.protocols.providers.scripted import scripted

MakeFleet = Callable[..., Fleet]

pytestmark = pytest.mark.anyio

PATIENCE = 60.0


def wait(sender: str) -> Move:
    return call("wait_for_messages", from_agents=[sender], seconds=600)


def kind(notice: Notice) -> str:
    return f"{notice.type}.{notice.extra_type}"


async def until(fleet: Fleet, over: Callable[[list[Notice]], bool]) -> list[Notice]:
    """The notices up to the one with which it is over."""
    seen: list[Notice] = []
    async with asyncio.timeout(PATIENCE):
        async for notice in fleet.notices():
            seen.append(notice)
            if over(seen):
                return seen
    raise AssertionError


def finished(*names: str) -> Callable[[list[Notice]], bool]:
    """Whether each of these has ended a run."""
    return lambda seen: {one.agent for one in seen if kind(one) == "run.finished"} >= set(names)


def ends(notices: list[Notice]) -> list[object]:
    """Why waits were ended."""
    return [notice.data["cause"] for notice in notices if kind(notice) == "step.wait_ended"]


async def test_of_two_that_wait_for_each_other_at_once_exactly_one_is_refused(make_fleet: MakeFleet) -> None:
    async with make_fleet() as fleet:
        for name, other in (("ana", "bob"), ("bob", "ana")):
            moves = wait(other), call("send_message", to=other, body="I go on."), repeat(say("done"))
            await fleet.spawn(Agent(preset=scripted(*moves)), [name])
        await asyncio.gather(*(fleet.start(name, "Wait.") for name in ("ana", "bob")))
        notices = await until(fleet, finished("ana", "bob"))
    assert ends(notices) == ["knot"]
    assert {str(notice.data["outcome"]) for notice in notices if kind(notice) == "run.finished"} == {"answered"}


async def test_two_that_ask_each_other_at_once_both_get_an_answer(make_fleet: MakeFleet) -> None:
    async with make_fleet() as fleet:
        for name, other in (("ana", "bob"), ("bob", "ana")):
            ask = call("ask_peer", to=other, question=f"What does {other} think?", seconds=600)
            await fleet.spawn(Agent(preset=scripted(ask, repeat(say(f"{name} agrees")))), [name])
        await asyncio.gather(*(fleet.start(name, "Ask.") for name in ("ana", "bob")))
        answers = {"ana": "from bob: bob agrees", "bob": "from ana: ana agrees"}
        notices = await until(
            fleet,
            lambda seen: {one.agent for one in seen if one.text == answers.get(one.agent)} == set(answers),
        )
    assert ends(notices) == []


@pytest.mark.slow
async def test_a_quiet_fleet_is_released(make_fleet: MakeFleet) -> None:
    async with make_fleet() as fleet:
        await fleet.spawn(Agent(preset=scripted(wait("bob"), say("Bob says nothing."))), ["ana"])
        await fleet.spawn(Agent(preset=scripted(say("never"))), ["bob"])
        run = await fleet.start("ana", "Wait for bob.")
        notices = await until(fleet, finished("ana"))
        outcome = await run.outcome()
    assert ends(notices) == ["quiet"]
    assert outcome.text == "Bob says nothing."


async def test_a_chain_of_answers_ends_and_the_model_is_told_what_to_do_instead(make_fleet: MakeFleet) -> None:
    async with make_fleet() as fleet:
        for name, other in (("ana", "bob"), ("bob", "ana")):
            await fleet.spawn(Agent(preset=talkative(other)), [name])
        run = await fleet.start("ana", "Talk to bob.")
        await run.outcome()
        # Each agent reports by itself, so the last letter may be told of after the refusal.
        notices = await until(
            fleet,
            lambda seen: "tool.failed" in map(kind, seen) and list(map(kind, seen)).count("mail.sent") > HOPS_LIMIT,
        )
    sent = [one for one in notices if kind(one) == "mail.sent"]
    (failed,) = [one for one in notices if kind(one) == "tool.failed"]
    assert len(sent) == HOPS_LIMIT + 1, "the first message answers none"
    assert "was not sent: the chain of answers to answers is at its end, 32. Answer no more:" in failed.text


def talkative(other: str) -> ModelPreset:
    """A model that answers whatever it is told, and begins by itself; made here, so that it goes along by value."""

    class Answering:
        def __init__(self, writer: OpenAIChat) -> None:
            self.writer = writer

        def draft(self, turns: tuple[Turn, ...], tools: tuple[ToolSchema, ...], before: Draft | None) -> Draft:
            return self.writer.draft(turns, tools, before)

        async def call(self, draft: Draft, output: int, watch: Watcher | None = None) -> Reply:  # noqa: ARG002
            head = re.search(r"\[Message (\S+) from", draft.turns[-1].content)
            said = Message(Role.ASSISTANT, "So far.")
            if head or len(draft.turns) == 1:
                asked = {"to": other, "body": "And then?", "reply_to": head[1] if head else ""}
                said = Message(Role.ASSISTANT, "", (ToolCall("call_0", "send_message", json.dumps(asked)),))
            return Reply(said, Usage(9, 9), Finish.CALLS if said.calls else Finish.STOP, "r")

        async def aclose(self) -> None:
            """There is nothing to close."""

    @dataclass(frozen=True)
    class Talkative(OpenAIChat):
        @staticmethod
        def get_adapter_protocol() -> tuple[str, ...]:
            return (f"talkative-to-{other}",)

        @classmethod
        def direct(cls, preset: ModelPreset) -> Provider:
            return Answering(OpenAIChat(preset))

    return ModelPreset(model="talkative", protocol=f"talkative-to-{other}")
