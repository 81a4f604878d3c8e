"""What the Messages API demands of the order of messages, calls, results and thinking blocks.

Source: error texts of the Messages API; Anthropic's guide, "Extended thinking with tool use".
"""

from collections.abc import Sequence

from . import seal
from .anthropic_turn import Result, Thinking, Turn
from .errors import Refused

__all__ = ("check_order", "check_pairs", "check_thinking")

FIRST = 'messages: first message must use the "user" role'
PREFILL = "This model does not support assistant message prefill. The conversation must end with a user message."
NOT_UNIQUE = "messages: `tool_use` ids must be unique"
UNANSWERED = (
    "`tool_use` ids were found without `tool_result` blocks immediately after: {}. "
    "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
)
ORPHAN = (
    "unexpected `tool_use_id` found in `tool_result` blocks: {}. "
    "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
)
TWICE = "each tool_use must have a single result. Found multiple `tool_result` blocks with id: {}"
UNTHOUGHT = (
    "Expected `thinking` or `redacted_thinking`, but found `{}`. When `thinking` is enabled, a final `assistant` "
    "message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). "
    "We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`."
)
FORGED = "Invalid `signature` in `thinking` block"
MODIFIED = (
    "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
    "These blocks must remain as they were in the original response."
)


def check_order(turns: Sequence[Turn]) -> None:
    """A user begins and a user ends; turns of one role may follow each other."""
    if turns[0].role != "user":
        raise Refused(message=FIRST, param="messages.0.role")
    if turns[-1].role != "user":
        raise Refused(message=PREFILL, param=f"messages.{len(turns) - 1}.role")


def check_pairs(turns: Sequence[Turn]) -> None:
    """The message after calls begins with all their results, and results stand nowhere else."""
    ids = [call.id for turn in turns for call in turn.calls]
    if len(set(ids)) < len(ids):
        raise Refused(message=NOT_UNIQUE, param="messages")
    awaited: tuple[str, ...] = ()
    for place, turn in enumerate(turns):
        check_answered(awaited, leading_results(turn), place)
        check_results(turn, place, awaited)
        awaited = tuple(call.id for call in turn.calls)
    check_answered(awaited, (), len(turns))


def check_answered(awaited: Sequence[str], results: Sequence[Result], place: int) -> None:
    """The results at the beginning of message `place` answer all calls of the one before."""
    answered = {result.call_id for result in results}
    if missing := [identifier for identifier in awaited if identifier not in answered]:
        path = f"messages.{place - 1}"
        raise Refused(message=f"{path}: {UNANSWERED.format(', '.join(missing))}", param=path)


def leading_results(turn: Turn) -> tuple[Result, ...]:
    """The results at the very beginning of a message."""
    others = [place for place, block in enumerate(turn.blocks) if not isinstance(block, Result)]
    return turn.results[: others[0]] if others else turn.results


def check_results(turn: Turn, place: int, awaited: Sequence[str]) -> None:
    """Each result answers a call of the previous message, and no other result did."""
    answered: set[str] = set()
    for number, block in enumerate(turn.blocks):
        if not isinstance(block, Result):
            continue
        path = f"messages.{place}.content.{number}"
        if block.call_id not in awaited:
            raise Refused(message=f"{path}: {ORPHAN.format(block.call_id)}", param=path)
        if block.call_id in answered:
            raise Refused(message=f"{path}: {TWICE.format(block.call_id)}", param=path)
        answered.add(block.call_id)


def check_thinking(turns: Sequence[Turn], *, thinking: bool) -> None:
    """Thinking blocks are as the simulator gave them; in thinking mode those of the open tool loop are all there.

    The open tool loop begins after the last user message that brings no results: what was thought before it may go.
    """
    asked = max((place for place, turn in enumerate(turns) if turn.role == "user" and not turn.results), default=-1)
    for place, turn in enumerate(turns):
        for number, block in enumerate(turn.blocks):
            if isinstance(block, Thinking):
                check_seal(block, turn, f"messages.{place}.content.{number}")
        if thinking and place > asked and turn.calls and not isinstance(turn.blocks[0], Thinking):
            path = f"messages.{place}.content.0.type"
            found = "text" if turn.text else "tool_use"
            raise Refused(message=f"{path}: {UNTHOUGHT.format(found)}", param=path)


def check_seal(block: Thinking, turn: Turn, path: str) -> None:
    """The signature signs this reasoning, and the calls beside it came with it."""
    if not block.signature and not block.text:
        return  # redacted: another provider's, nothing to check
    if block.signature != seal.signature(block.text):
        raise Refused(message=f"{path}: {FORGED}", param=path)
    if any(seal.broken(call.id, block.text) for call in turn.calls):
        raise Refused(message=f"{path}: {MODIFIED}", param=path)
