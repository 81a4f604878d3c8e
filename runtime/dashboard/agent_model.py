"""What the page of one agent shows: its notices as a timeline by Step, and what is known of it. Pure."""

from collections.abc import Iterable
from typing import Any

from ...protocols.checkin import AgentStatus
from ...protocols.insight import Letter
from ...protocols.notices import Notice
from .alerts_model import LONGEST, evidence, is_alert
from .correspondence import Unread

__all__ = ("facts", "letter_rows", "timeline_rows", "unread_rows")


def timeline_rows(notices: Iterable[Notice]) -> list[dict[str, Any]]:
    """A row for each notice; `first` marks those that begin another Step, or a run in the same one."""
    rows: list[dict[str, Any]] = []
    before: tuple[object, int] | None = None
    for each in notices:
        here = (each.run, each.step)
        rows.append({
            "id": str(each.number),
            "number": each.number,
            "at": each.at,
            "step": each.step,
            "first": here != before,
            "kind": f"{each.type}.{each.extra_type}",
            "group": str(each.type),
            "bad": is_alert(each),
            "text": each.text[:LONGEST],
            "evidence": evidence(each.data),
        })  # fmt: skip
        before = here
    return rows


def facts(row: AgentStatus) -> tuple[tuple[str, str], ...]:
    """What is known of an agent, by name."""
    tokens = f"{row.tokens:,}" if row.limit is None else f"{row.tokens:,} of {row.limit:,}"
    return (
        ("Step", f"{row.step:,}"),
        ("life", f"{row.incarnation}"),
        ("mail", f"{row.waiting:,} waiting, {row.consumed:,} read, {row.sent:,} sent"),
        ("tokens", tokens),
        ("limits", "none" if row.limits is None else str(row.limits)),
        ("tools now", ", ".join(row.tools) or "none"),
        ("runs", f"{len(row.runs):,}"),
        *([("node", row.node)] if row.node else []),
    )


def letter_rows(letters: Iterable[Letter]) -> list[dict[str, Any]]:
    """A row for each message that waits: `at` in Unix seconds."""
    return [
        {"id": each.id, "sender": each.sender, "kind": each.kind, "at": each.created, "text": shown(each)}
        for each in letters
    ]


def shown(letter: Letter) -> str:
    """As much of its text as there is room for, and how much that leaves out."""
    left = max(0, len(letter.body) - LONGEST) + letter.cut
    return f"{letter.body[:LONGEST]} ... ({left:,} characters more)" if left else letter.body


def unread_rows(unread: Iterable[Unread], recipient: str) -> list[dict[str, Any]]:
    """The same of what notices tell of an agent's mail, which is not what it says."""
    return [
        {"id": each.id, "sender": each.sender, "kind": "", "at": each.at, "text": ""}
        for each in unread
        if each.recipient == recipient
    ]
