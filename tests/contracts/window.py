"""A browser at a fleet's pages, in which nothing may go wrong."""

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import product
from pathlib import Path
from typing import Literal

import pytest

from amrita_fleet import Fleet
from amrita_fleet.runtime.gateway.serving import Dashboard

pytest.importorskip("playwright", reason="playwright is not installed")

from playwright.async_api import ConsoleMessage, Page, async_playwright, expect

CHROMIUM = Path("/usr/bin/chromium")

PATIENCE_MS = 20_000

LOW_CONTRAST = r"""() => {
  const rgba = c => { const m = c.match(/[\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m; };
  const over = (a, b) => [0, 1, 2].map(i => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
  const part = v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
  const light = c => .2126 * part(c[0]) + .7152 * part(c[1]) + .0722 * part(c[2]);
  const found = {}, walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const text = walk.currentNode.data.trim(), el = walk.currentNode.parentElement;
    if (!text || !el.checkVisibility({checkOpacity: true, checkVisibilityCSS: true})) continue;
    if (el.closest('[aria-hidden=true], .q-icon, script, style, noscript')) continue;
    const backs = [];
    for (let at = el; at; at = at.parentElement) backs.push(rgba(getComputedStyle(at).backgroundColor));
    const back = backs.reverse().reduce((below, c) => over(c, below), [255, 255, 255, 1]);
    const fore = over(rgba(getComputedStyle(el).color), back);
    const [high, low] = [light(fore), light(back)].sort((a, b) => b - a);
    const ratio = (high + .05) / (low + .05);
    if (ratio < 4.5) found[text.slice(0, 40)] = ratio;
  }
  return found;
}"""
"""The visible texts whose contrast is below 4.5, with it (WCAG 2.2, 1.4.3)."""


SETTLED = "() => document.getAnimations().every(each => each.playState !== 'running' || !each.transitionProperty)"
"""Whether all colours are what they become."""


class Window:
    """One page of a browser that has come by the link, and what went wrong in it."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.wrong: list[str] = []
        self._url = url
        page.set_default_timeout(PATIENCE_MS)
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("console", self._said)

    def _said(self, said: ConsoleMessage) -> None:
        if said.type == "error":
            self.wrong.append(said.text)

    async def open(self, path: str) -> None:
        await self.page.goto(self._url + path)

    @asynccontextmanager
    async def beside(self) -> AsyncGenerator["Window"]:
        """Another page of the same browser, in which nothing may go wrong either."""
        made = Window(await self.page.context.new_page(), self._url)
        yield made
        self.wrong += made.wrong
        await made.page.close()

    async def sees(self, text: str | re.Pattern[str]) -> None:
        await expect(self.page.locator(".af-body")).to_contain_text(text, timeout=PATIENCE_MS)

    async def state(self, state: str | re.Pattern[str]) -> None:
        await expect(self.page.locator(".af-state")).to_have_text(state, timeout=PATIENCE_MS)

    async def readable(self) -> None:
        """See that no text is faint and nothing is wider than the page, in both colours, on a desk and in a hand."""
        colours: tuple[Literal["light", "dark"], ...] = ("light", "dark")
        for theme, width in product(colours, (1280, 400)):
            await self.page.emulate_media(color_scheme=theme)
            await self.page.set_viewport_size({"width": width, "height": 800})
            await expect(self.page.locator(f"body.body--{theme}")).to_be_attached()
            await self.page.wait_for_function(f"({SETTLED})()")
            assert await self.page.evaluate(LOW_CONTRAST) == {}
            assert await self.page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
        await self.page.set_viewport_size({"width": 1280, "height": 800})

    async def press(self, button: str) -> None:
        await self.page.get_by_role("button", name=button, exact=True).click()

    async def confirm(self, button: str) -> None:
        await self.page.get_by_role("dialog").get_by_role("button", name=button, exact=True).click()

    async def tab(self, word: str) -> None:
        await self.page.get_by_role("tab", name=word).click()

    async def write(self, label: str, text: str) -> None:
        await self.page.get_by_label(label).fill(text)


@asynccontextmanager
async def window(fleet: Fleet) -> AsyncGenerator[Window]:
    """A browser at the fleet's pages; nothing may go wrong in it."""
    async with window_at(await fleet.serve_dashboard()) as made:
        yield made


@asynccontextmanager
async def window_at(dashboard: Dashboard) -> AsyncGenerator[Window]:
    """The same at a dashboard."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        context = await browser.new_context()
        made = Window(await context.new_page(), dashboard.url)
        await made.page.goto(dashboard.link)
        yield made
        hacked: object = await made.page.evaluate("window.hacked")
        await browser.close()
    assert hacked is None
    assert made.wrong == []
