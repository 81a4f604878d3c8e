"""What a model says is on its agent's page while it says it, and in the transcript afterwards."""

import pytest

from amrita_fleet.protocols.insight import Said
from amrita_fleet.protocols.notices import Notice, NoticeType
from amrita_fleet.protocols.providers.base import Delta
from amrita_fleet.runtime.dashboard.opening import open_dashboard

from ..gateway.speaker import ANA, Speaker

pytest.importorskip("playwright", reason="playwright is not installed")

from playwright.async_api import expect

from ...contracts.window import CHROMIUM, PATIENCE_MS, window_at

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.slow,
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"there is no {CHROMIUM}"),
]


class Told(Speaker):
    """One that tells a notice when its transcript has changed."""

    number = 1
    news: tuple[Notice, ...] = ()

    def tell(self, *said: Said) -> None:
        self.number += 1
        self.said = said
        self.news = (Notice(NoticeType.MODEL, "replied", ANA, "replied", number=self.number, at=2.0),)

    async def notices(self, after: int, wait: float) -> tuple[Notice, ...]:
        if self.number > max(after, 1):
            return self.news
        return await super().notices(after, min(wait, 0.1))


async def test_a_reply_grows_on_the_page_and_gives_way_to_the_transcript() -> None:
    source = Told()
    serving, dashboard = await open_dashboard(source, "127.0.0.1", 0)
    async with window_at(dashboard) as at:
        await at.open("/agent/ana")
        await at.tab("Transcript")
        await at.sees("Nothing has been said yet.")
        live = at.page.locator(".af-live")
        with source.speech.reply() as take:
            take(Delta("<b>Three"))
            await expect(live).to_contain_text("<b>Three", timeout=PATIENCE_MS)
            take(Delta(" apples"))
            await expect(live).to_contain_text("<b>Three apples", timeout=PATIENCE_MS)
        source.tell(Said("assistant", "<b>Three apples"))
        await expect(live).to_be_hidden(timeout=PATIENCE_MS)
        await expect(at.page.locator(".af-turn:not(.af-live)")).to_contain_text("<b>Three apples")
    await serving.aclose()
