from dataclasses import replace

from amrita_fleet.protocols.codec import decode, encode
from amrita_fleet.protocols.ids import AgentId
from amrita_fleet.protocols.notices import Notice, NoticeType
from amrita_fleet.runtime.supervision.notice_log import NoticeLog, NoticeLogState


def notice(text: str = "", at: float = 0.0) -> Notice:
    return Notice(type=NoticeType.STEP, extra_type="begun", agent=AgentId("ana"), text=text, at=at)


def filled(count: int, kept: int = 10) -> NoticeLog:
    log = NoticeLog(kept)
    for number in range(1, count + 1):
        log.append(notice(str(number)), at=0.0)
    return log


def test_notices_are_numbered_from_one_without_gaps() -> None:
    assert [(kept.number, kept.text) for kept in filled(3).read(0, 10)] == [(1, "1"), (2, "2"), (3, "3")]


def test_a_notice_keeps_its_own_time_and_gets_one_if_it_has_none() -> None:
    log = NoticeLog()
    assert log.append(notice(), at=5.0).at == 5.0
    assert log.append(notice(at=3.0), at=5.0).at == 3.0


def test_reading_goes_on_after_a_number_and_ends_after_so_many() -> None:
    assert [kept.number for kept in filled(9).read(3, 2)] == [4, 5]
    assert filled(9).read(3, 0) == filled(9).read(9, 5) == filled(9).read(99, 5) == ()


def test_below_zero_reading_begins_so_many_before_the_end() -> None:
    assert [kept.number for kept in filled(25).read(-2, 10)] == [24, 25]
    assert [kept.number for kept in filled(3).read(-9, 10)] == [1, 2, 3]
    assert NoticeLog().read(-1, 10) == ()


def test_what_was_forgotten_shows_as_a_gap() -> None:
    log = filled(25)
    assert (log.first, log.last) == (16, 25)
    assert [kept.number for kept in log.read(3, 2)] == [16, 17]


def test_an_empty_log_has_nothing_to_read() -> None:
    log = NoticeLog()
    assert (log.first, log.last, log.read(0, 5)) == (1, 0, ())


def test_long_notices_are_remembered_less_often_and_the_newest_always() -> None:
    log = NoticeLog(kept=10, characters=100)
    for text in ("a" * 40, "b" * 40, "c" * 40):
        log.append(notice(text), at=0.0)
    assert [kept.text[0] for kept in log.read(0, 10)] == ["b", "c"]

    log.append(replace(notice("d"), data={"text": "d" * 1_000}), at=0.0)
    assert [kept.number for kept in log.read(0, 10)] == [4]

    log.append(notice("e"), at=0.0)
    assert [kept.number for kept in log.read(0, 10)] == [5]


def test_a_log_goes_on_in_another_process() -> None:
    first = filled(25)

    second = NoticeLog(10, state=decode(encode(first.state()), NoticeLogState))

    assert second.state() == first.state()
    assert second.append(notice("new"), at=0.0).number == 26
    assert (second.first, second.last) == (17, 26)


def test_one_that_remembers_less_takes_the_newest() -> None:
    second = NoticeLog(2, state=filled(25).state())
    assert [kept.number for kept in second.read(0, 10)] == [24, 25]
