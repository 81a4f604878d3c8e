"""A plan: steps that need one another, as a value that cannot be wrong.

Ids are unique, every need is a step of the plan, nothing needs itself, directly or through others, and the current
step is one whose needs are done. Every way to a plan passes that check, so the core never meets another.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from enum import StrEnum
from graphlib import CycleError, TopologicalSorter

from ..errors import PlanInvalid

__all__ = ("LONGEST_SUMMARY", "LONGEST_TITLE", "MOST_NODES", "Node", "NodeStatus", "Plan", "one_line")

MOST_NODES = 50
"""Steps a plan has at most."""

LONGEST_TITLE = 300
"""Characters of a title at most."""

LONGEST_SUMMARY = 500
"""Characters of a summary at most."""

IDS_SHOWN = 10
"""Ids that a refusal lists, when none is near."""

ID = re.compile(r"[^\s,]{1,64}")

HEAD = "[Plan status]"


class NodeStatus(StrEnum):
    """What became of a step of a plan."""

    PENDING = "pending"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Node:
    """One step of a plan.

    Attributes:
        id: 1 to 64 printable characters without white space and commas.
        title: What is to be done: one line of at most 300 characters.
        needs: Ids of the steps whose results it uses.
        summary: What came of it: at most one line of 500 characters.
    """

    id: str
    title: str
    needs: tuple[str, ...] = ()
    status: NodeStatus = NodeStatus.PENDING
    summary: str = ""

    def __post_init__(self) -> None:
        """Refuse what would not fit into its line of the status.

        Raises:
            PlanInvalid: The id, the title or the summary cannot be so.
        """
        if not (ID.fullmatch(self.id) and self.id.isprintable()):
            shown = one_line(self.id, LONGEST_TITLE)
            what = "1 to 64 printable characters without white space and commas"
            raise PlanInvalid(reason=f"an id has {what}, and {shown!r} is none")
        if not self.title.strip() or self.title.splitlines() != [self.title] or len(self.title) > LONGEST_TITLE:
            raise PlanInvalid(reason=f"the title of {self.id!r} must be one line of 1 to {LONGEST_TITLE} characters")
        if self.summary.splitlines() not in ([], [self.summary]) or len(self.summary) > LONGEST_SUMMARY:
            raise PlanInvalid(reason=f"the summary of {self.id!r} must be one line of {LONGEST_SUMMARY} characters")


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps in the order in which they were named.

    Attributes:
        current: The step under way, which is pending and whose needs are done.
        revision: How often the model has changed the plan.
    """

    nodes: tuple[Node, ...]
    current: str | None = None
    revision: int = 0

    def __post_init__(self) -> None:
        """Refuse what is no plan.

        Raises:
            PlanInvalid: It has no steps or more than 50, an id twice, an unknown need, a circle of needs, or a current
                step that cannot be under way.
        """
        check_ids(self.nodes)
        check_needs(self.nodes)
        if self.current is not None:
            self._check_ready(self.current)

    @classmethod
    def of(cls, nodes: Iterable[Node]) -> "Plan":
        """A plan of these steps, none of them under way.

        Raises:
            PlanInvalid: It has no steps or more than 50, an id twice, an unknown need or a circle of needs.
        """
        return cls(tuple(nodes))

    @property
    def ready(self) -> tuple[str, ...]:
        """Pending steps whose needs are all done. None of them needs another, so any order of them is topological."""
        done = self._ids(NodeStatus.DONE)
        return tuple(each.id for each in self._pending if done.issuperset(each.needs))

    @property
    def blocked(self) -> tuple[str, ...]:
        """Pending steps that need, directly or through other pending ones, a failed step."""
        lost = self._ids(NodeStatus.FAILED)
        while more := {each.id for each in self._pending if each.id not in lost and lost.intersection(each.needs)}:
            lost |= more
        return tuple(each.id for each in self._pending if each.id in lost)

    def node(self, node_id: str) -> Node:
        """The step with this id.

        Raises:
            PlanInvalid: There is none; the reason names ids like it.
        """
        for each in self.nodes:
            if each.id == node_id:
                return each
        raise PlanInvalid(reason=unknown(node_id, [each.id for each in self.nodes]))

    def begin(self, node_id: str) -> "Plan":
        """The plan with this step under way.

        Raises:
            PlanInvalid: There is no such step, it has ended, or what it needs is not done.
        """
        return replace(self, current=node_id)

    def end(self, node_id: str, status: NodeStatus, summary: str) -> "Plan":
        """The plan with this step done or failed; if it was under way, none is now.

        Args:
            node_id: A step that is not done yet. One that failed may be done after all.
            status: Not PENDING.
            summary: What came of it. It is made one line and cut.

        Raises:
            PlanInvalid: There is no such step, or it is done already.
        """
        node = self.node(node_id)
        if node.status is NodeStatus.DONE or status is NodeStatus.PENDING:
            raise PlanInvalid(reason=f"{node_id!r} is {node.status} and cannot end as {status}")
        ended = replace(node, status=status, summary=one_line(summary, LONGEST_SUMMARY))
        nodes = tuple(ended if each is node else each for each in self.nodes)
        return replace(self, nodes=nodes, current=None if self.current == node_id else self.current)

    def status_text(self) -> str:
        """A head, and one line for each step: how it stands, id, title, what it needs, and what came of it."""
        marks = dict.fromkeys(self.blocked, "blocked")
        if self.current is not None:
            marks[self.current] = "current"
        return "\n".join((HEAD, *(line(each, marks.get(each.id, each.status)) for each in self.nodes)))

    @property
    def _pending(self) -> tuple[Node, ...]:
        return tuple(each for each in self.nodes if each.status is NodeStatus.PENDING)

    def _ids(self, status: NodeStatus) -> set[str]:
        return {each.id for each in self.nodes if each.status is status}

    def _check_ready(self, node_id: str) -> None:
        node = self.node(node_id)
        if node.status is not NodeStatus.PENDING:
            raise PlanInvalid(reason=f"{node_id!r} is {node.status} already and cannot be under way")
        if open_needs := [need for need in node.needs if need not in self._ids(NodeStatus.DONE)]:
            raise PlanInvalid(reason=f"{node_id!r} cannot be under way before {', '.join(open_needs)} is done")


def check_ids(nodes: tuple[Node, ...]) -> None:
    """Refuse too few steps, too many, and an id that two of them have."""
    if not 0 < len(nodes) <= MOST_NODES:
        raise PlanInvalid(reason=f"it would have {len(nodes)} steps, not 1 to {MOST_NODES}")
    ids = [each.id for each in nodes]
    if twice := [each for each in dict.fromkeys(ids) if ids.count(each) > 1]:
        raise PlanInvalid(reason=f"several steps would have the id {twice[0]!r}, and each needs its own")


def check_needs(nodes: tuple[Node, ...]) -> None:
    """Refuse needs that are no steps, and circles of needs."""
    graph = {each.id: each.needs for each in nodes}
    for node_id, needs in graph.items():
        if strangers := [need for need in needs if need not in graph]:
            what = unknown(strangers[0], [each for each in graph if each != node_id])
            raise PlanInvalid(reason=f"{node_id!r} would need {one_line(strangers[0], LONGEST_TITLE)!r}, but {what}")
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        _, (*circle, _) = error.args
        raise PlanInvalid(reason=circular(circle)) from None


def circular(circle: list[str]) -> str:
    """That these need one another; each is needed by the one after it, the last by the first."""
    if len(circle) == 1:
        return f"{circle[0]!r} would need itself"
    return f"{', '.join(circle)} would need one another in a circle, so none could ever begin"


def unknown(node_id: str, known: list[str]) -> str:
    """That there is no such step, with ids like it, or some of those there are."""
    if near := get_close_matches(node_id, known):
        advice = f"did you mean {' or '.join(map(repr, near))}?"
    else:
        rest = ", ..." if len(known) > IDS_SHOWN else ""
        advice = f"there are {', '.join(known[:IDS_SHOWN])}{rest}" if known else "there is no other"
    return f"there is no step {one_line(node_id, LONGEST_TITLE)!r} ({advice})"


def line(node: Node, mark: str) -> str:
    """How a step stands, in one line."""
    needs = f" (needs {', '.join(node.needs)})" if node.needs else ""
    summary = f" -> {node.summary}" if node.summary else ""
    return f"- [{mark}] {node.id}: {node.title}{needs}{summary}"


def one_line(text: str, longest: int) -> str:
    """The text in one line of at most `longest` characters; where it is cut, it ends with three dots."""
    flat = " ".join(text.split())
    return flat if len(flat) <= longest else f"{flat[: longest - 3]}..."
