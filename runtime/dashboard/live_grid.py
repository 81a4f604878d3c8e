"""A table that is told of changed rows only, so that it stays quick, sorted and in place with a thousand of them."""

import json
from collections.abc import Iterable
from typing import Any

from nicegui import ui

__all__ = ("AGE", "BIG", "SCRIPT", "TIME", "LiveGrid", "patch")

AGE = (
    "p => { const s = Math.max(0, Math.round(Date.now() / 1000 - p.value)); return s < 120 ? s + ' s' :"
    " s < 7200 ? Math.round(s / 60) + ' min' : Math.round(s / 3600) + ' h' }"
)
"""Shows a time in Unix seconds as how long ago that is."""

TIME = "p => new Date(1000 * p.value).toLocaleTimeString()"
"""Shows a time in Unix seconds as a time of the day, as the browser writes it."""

BIG = "p => p.value == null ? '' : p.value.toLocaleString('en-US')"
"""Shows a number with its thousands apart."""

OPEN = "location.href = '/agent/' + encodeURIComponent(e.data.{field})"


SIZED = "e => e.api.setColumnsVisible({fields}, e.clientWidth >= 560)"


SCRIPT = """<script>
window.afQueues = {};
window.afChange = (id, news) => {
  const queue = afQueues[id] ??= [];
  queue.push(news);
  if (queue.length === 1) afApply(id);
};
window.afApply = id => {
  const api = getElement(id)?.api, queue = afQueues[id];
  if (!api) { setTimeout(() => afApply(id), 200); return; }
  const whole = part => { const node = api.getRowNode(part.id); return node ? [{...node.data, ...part}] : []; };
  for (const news of queue) api.applyTransaction({...news, update: news.update.flatMap(whole)});
  queue.length = 0;
};
</script>"""
"""Has a table take in what has changed: rows that came or went, and fields of others. One that is not there yet gets
all of it, in order, as soon as it is."""


class LiveGrid:
    """Rows are plain data, and the field `id` tells them apart."""

    def __init__(
        self,
        columns: list[dict[str, Any]],
        rows: Iterable[dict[str, Any]],
        empty: str,
        *,
        opens: str = "",
        wide: tuple[str, ...] = (),
        options: dict[str, Any] | None = None,
    ) -> None:
        """Make it with its first rows.

        Args:
            columns: AG Grid's column definitions.
            rows: The first rows.
            empty: What is said where there are none.
            opens: The field that names an agent, whose page opens with a click or Enter; empty: none does.
            wide: Fields that are shown only where there is room for them.
            options: More of AG Grid's options.
        """
        self._rows = {row["id"]: row for row in rows}
        go = OPEN.replace("{field}", opens)
        keys = {
            ":onRowClicked": f"e => {{ {go} }}",
            ":onCellKeyDown": f"e => {{ if (e.event.key === 'Enter') {{ {go} }} }}",
        }
        self._grid = ui.aggrid(
            {
                "columnDefs": columns,
                "defaultColDef": {
                    "sortable": True,
                    "filter": True,
                    "resizable": True,
                    "suppressHeaderMenuButton": True,
                },
                "rowData": list(self._rows.values()),
                ":getRowId": "p => p.data.id",
                "overlayNoRowsTemplate": f'<span class="af-soft">{empty}</span>',
                "enableCellTextSelection": True,
                "rowHeight": 36,
                "headerHeight": 40,
                "suppressDragLeaveHidesColumns": True,
                ":onGridSizeChanged": SIZED.replace("{fields}", json.dumps(wide)),
                **(keys if opens else {}),
                **(options or {}),
            },
            auto_size_columns=False,
        ).classes("af-grid" + (" af-link" if opens else ""))

    def height(self, css: str) -> "LiveGrid":
        """How high it is."""
        self._grid.style(f"height: {css}")
        return self

    def show(self, rows: Iterable[dict[str, Any]]) -> None:
        """Have it show these rows: the fields that are other than before are sent, and nothing else."""
        now = {row["id"]: row for row in rows}
        added = [row for key, row in now.items() if key not in self._rows]
        before = self._rows
        changed = [patch(before[key], row) for key, row in now.items() if key in before and before[key] != row]
        removed = [{"id": key} for key in self._rows if key not in now]
        self._rows = now
        if added or changed or removed:
            news = json.dumps({"add": added, "update": changed, "remove": removed})
            self._grid.client.run_javascript(f"afChange({self._grid.id}, {news})")

    def refresh(self, *columns: str) -> None:
        """Have columns drawn anew that tell how long something lasts."""
        self._grid.run_grid_method("refreshCells", {"columns": list(columns), "force": True})


def patch(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """The fields of a row that are other than before, and its `id`."""
    return {"id": now["id"], **{field: value for field, value in now.items() if before.get(field) != value}}
