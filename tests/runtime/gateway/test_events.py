"""The gateway's stream of events: resumed, coalesced, never waited for, and alive while nothing happens."""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from amrita_fleet import AgentStatus, Fleet
from amrita_fleet.protocols.ids import AgentId, Incarnation
from amrita_fleet.protocols.notices import Notice, NoticeType
from amrita_fleet.protocols.providers.base import Delta
from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.gateway.events import HEARTBEAT, Cursor, Encoder, stream
from amrita_fleet.runtime.gateway.feed import Feed
from amrita_fleet.runtime.gateway.source import SystemSource
from amrita_fleet.runtime.gateway.view import KEPT, View
from amrita_fleet.runtime.local import LocalSystem

from .house import Event, House, events, house
from .speaker import Speaker

pytestmark = pytest.mark.anyio


def notice(number: int) -> Notice:
    return Notice(NoticeType.AGENT, "ready", AgentId("ana"), "", number=number)


def row(agent: str, step: int = 0) -> AgentStatus:
    return AgentStatus(AgentId(agent), Incarnation(1), "idle", since=0.0, step=step)


@asynccontextmanager
async def quiet(clock: VirtualClock) -> AsyncGenerator[Feed]:
    """A feed of a fleet in which nothing happens."""
    async with Fleet("house", system="local") as fleet:
        system = LocalSystem("quiet", None)
        await system.open()
        feed = Feed(SystemSource(fleet, system), clock)
        await feed.open()
        yield feed
        await feed.aclose()
        await system.close()


@asynccontextmanager
async def watching(at: House, path: str = "/api/events", **headers: str) -> AsyncGenerator[AsyncIterator[Event]]:
    """The events of the gateway, as they come."""
    async with asyncio.timeout(30), at.client.stream("GET", path, headers=headers) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        yield events(response)


async def taken(coming: AsyncIterator[Event], kind: str, count: int) -> list[Event]:
    """So many events of a kind."""
    found: list[Event] = []
    while len(found) < count:
        event = await anext(coming)
        found += [event] if event.kind == kind else []
    return found


async def test_a_watcher_gets_all_rows_first_and_every_notice_once() -> None:
    async with house() as at, watching(at) as coming:
        await (await at.fleet.start("ana", "How is it?")).outcome()
        told = await taken(coming, "notice", 8)
        assert [int(each.id) for each in told] == [each.data["number"] for each in told] == list(range(1, 9))


async def test_who_was_cut_off_goes_on_where_it_was() -> None:
    async with house() as at:
        async with watching(at) as coming:
            last = (await taken(coming, "notice", 3))[-1].id
        await (await at.fleet.start("ana", "How is it?")).outcome()
        async with watching(at, **{"Last-Event-ID": last}) as coming:
            assert [each.id for each in await taken(coming, "notice", 3)] == ["4", "5", "6"]
        async with watching(at, "/api/events?after=4") as coming:
            assert (await taken(coming, "notice", 1))[0].id == "5"
        async with watching(at, "/api/events?after=4", **{"Last-Event-ID": "2"}) as coming:
            assert (await taken(coming, "notice", 1))[0].id == "3"


@pytest.mark.parametrize("last", ["x", "-1", "1.5", "9" * 40, "²"])
async def test_an_event_that_is_none_is_refused(last: str) -> None:
    async with house() as at:
        found = await at.client.get("/api/events", headers=[(b"Last-Event-ID", last.encode())])
        assert found.status_code == httpx.codes.UNPROCESSABLE_ENTITY


async def test_rows_that_change_are_sent_and_those_that_do_not_are_not() -> None:
    async with house() as at, watching(at) as coming:
        (first,) = await taken(coming, "rows", 1)
        assert [each["agent"] for each in first.data["agents"]] == ["ana", "bob"]
        await at.post("/api/agents/bob/stop")
        (then,) = await taken(coming, "rows", 1)
        assert [(each["agent"], each["phase"]) for each in then.data["agents"]] == [("bob", "stopped")]


async def test_when_the_fleet_ends_the_stream_says_so_and_ends() -> None:
    async with house() as at, watching(at) as coming:
        await taken(coming, "rows", 1)
        closing = asyncio.create_task(at.fleet.close(0))
        assert (await taken(coming, "over", 1))[0].data == {"reason": "the gateway is closed"}
        with pytest.raises(StopAsyncIteration):
            await anext(coming)
        await closing


async def test_more_watchers_than_there_may_be_are_asked_to_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("amrita_fleet.runtime.gateway.app.MOST_WATCHERS", 1)
    async with house() as at, watching(at) as coming:
        await anext(coming)
        found = await at.client.get("/api/events")
        assert (found.status_code, found.json()["help"]) == (503, "docs/troubleshooting.md#toomanywatchers")


async def test_pages_that_are_open_are_no_event_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("amrita_fleet.runtime.gateway.app.MOST_WATCHERS", 1)
    async with house() as at:
        for _ in range(2):
            (await at.client.get("/", headers={"Accept": "text/html"})).raise_for_status()
        async with watching(at) as coming:
            await anext(coming)


async def test_no_more_watch_than_may_however_many_ask_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("amrita_fleet.runtime.gateway.app.MOST_WATCHERS", 2)
    async with house() as at, asyncio.timeout(30):
        asked = [at.client.build_request("GET", "/api/events") for _ in range(12)]
        found = await asyncio.gather(*(at.client.send(each, stream=True) for each in asked))
        assert sorted(each.status_code for each in found) == [200] * 2 + [503] * 10
        for each in found:
            await each.aclose()


async def test_a_watcher_who_reads_slowly_is_told_which_notices_are_forgotten_and_gets_the_newest_rows() -> None:
    view, encoder = View("house"), Encoder()
    view.notices.extend(map(notice, range(1, 4)))
    view.update([row("ana"), row("bob")], ())
    _, cursor = encoder.next(view, Cursor(0))
    view.notices.extend(map(notice, range(4, KEPT + 10)))
    for step in range(1, 5):
        view.update([row("ana", step), row("bob")], ())
    text, cursor = encoder.next(view, cursor)
    assert text.startswith('event: gap\ndata: {"first":4,"last":9,"next":10,')
    assert re.findall(r"^id: (\d+)", text, re.MULTILINE)[0] == "10"
    assert text.count("event: rows") == 1
    assert '"step":4' in text
    assert '"bob"' not in text
    while text:
        text, cursor = encoder.next(view, cursor)
    assert cursor.after == view.notices.last


async def test_nothing_new_is_nothing() -> None:
    view, encoder = View("house"), Encoder()
    view.update([row("ana")], ())
    _, cursor = encoder.next(view, Cursor(0))
    assert encoder.next(view, cursor) == ("", cursor)


async def test_an_infinity_or_half_a_character_of_somebodys_breaks_no_stream() -> None:
    view = View("house")
    strange = Notice(
        NoticeType.TOOL, "ended", AgentId("ana"), "half \ud83d\n\ndata: x", data={"n": float("inf")}, number=1
    )
    view.notices.extend([strange])
    text, _ = Encoder().next(view, Cursor(0))
    text.encode()
    first, *_ = text.split("\n\n")
    assert first.count("\n") == 2
    assert '"n":null' in first


async def test_while_nothing_happens_a_comment_says_that_the_connection_lives() -> None:
    clock = VirtualClock()
    async with quiet(clock) as feed:
        watched = stream(feed, Encoder(), 0, clock)
        assert (await anext(watched)).startswith("retry: ")
        assert "event: fleet" in await anext(watched)
        for _ in range(2):
            beat = asyncio.ensure_future(anext(watched))
            await clock.advance(HEARTBEAT - 1)
            assert not beat.done()
            await clock.advance(1)
            assert await beat == ": nothing new\n\n"
        await feed.aclose()
        assert await anext(watched) == 'event: over\ndata: {"reason":"the gateway is closed"}\n\n'
        with pytest.raises(StopAsyncIteration):
            await anext(watched)


@pytest.mark.parametrize("follow", [(), ("bob",)])
async def test_what_somebody_elses_agent_says_puts_no_comment_off(follow: tuple[str, ...]) -> None:
    clock, source = VirtualClock(), Speaker()
    feed = Feed(source, clock)
    await feed.open()
    with feed.ears.following(["ana"]) as ears, source.speech.reply() as take:
        watched = stream(feed, Encoder(), 0, clock, follow)
        while "event: fleet" not in await anext(watched):
            pass
        beat = asyncio.ensure_future(anext(watched))
        await clock.advance(HEARTBEAT - 1)
        take(Delta("Three."))
        while not ears["ana"].text:
            await feed.ears.news.wait()
        assert not beat.done()
        await clock.advance(1)
        assert beat.done()
        assert await beat == ": nothing new\n\n"
        await watched.aclose()
    await feed.aclose()


async def test_however_many_watch_the_fleet_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    statuses = LocalSystem.statuses

    async def counted(system: LocalSystem, *, fresh: bool = True) -> tuple[AgentStatus, ...]:
        asked.append("fresh" if fresh else "known")
        return await statuses(system, fresh=fresh)

    monkeypatch.setattr(LocalSystem, "statuses", counted)
    clock = VirtualClock()
    async with quiet(clock) as feed:
        assert asked == ["known"]
        await clock.advance(60)
        assert asked == ["known"], "nobody watches"
        watched = [stream(feed, Encoder(), 0, clock) for _ in range(50)]
        with feed.watching():
            for each in watched:
                await anext(each)
            await clock.advance(10)
        assert 5 <= len(asked) <= 12
        assert set(asked) == {"known"}
        for each in watched:
            await each.aclose()
        await clock.advance(5)
        before = len(asked)
        await clock.advance(60)
        assert len(asked) == before, "nobody watches any more"
        for expected in (before + 1, before + 1):  # the second time what was read is still fresh
            await asyncio.gather(*(feed.look() for _ in range(50)))
            assert len(asked) == expected
        feed.touch()
        await feed.look()
        assert len(asked) == before + 2
