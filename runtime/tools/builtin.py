"""The tools every agent of a fleet has: mail, through its channel.

Their schemas are written by hand, so that an agent without other tools never loads pydantic.
"""

import asyncio
import json
from collections.abc import Mapping
from types import MappingProxyType

from ...protocols.ids import USER, AgentId
from ...protocols.mail import HOPS_LIMIT, Kind, Receipt, ReceiptState, Refusal
from ...protocols.messages import Json
from ..errors import RunError
from .output import ToolContext, ToolOutput, WaitAsked
from .tool import Tool, tool

__all__ = ("BUILTIN", "ask_peer", "list_peers", "send_message", "wait_for_messages")

WAIT = 300.0
"""Seconds a wait lasts when the model names none."""

LONGEST_WAIT = 3600.0
"""Seconds a wait lasts at most."""

COMING = "What comes stands in your next message."

REASONS: Mapping[Refusal, str] = MappingProxyType(
    {
        Refusal.FULL: "its mailbox is full",
        Refusal.EXPIRED: "it was too old when it arrived",
        Refusal.TOO_LARGE: "it is too large; send a shorter one",
        Refusal.CLOSED: "its channel is closed",
        Refusal.HOPS: f"the chain of answers to answers is at its end, {HOPS_LIMIT}. Answer no more: say what came of "
        "the talk in your final answer, or send what is new without reply_to",
        Refusal.STOPPED: "it was stopped",
        Refusal.LIMIT: "it has reached a limit and makes no more model calls",
        Refusal.UNKNOWN: "there is no such agent",
        Refusal.NOT_A_PEER: "you may not write to it; list_peers names those you may write to",
        Refusal.FENCED: "this agent was restarted elsewhere and may send no more",
    }
)


def schema(required: list[Json], **properties: Json) -> Mapping[str, Json]:
    """A JSON Schema of an object that takes these and no others."""
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


SEND = schema(
    ["to", "body"],
    to={
        "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
        "description": "The agent's name, or a list of names.",
    },
    body={"type": "string", "description": "What to say. The other agent sees nothing else of your conversation."},
    reply_to={"type": "string", "description": "Id of the message this answers.", "default": ""},
)

ASK = schema(
    ["to", "question"],
    to={"type": "string", "description": "The agent's name."},
    question={"type": "string", "description": "What to ask. It sees nothing else of your conversation."},
    seconds={"type": "number", "description": "How long to wait for the answer.", "default": WAIT},
)

AWAIT = schema(
    [],
    seconds={"type": "number", "description": "How long to wait, at most 3600.", "default": WAIT},
    from_agents={
        "type": "array",
        "items": {"type": "string"},
        "description": f"Wait for messages of these agents only; empty: of any. The person is {USER}.",
        "default": [],
    },
)


@tool(
    description="Send a message to one or more agents of your fleet. They read it at their next step.",
    parameters=SEND,
    replay="safe",
)
async def send_message(context: ToolContext, to: str | list[str], body: str, reply_to: str = "") -> ToolOutput:
    """Send to each and say truly what became of it, failures first."""
    names = list(dict.fromkeys([to] if isinstance(to, str) else to))
    if not names:
        return ToolOutput.failure("Name at least one agent to send to.")
    reports = await asyncio.gather(*(sent(context, name, body, reply_to) for name in names))
    reports.sort(key=lambda report: not report.failed)
    return ToolOutput("\n".join(report.content for report in reports), failed=reports[0].failed)


@tool(
    description="List the other agents of your fleet that you can write to.",
    parameters=schema([]),
    replay="safe",
    polling=True,
)
async def list_peers(context: ToolContext) -> str:
    """JSON rows: name, phase, and how many messages wait in its mailbox."""
    peers = await context.channel.peers()
    return json.dumps([{"name": one.agent, "phase": one.phase, "waiting": one.waiting} for one in peers])


@tool(
    description="Wait until a message comes. You sleep meanwhile, at no cost.",
    parameters=AWAIT,
    replay="safe",
    polling=True,
)
async def wait_for_messages(seconds: float = WAIT, from_agents: list[str] | None = None) -> ToolOutput:
    """Ask the runtime to wait; it begins when this Step has ended."""
    return waiting(seconds, tuple(map(AgentId, from_agents or ())), "")


@tool(
    description="Send a question to an agent and wait for its answer. You sleep meanwhile, at no cost.",
    parameters=ASK,
    replay="safe",
)
async def ask_peer(context: ToolContext, to: str, question: str, seconds: float = WAIT) -> ToolOutput:
    """Send, and wait only if the question was accepted."""
    wait = waiting(seconds, (AgentId(to),), f"Accepted by {to}. ")
    if wait.failed:
        return wait
    report = await sent(context, to, question, "", Kind.QUESTION)
    return report if report.failed else wait


BUILTIN: tuple[Tool, ...] = (send_message, list_peers, wait_for_messages, ask_peer)
"""In the order a model sees them."""


def waiting(seconds: float, senders: tuple[AgentId, ...], before: str) -> ToolOutput:
    """The output that makes the agent wait, `before` first; a failed one unless the time is above 0."""
    if not seconds > 0:
        return ToolOutput.failure(f"seconds must be above 0, not {seconds:g}: nothing can come in no time.")
    wait = WaitAsked(senders, min(seconds, LONGEST_WAIT))
    shorter = f"You wait {LONGEST_WAIT:g} seconds at most. " if seconds > LONGEST_WAIT else ""
    return ToolOutput(f"{before}{shorter}{COMING}", wait=wait)


async def sent(context: ToolContext, name: str, body: str, reply_to: str, kind: Kind = Kind.PEER) -> ToolOutput:
    """Send one message and say what became of it."""
    try:
        recipient = AgentId(name)
        receipt = await context.channel.send(recipient, body, reply_to, context.message_to(recipient), kind)
    except RunError as error:
        return ToolOutput.failure(str(error))
    return reported(receipt)


def reported(receipt: Receipt) -> ToolOutput:
    """What a receipt says, for a model."""
    name = receipt.recipient
    why = REASONS[receipt.refusal] if receipt.refusal else "it did not say why"
    match receipt.state:
        case ReceiptState.ACCEPTED | ReceiptState.CONSUMED:
            return ToolOutput(f"Accepted by {name}.")
        case ReceiptState.REFUSED if receipt.refusal in {Refusal.HOPS, Refusal.NOT_A_PEER}:  # no mailbox was asked
            return ToolOutput.failure(f"The message to {name} was not sent: {why}.")
        case ReceiptState.REFUSED:
            return ToolOutput.failure(f"{name} refused the message: {why}.")
        case ReceiptState.DEAD:
            return ToolOutput.failure(f"{name} accepted the message but will never read it: {why}.")
        case ReceiptState.PENDING:
            return ToolOutput.failure(
                f"{name} has not accepted the message yet. It may still arrive: do not repeat it."
            )
