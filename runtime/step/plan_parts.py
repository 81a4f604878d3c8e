"""The parts of a plan as a model writes them.

Models number their steps and name fields as they like: that is read wherever only one thing can be meant.
"""

import json
from collections.abc import Collection
from itertools import count

from ...protocols.messages import Json
from ..errors import PlanInvalid
from .json_in_text import JsonObject
from .plan import LONGEST_TITLE, MOST_NODES, Node, one_line

__all__ = ("free_id", "read_id", "read_needs", "read_step", "read_steps", "read_text")

NEEDS = ("needs", "depends_on", "dependencies")
"""The names a step's needs go by."""


def read_steps(steps: Json, taken: Collection[str] = ()) -> tuple[Node, ...]:
    """Steps as a model writes them; one without an id gets its number in the list, or the next that is free.

    Args:
        steps: A list of objects with `title`, and `id` and `needs` where it likes.
        taken: Ids that such numbers must not be.

    Raises:
        PlanInvalid: One of them is no step, or there are more than 50.
    """
    if not isinstance(steps, list) or len(steps) > MOST_NODES:
        raise PlanInvalid(reason=f"'steps' must be a list of at most {MOST_NODES} objects")
    objects = [each for each in steps if isinstance(each, dict)]
    if len(objects) < len(steps):
        raise PlanInvalid(reason="each step must be an object with 'id', 'title' and 'needs'")
    given = [read_id(each.get("id")) for each in objects]
    used = {*taken, *given}
    nodes: list[Node] = []
    for number, (step, node_id) in enumerate(zip(objects, given, strict=True), 1):
        nodes.append(read_step(step, node_id or free_id(used, number)))
        used.add(nodes[-1].id)
    return tuple(nodes)


def read_step(step: JsonObject, node_id: str) -> Node:
    """One step under this id.

    Raises:
        PlanInvalid: It has no title, or its needs are no list of ids.
    """
    title = read_text(step, "title", LONGEST_TITLE)
    if not title:
        raise PlanInvalid(reason=f"the step {node_id!r} has no title")
    return Node(node_id, title, read_needs(next((step[name] for name in NEEDS if name in step), None)))


def read_needs(value: Json) -> tuple[str, ...]:
    """Ids, each once: those of a list, a single one, or none."""
    ids = map(read_id, value if isinstance(value, list) else [value])
    return tuple(dict.fromkeys(each for each in ids if each))


def read_id(value: Json) -> str:
    """An id as a plan holds it; empty where there is none. Whole numbers are ids, white space becomes `_`.

    Raises:
        PlanInvalid: It is neither text nor a whole number.
    """
    match value:
        case None:
            return ""
        case str():
            return "_".join(value.split())
        case int() | float() if not isinstance(value, bool) and value == value // 1:
            return str(int(value))
        case _:
            raise PlanInvalid(reason=f"an id must be text, not {one_line(json.dumps(value), LONGEST_TITLE)}")


def free_id(used: Collection[str], number: int) -> str:
    """This number or the next that is no id yet."""
    return next(each for each in map(str, count(number)) if each not in used)


def read_text(given: JsonObject, name: str, longest: int) -> str:
    """A field's text in one line, cut; empty where it is missing.

    Raises:
        PlanInvalid: It is something else than text.
    """
    value = given.get(name)
    if value is not None and not isinstance(value, str):
        raise PlanInvalid(reason=f"{name!r} must be text")
    return one_line(value or "", longest)
