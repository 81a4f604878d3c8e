"""What of a fleet's notices tells of trouble, and how it is shown with its evidence. Pure."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from ...protocols.messages import Json
from ...protocols.notices import Notice, NoticeType

__all__ = ("alert_rows", "evidence", "is_alert")

CALM: Mapping[NoticeType, frozenset[str]] = {
    NoticeType.BUDGET: frozenset({"limited", "no_more", "soft"}),
}
"""Events of kinds that else tell of trouble."""

TROUBLE = {
    (NoticeType.AGENT, "died"),
    (NoticeType.AGENT, "quarantined"),
    (NoticeType.STEP, "stall"),
    (NoticeType.MODEL, "failed"),
    (NoticeType.TOOL, "approval"),
    (NoticeType.MAIL, "dead"),
}

LONGEST = 2000
"""Characters of a text that are shown."""


def is_alert(notice: Notice) -> bool:
    """Whether it tells of trouble, or that a person is waited for."""
    if notice.type in {NoticeType.WATCH, NoticeType.BUDGET}:
        return notice.extra_type not in CALM.get(notice.type, ())
    return (notice.type, notice.extra_type) in TROUBLE


def evidence(data: Mapping[str, Json]) -> str:
    """A notice's facts on one line; what says nothing is left out."""
    said = {name: value for name, value in data.items() if value not in (None, "", [], {})}
    shown = ", ".join(
        f"{name} {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in said.items()
    )
    return shown[:LONGEST]


def alert_rows(alerts: Iterable[Notice]) -> list[dict[str, Any]]:
    """A row for each: `id` is its number, `at` in Unix seconds."""
    return [
        {
            "id": str(each.number),
            "number": each.number,
            "at": each.at,
            "agent": each.agent,
            "kind": f"{each.type}.{each.extra_type}",
            "text": each.text[:LONGEST],
            "evidence": evidence(each.data),
        }
        for each in alerts
    ]
