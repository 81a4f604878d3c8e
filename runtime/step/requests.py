"""What is sent to a model, for each purpose.

The conversation itself is the transcript, whole. Everything else is a request of its own, of one system and one user
text, cut to a size and without calls, so that there is nothing a provider could find unpaired and no tool to call.
"""

from collections.abc import Iterable
from typing import assert_never

from ...protocols.messages import Message, Role, Turn
from ...protocols.providers.base import ToolSchema
from .compacting import summary_turns
from .decomposition import DECOMPOSE_ALWAYS, DECOMPOSE_SYSTEM, SUMMARISE_SYSTEM
from .last_answer import last_request, newest
from .phases import Asking, Compacting, Decomposing, Summarising, Thinking, WindingDown
from .sizes import shortened
from .state import AgentState

__all__ = ("request",)


def request(state: AgentState, doing: Asking, tools: tuple[ToolSchema, ...], last_input: int) -> tuple[Turn, ...]:
    """The turns of a request.

    Args:
        state: The agent that asks.
        doing: What it asks for.
        tools: What it may call; a request for a plan tells of them, though nothing can be called in it.
        last_input: Bytes of JSON that a request for a last answer may have.
    """
    match doing:
        case Thinking():
            return state.transcript.turns
        case WindingDown():
            return last_request(state.transcript, last_input)
        case Decomposing():
            return decompose_request(state, doing.flaw, tools)
        case Summarising():
            return summarise_request(state, doing.answer)
        case Compacting():
            return summary_turns(state, doing)
        case _:
            assert_never(doing)


def decompose_request(state: AgentState, flaw: str, tools: tuple[ToolSchema, ...]) -> tuple[Turn, ...]:
    """Asks whether the run's task is simple or a plan; `flaw` says why its last plan was refused."""
    rules, share = state.rules, state.rules.side_input // 4
    system = DECOMPOSE_ALWAYS if rules.plan == "always" else DECOMPOSE_SYSTEM
    before = newest(state.transcript.turns[: state.transcript.since], share) if state.transcript.since else ""
    listed = "\n".join(f"{each.name}: {first_line(each.description)}" for each in tools)
    refusal = f"Your last plan was refused: {flaw}. Give a corrected one." if flaw else ""
    return two_texts(
        system,
        titled("Who works on it", shortened(rules.instructions, share)),
        titled("Tools", shortened(listed, share)),
        titled("Before", before),
        titled("Task", shortened(state.current.task, share)),
        refusal,
    )


def summarise_request(state: AgentState, answer: str) -> tuple[Turn, ...]:
    """Asks what the plan's current node came to."""
    plan, node = state.current.plan, state.current.node
    title = "" if plan is None or node is None else plan.node(node).title
    return two_texts(
        SUMMARISE_SYSTEM, titled("Step", title), titled("Result", shortened(answer, state.rules.side_input // 2))
    )


def two_texts(system: str, *parts: str) -> tuple[Turn, ...]:
    """A request of its own; empty parts are left out."""
    return (Message(Role.SYSTEM, system), Message(Role.USER, joined(parts)))


def joined(parts: Iterable[str]) -> str:
    """Parts with a line between them."""
    return "\n\n".join(part for part in parts if part)


def titled(title: str, text: str) -> str:
    """A part with its title; empty when there is nothing to tell."""
    return f"[{title}]\n{text}" if text.strip() else ""


def first_line(text: str) -> str:
    """The line that says what a tool is for."""
    return next(iter(text.strip().splitlines()), "")[:200]
