"""`update_step`: the model changes its plan.

A revision that would leave no valid plan is refused, and the plan stays as it was.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import TypeAlias, cast

from ..errors import PlanInvalid
from .json_in_text import JsonObject
from .plan import LONGEST_SUMMARY, LONGEST_TITLE, Node, NodeStatus, Plan, one_line
from .plan_parts import free_id, read_id, read_step, read_steps, read_text

__all__ = ("ACTIONS", "FIELDS", "UPDATE_STEP", "Revision", "revise")

UPDATE_STEP = "update_step"
"""The name of the tool."""

FIELDS = ("action", "id", "title", "needs", "summary", "steps")
"""What its arguments may hold."""

Change: TypeAlias = tuple[Plan, str]
"""The plan after an action, its revision not yet raised, and what was done in one sentence."""


@dataclass(frozen=True, slots=True)
class Revision:
    """What an `update_step` came to.

    Attributes:
        plan: The plan from now on; its `revision` is one higher if it changed.
        text: The tool's output. It ends with the plan's status.
        changed: Whether the plan is another one.
    """

    plan: Plan
    text: str
    changed: bool


def revise(plan: Plan, arguments: str) -> Revision:
    """Do to the plan what a call of `update_step` asks for.

    Args:
        plan: The plan, which stays as it is.
        arguments: The call's arguments as the model wrote them.

    Raises:
        PlanInvalid: The arguments cannot be read, name something that there is not, or leave no valid plan.
    """
    given = read_arguments(arguments)
    revised, said = ACTIONS[read_action(given)](plan, given)
    changed = revised != plan
    if changed:
        revised = replace(revised, revision=plan.revision + 1)
    return Revision(revised, f"{said}\n\n{revised.status_text()}", changed)


def read_arguments(arguments: str) -> JsonObject:
    """The fields that are given; models also send null for those that they leave out."""
    try:
        given: object = json.loads(arguments.strip() or "{}")
    except (ValueError, RecursionError) as error:
        raise PlanInvalid(reason=f"the arguments are not valid JSON ({error})") from None
    if not isinstance(given, dict):
        raise PlanInvalid(reason="the arguments must be one JSON object")
    fields: JsonObject = {name: value for name, value in cast("JsonObject", given).items() if value is not None}
    for name in fields:
        if name not in FIELDS:
            raise PlanInvalid(reason=nothing_like("field", name, FIELDS))
    return fields


def read_action(given: JsonObject) -> str:
    """The action's name."""
    action = read_text(given, "action", LONGEST_TITLE)
    if action not in ACTIONS:
        raise PlanInvalid(reason=nothing_like("action", action, tuple(ACTIONS)))
    return action


def nothing_like(what: str, name: str, known: tuple[str, ...]) -> str:
    """That there is no such thing, and what there is."""
    near = get_close_matches(name, known, n=1)
    guess = f"did you mean {near[0]!r}? " if near else ""
    return f"there is no {what} {one_line(name, LONGEST_TITLE)!r} ({guess}there are {', '.join(known)})"


def mark_done(plan: Plan, given: JsonObject) -> Change:
    """The step is done; the current one where none is named."""
    node_id = read_id(given.get("id")) or plan.current
    if node_id is None:
        raise PlanInvalid(reason="no step is under way, so 'id' must name the one that is done")
    if plan.node(node_id).status is NodeStatus.DONE:
        return plan, f"Step {node_id} was done already."
    summary = read_text(given, "summary", LONGEST_SUMMARY)
    return plan.end(node_id, NodeStatus.DONE, summary), f"Step {node_id} is done."


def add_step(plan: Plan, given: JsonObject) -> Change:
    """One more step, the last in the list."""
    known = [each.id for each in plan.nodes]
    node = read_step(given, read_id(given.get("id")) or free_id(known, len(known) + 1))
    return replace(plan, nodes=(*plan.nodes, node)), f"Added step {node.id}."


def remove_step(plan: Plan, given: JsonObject) -> Change:
    """One step less; what needed it no longer does."""
    node_id = read_id(given.get("id"))
    if not node_id:
        raise PlanInvalid(reason="'id' must name the step to remove")
    if plan.node(node_id).status is NodeStatus.DONE:
        raise PlanInvalid(reason=f"{node_id!r} is done, and what is done stays in the plan")
    freed = [each.id for each in plan.nodes if node_id in each.needs]
    nodes = tuple(without_needs(each, {node_id}) for each in plan.nodes if each.id != node_id)
    said = f"Removed step {node_id}." + (f" It is no longer needed by {', '.join(freed)}." if freed else "")
    return replace(plan, nodes=nodes, current=None if plan.current == node_id else plan.current), said


def replan(plan: Plan, given: JsonObject) -> Change:
    """Other steps in the place of all that is not done. The current step goes on if it is among them and still ready.

    A done step that the model names once more stays as it is. What is done needs nothing any more that is not.
    """
    done = {each.id: each for each in plan.nodes if each.status is NodeStatus.DONE}
    dropped = {each.id for each in plan.nodes} - done.keys()
    kept = tuple(without_needs(each, dropped) for each in done.values())
    steps = [each for each in read_steps(given.get("steps"), done) if not repeats(done, each)]
    if not steps:
        raise PlanInvalid(reason="'steps' must hold the steps that are still to be done, at least one")
    revised = Plan((*kept, *steps), revision=plan.revision)
    current = plan.current if plan.current in revised.ready else None
    return replace(revised, current=current), f"Replanned: {len(steps)} to do, {len(done)} done."


def repeats(done: Mapping[str, Node], step: Node) -> bool:
    """Whether the step is one that is done, named once more."""
    return step.id in done and done[step.id].title == step.title


def without_needs(node: Node, dropped: set[str]) -> Node:
    """The step without what it needs of these."""
    return replace(node, needs=tuple(each for each in node.needs if each not in dropped))


ACTIONS: Mapping[str, Callable[[Plan, JsonObject], Change]] = MappingProxyType(
    {"mark_done": mark_done, "add_step": add_step, "remove_step": remove_step, "replan": replan}
)
"""What a model can do to its plan, by name."""
