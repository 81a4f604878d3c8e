from amrita_fleet.protocols.ids import AgentId
from amrita_fleet.protocols.notices import Notice, NoticeType
from amrita_fleet.runtime.supervision.feed import NoticeFeed

NOTICE = Notice(type=NoticeType.STEP, extra_type="begun", agent=AgentId("ana"), text="")


def test_a_subscriber_is_woken_once_for_all_that_is_new() -> None:
    feed = NoticeFeed(lambda: 7.0)
    seen: list[list[int]] = []
    feed.subscribe(lambda: seen.append([notice.number for notice in feed.read(0, 10)]))
    feed.append(NOTICE, NOTICE)
    feed.wake_all()
    feed.wake_all()
    assert seen == [[1, 2]]


def test_notices_carry_the_time_of_the_feed() -> None:
    feed = NoticeFeed(lambda: 7.0)
    feed.append(NOTICE)
    assert [notice.at for notice in feed.read(0, 1)] == [7.0]


def test_nobody_is_woken_after_unsubscribing() -> None:
    feed = NoticeFeed(lambda: 0.0)
    woken: list[str] = []
    leave = feed.subscribe(lambda: woken.append("gone"))
    feed.subscribe(lambda: woken.append("here"))
    leave()
    leave()
    feed.append(NOTICE)
    feed.wake_all()
    assert woken == ["here"]


def test_nobody_is_woken_for_what_another_process_was_told() -> None:
    first = NoticeFeed(lambda: 7.0)
    first.append(NOTICE)
    woken: list[str] = []

    second = NoticeFeed(lambda: 8.0, first.state())
    second.subscribe(lambda: woken.append("news"))
    second.wake_all()
    assert woken == []
    assert second.read(0, 10) == first.read(0, 10)

    second.append(NOTICE)
    second.wake_all()
    assert woken == ["news"]
    assert [(notice.number, notice.at) for notice in second.read(0, 10)] == [(1, 7.0), (2, 8.0)]
