"""How smooth the pages are with 1,000 replayed agents, whose rows change five times a second, 200 of them each time.

A recording is played to one page in Chromium. Told are the time until the table has its rows, the browser's long tasks
(those of more than 50 ms, in which it answers nobody), what the WebSocket carries, beside what it would carry if every
change sent the whole table, and the part of a CPU that the server's process takes.
"""

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from _measure import SOURCE, arguments, finish, median, shown, table

sys.path.insert(0, SOURCE)

import itertools

from playwright.async_api import Page, async_playwright

from amrita_fleet.protocols.ids import AgentId, RunId
from amrita_fleet.protocols.notices import Notice, NoticeType
from amrita_fleet.runtime.clock import SystemClock
from amrita_fleet.runtime.dashboard.fleet_model import agent_rows
from amrita_fleet.runtime.dashboard.opening import open_dashboard
from amrita_fleet.runtime.gateway.recorded import RecordedSource
from amrita_fleet.runtime.gateway.recording import Recording

CHROMIUM = Path("/usr/bin/chromium")
AGENTS = tuple(AgentId(f"worker-{number:03}") for number in range(1000))
UPDATES = 5
"""Times a second that rows change."""

CHANGED = 200
"""Rows that change each time."""

SECONDS = 10
"""Of each turn."""

PATHS = {"fleet": "/", "messages": "/messages", "one agent": "/agent/worker-000"}

OBSERVE = """
window.longTasks = [];
new PerformanceObserver(list => window.longTasks.push(...list.getEntries().map(each => each.duration)))
  .observe({type: 'longtask', buffered: true});
"""

FRAMES = """seconds => new Promise(done => {
  const begin = performance.now(), times = [];
  const tick = now => { times.push(now); now - begin < 1000 * seconds ? requestAnimationFrame(tick) : done(times); };
  requestAnimationFrame(tick);
})"""


def recording(seconds: int) -> Recording:
    """All agents come at once; then each tick a fifth of them spends, and one in ten of those writes to the next."""
    begin, notices = time.time(), list[Notice]()

    def tell(kind: NoticeType, event: str, agent: AgentId, at: float, **data: Any) -> None:  # noqa: ANN401  facts
        notices.append(Notice(kind, event, agent, event, RunId("r"), 1, data, len(notices) + 1, at))

    for agent in AGENTS:
        tell(NoticeType.AGENT, "admitted", agent, begin, incarnation=1)
        tell(NoticeType.RUN, "started", agent, begin)
    for tick in range(seconds * UPDATES):
        first = tick * CHANGED % len(AGENTS)
        for place in range(first, first + CHANGED):
            agent, at = AGENTS[place], begin + 1 + tick / UPDATES
            tell(NoticeType.MODEL, "replied", agent, at, prompt=900, completion=100)
            if place % 10 == 0:
                after = AGENTS[(place + 1) % len(AGENTS)]
                tell(NoticeType.MAIL, "sent", agent, at, id=f"m{len(notices)}", recipient=after)
    return Recording("replayed", tuple(notices))


class Socket:
    """Counts what the WebSockets of a page carry to it."""

    def __init__(self, page: Page) -> None:
        self.received = 0
        page.on("websocket", lambda socket: socket.on("framereceived", self._take))

    def _take(self, payload: str | bytes) -> None:
        self.received += len(payload)


@asynccontextmanager
async def stage(seconds: int) -> AsyncIterator[tuple[Any, str, str]]:
    """A browser, and where the recording is played."""
    source = RecordedSource(recording(seconds), SystemClock(), 1.0)
    serving, dashboard = await open_dashboard(source, "127.0.0.1", 0)
    try:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            yield browser, dashboard.url, dashboard.link
            await browser.close()
    finally:
        await serving.aclose()


async def turn(browser: Any, url: str, link: str, path: str) -> dict[str, float]:  # noqa: ANN401
    """What one page costs for so many seconds."""
    context = await browser.new_context(viewport={"width": 1280, "height": 800})
    page = await context.new_page()
    await page.add_init_script(OBSERVE)
    await page.goto(link)
    socket, begin = Socket(page), time.perf_counter()
    await page.goto(url + path)
    await page.locator(".ag-row").first.wait_for()
    first_row = time.perf_counter() - begin
    await page.wait_for_timeout(1000)
    await page.evaluate("window.longTasks.length = 0")
    received, cpu, clock = socket.received, time.process_time(), time.perf_counter()
    times: list[float] = await page.evaluate(FRAMES, SECONDS)
    passed = time.perf_counter() - clock
    long_tasks: list[float] = await page.evaluate("window.longTasks")
    gaps = sorted(after - before for before, after in itertools.pairwise(times))
    await context.close()
    return {
        "first_row": first_row,
        "long_tasks": sum(long_tasks) / (1000 * passed),
        "longest": max(long_tasks, default=0.0),
        "frame_95": gaps[int(len(gaps) * 0.95)],
        "bytes": (socket.received - received) / passed,
        "cpu": (time.process_time() - cpu) / passed,
    }


async def measure(turns: int) -> tuple[dict[str, list[dict[str, float]]], int]:
    """The turns of each page, and the bytes of the whole table of agents."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in PATHS}
    async with stage(turns * len(PATHS) * (SECONDS + 8)) as (browser, url, link):
        for _ in range(turns):
            for name, path in PATHS.items():
                found[name].append(await turn(browser, url, link, path))
    whole = RecordedSource(recording(1), SystemClock())
    return found, len(json.dumps(agent_rows(await whole.rows())))


def main() -> None:
    """Print the table, and the ratio."""
    args = arguments(__doc__)
    if not CHROMIUM.exists():
        sys.exit(f"There is no {CHROMIUM}, in which the pages are measured.")
    found, whole = asyncio.run(measure(1 if args.quick else 3))
    kinds = ("first_row", "long_tasks", "longest", "frame_95", "bytes", "cpu")
    scales = (1e3, 100, 1, 1, 1e-3, 100)
    rows = [
        [name, *(shown([each[kind] for each in turns], scale) for kind, scale in zip(kinds, scales, strict=True))]
        for name, turns in found.items()
    ]
    heads = ["first row, ms", "in long tasks, %", "longest, ms", "frame, ms, 95 of 100", "kB/s", "server, % of a CPU"]
    table(["page", *heads], rows)
    sent = median([each["bytes"] for each in found["fleet"]])
    ratio = sent / (whole * UPDATES)
    print(f"\nwhat the fleet's page is sent / the whole table with each change: {ratio:.2f}")
    finish(
        {
            "ratio": round(ratio, 2),
            **{kind: round(median([each[kind] for each in found["fleet"]]), 3) for kind in kinds},
        },
        as_json=args.json,
    )


if __name__ == "__main__":
    main()
