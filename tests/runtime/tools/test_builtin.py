import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from amrita_fleet.protocols.checkin import AgentStatus
from amrita_fleet.protocols.codec import decode_batch, encode_verdicts
from amrita_fleet.protocols.ids import AgentId, Incarnation, MessageId, RunId
from amrita_fleet.protocols.mail import Kind, Receipt, ReceiptState, Refusal
from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.errors import AgentUnknown
from amrita_fleet.runtime.mail.mailbox import Mailbox
from amrita_fleet.runtime.sender import Sender
from amrita_fleet.runtime.tools.builtin import BUILTIN, ask_peer, list_peers, send_message, wait_for_messages
from amrita_fleet.runtime.tools.executor import Executor
from amrita_fleet.runtime.tools.output import ToolContext, ToolOutput, WaitAsked
from amrita_fleet.runtime.tools.tool import Tool

pytestmark = pytest.mark.anyio

SOURCE = Path(__file__).resolve().parents[3] / "src"
Answer = tuple[ReceiptState, Refusal | None]

BOB = AgentId("bob")
ACCEPTED = (ReceiptState.ACCEPTED, None)
FULL = (ReceiptState.REFUSED, Refusal.FULL)


@dataclass
class ListedChannel:
    """A channel to agents that answer as they are told to."""

    answers: dict[str, Answer] = field(default_factory=dict)
    sent: list[tuple[str, str, str]] = field(default_factory=list)

    async def send(
        self,
        recipient: AgentId,
        body: str,
        reply_to: str = "",
        message: MessageId | None = None,
        kind: Kind = Kind.PEER,  # noqa: ARG002
    ) -> Receipt:
        if recipient not in self.answers:
            raise AgentUnknown(name=recipient, near=tuple(self.answers)[:1])
        state, refusal = self.answers[recipient]
        self.sent.append((recipient, body, reply_to))
        return Receipt(message or MessageId(f"m{len(self.sent)}"), recipient, state, refusal)

    async def receipt(self, message: MessageId) -> Receipt | None: ...

    async def peers(self) -> tuple[AgentStatus, ...]:
        return tuple(AgentStatus(AgentId(name), Incarnation(1), "idle", 0.0, waiting=2) for name in self.answers)


@pytest.fixture
def channel() -> ListedChannel:
    return ListedChannel()


@pytest.fixture
def context(channel: ListedChannel) -> ToolContext:
    return ToolContext(AgentId("ana"), Incarnation(1), RunId("ana/1"), 3, 7, channel)


async def call(made: Tool, context: ToolContext, **arguments: object) -> ToolOutput:
    return await Executor().run(made, json.dumps(arguments), context)


async def test_a_message_reaches_the_channel_as_it_was_said(context: ToolContext, channel: ListedChannel) -> None:
    channel.answers = {"bob": ACCEPTED}
    assert await call(send_message, context, to="bob", body="hi", reply_to="m7") == ToolOutput("Accepted by bob.")
    assert channel.sent == [("bob", "hi", "m7")]


@pytest.mark.parametrize(
    ("answer", "content"),
    [
        (FULL, "ERROR: bob refused the message: its mailbox is full."),
        ((ReceiptState.REFUSED, Refusal.LIMIT), "ERROR: bob refused the message: it has reached a limit"),
        (
            (ReceiptState.REFUSED, Refusal.HOPS),
            "ERROR: The message to bob was not sent: the chain of answers to answers is at its end, 32. Answer no",
        ),
        (
            (ReceiptState.DEAD, Refusal.STOPPED),
            "ERROR: bob accepted the message but will never read it: it was stopped.",
        ),
        ((ReceiptState.PENDING, None), "ERROR: bob has not accepted the message yet. It may still arrive"),
    ],
    ids=["full", "limit", "hops", "dead", "pending"],
)
async def test_the_model_is_told_what_became_of_its_message(
    answer: Answer, content: str, context: ToolContext, channel: ListedChannel
) -> None:
    channel.answers = {"bob": answer}
    output = await call(send_message, context, to="bob", body="hi")
    assert output.failed
    assert output.content.startswith(content)


async def test_an_unknown_recipient_is_answered_with_near_names(context: ToolContext, channel: ListedChannel) -> None:
    channel.answers = {"bob": ACCEPTED}
    output = await call(send_message, context, to="bbo", body="hi")
    assert output == ToolOutput("ERROR: The fleet has no agent named 'bbo'. Did you mean bob?", failed=True)


async def test_each_recipient_of_a_list_is_reported_once_failures_first(
    context: ToolContext, channel: ListedChannel
) -> None:
    channel.answers = {"bob": ACCEPTED, "eve": FULL, "kim": ACCEPTED}
    output = await call(send_message, context, to=["bob", "eve", "bob", "kim"], body="hi")
    assert output.failed
    assert output.content.splitlines() == [
        "ERROR: eve refused the message: its mailbox is full.",
        "Accepted by bob.",
        "Accepted by kim.",
    ]
    assert [name for name, *_ in channel.sent] == ["bob", "eve", "kim"]


async def test_a_message_to_nobody_is_refused(context: ToolContext) -> None:
    assert (await call(send_message, context, to=[], body="hi")).failed


async def test_peers_are_rows_of_json(context: ToolContext, channel: ListedChannel) -> None:
    channel.answers = {"bob": ACCEPTED}
    output = await call(list_peers, context)
    assert json.loads(output.content) == [{"name": "bob", "phase": "idle", "waiting": 2}]


async def test_waiting_answers_at_once_and_asks_the_runtime_to_wait(context: ToolContext) -> None:
    text = "What comes stands in your next message."
    assert await call(wait_for_messages, context) == ToolOutput(text, wait=WaitAsked((), 300.0))
    output = await call(wait_for_messages, context, seconds=5, from_agents=["bob"])
    assert output == ToolOutput(text, wait=WaitAsked((BOB,), 5))


async def test_a_wait_has_an_end(context: ToolContext) -> None:
    output = await call(wait_for_messages, context, seconds=1e9)
    assert output.wait == WaitAsked((), 3600.0)
    assert output.content.startswith("You wait 3600 seconds at most.")


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
async def test_a_wait_of_no_time_is_refused(seconds: float, context: ToolContext, channel: ListedChannel) -> None:
    channel.answers = {"bob": ACCEPTED}
    assert (await call(wait_for_messages, context, seconds=seconds)).content.startswith(
        "ERROR: seconds must be above 0"
    )
    assert (await call(ask_peer, context, to="bob", question="?", seconds=seconds)).failed
    assert channel.sent == []


async def test_a_question_is_sent_and_its_answer_waited_for(context: ToolContext, channel: ListedChannel) -> None:
    channel.answers = {"bob": ACCEPTED}
    output = await call(ask_peer, context, to="bob", question="how many?", seconds=20)
    assert output.content == "Accepted by bob. What comes stands in your next message."
    assert output.wait == WaitAsked((BOB,), 20)
    assert channel.sent == [("bob", "how many?", "")]


async def test_a_question_that_was_not_accepted_is_not_waited_for(context: ToolContext, channel: ListedChannel) -> None:
    channel.answers = {"bob": FULL}
    output = await call(ask_peer, context, to="bob", question="how many?")
    assert output == ToolOutput("ERROR: bob refused the message: its mailbox is full.", failed=True)


def test_every_built_in_tool_may_run_again_after_a_crash() -> None:
    assert [(made.name, made.replay) for made in BUILTIN] == [
        ("send_message", "safe"),
        ("list_peers", "safe"),
        ("wait_for_messages", "safe"),
        ("ask_peer", "safe"),
    ]


@pytest.mark.slow
def test_built_in_tools_need_no_pydantic() -> None:
    script = (
        "import asyncio, sys\n"
        "from amrita_fleet.runtime.tools.builtin import *\n"
        "from amrita_fleet.runtime.tools.executor import Executor\n"
        "print(asyncio.run(Executor().run(wait_for_messages, '{\"seconds\": 0}', None)).failed)\n"
        "print({'pydantic', 'anyio', 'docstring_parser'} & set(sys.modules))"
    )
    env = {"PYTHONPATH": str(SOURCE)}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "True\nset()\n"


# --- the same call in the agent's next life ---------------------------------------------------------------------------


@dataclass
class Post:
    """The way to one mailbox."""

    mailbox: Mailbox = field(default_factory=lambda: Mailbox(BOB))

    async def deliver(self, recipient: AgentId, batch: bytes) -> bytes:  # noqa: ARG002
        return encode_verdicts(self.mailbox.accept(decode_batch(batch), 0.0))


class SendingChannel(ListedChannel):
    """A channel of one life of the agent, with a real sender."""

    def __init__(self, sender: Sender) -> None:
        super().__init__()
        self.sender = sender

    async def send(
        self,
        recipient: AgentId,
        body: str,
        reply_to: str = "",
        message: MessageId | None = None,
        kind: Kind = Kind.PEER,
    ) -> Receipt:
        return await self.sender.send(recipient, body, reply_to=reply_to, message=message, kind=kind)


@asynccontextmanager
async def life(post: Post, incarnation: int, *, call: int = 7, run: str = "ana.1.1") -> AsyncGenerator[ToolContext]:
    """A call in one life of the agent."""
    sender = Sender(AgentId("ana"), Incarnation(incarnation), post, VirtualClock())
    yield ToolContext(AgentId("ana"), Incarnation(incarnation), RunId(run), 3, call, SendingChannel(sender))
    await sender.aclose()


SENDS = pytest.mark.parametrize(
    ("made", "said"),
    [(send_message, {"body": "hi"}), (ask_peer, {"question": "hi"})],
    ids=["send_message", "ask_peer"],
)


@SENDS
@pytest.mark.parametrize("read", [False, True], ids=["waiting", "read"])
async def test_a_call_that_runs_again_in_the_next_life_sends_the_same_message(
    made: Tool, said: dict[str, str], read: bool
) -> None:
    post = Post()
    async with life(post, 1) as context:
        first = await call(made, context, to="bob", **said)
    [letter] = post.mailbox.take(1000)
    if read:
        post.mailbox.consume([letter.id], RunId("bob.1.1"), 1)

    async with life(post, 2) as context:
        again = await call(made, context, to="bob", **said)

    assert again == first
    assert not again.failed
    assert post.mailbox.accepted == 1
    assert letter.id == context.message_to(BOB)


@SENDS
async def test_another_call_or_the_same_of_another_run_sends_another_message(made: Tool, said: dict[str, str]) -> None:
    post = Post()
    for incarnation, number, run in ((1, 7, "ana.1.1"), (2, 8, "ana.1.1"), (3, 7, "ana.3.1")):
        async with life(post, incarnation, call=number, run=run) as context:
            await call(made, context, to="bob", **said)

    assert post.mailbox.accepted == 3


async def test_what_a_full_mailbox_did_not_take_in_one_life_it_takes_in_the_next() -> None:
    post = Post(Mailbox(BOB, messages=1))
    async with life(post, 1, call=1) as context:
        await call(send_message, context, to="bob", body="first")
        sending = asyncio.ensure_future(call(send_message, replace(context, call=2), to="bob", body="second"))
        await asyncio.sleep(0)
    assert (await sending).failed
    post.mailbox.consume([letter.id for letter in post.mailbox.take(1000)], RunId("bob.1.1"), 1)

    async with life(post, 2, call=2) as context:
        assert not (await call(send_message, context, to="bob", body="second")).failed

    assert [letter.body for letter in post.mailbox.take(1000)] == ["second"]
