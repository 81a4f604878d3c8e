"""The gateway's copy of a fleet: whoever reads it, at whatever pace, misses nothing without being told."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet import AgentStatus
from amrita_fleet.protocols.ids import AgentId, Incarnation
from amrita_fleet.protocols.notices import Notice, NoticeType
from amrita_fleet.runtime.gateway.view import Gap, NoticeRing, Rows


def notice(number: int, text: str = "") -> Notice:
    return Notice(NoticeType.AGENT, "ready", AgentId("ana"), text, number=number)


def row(agent: str, step: int = 0) -> AgentStatus:
    return AgentStatus(AgentId(agent), Incarnation(1), "idle", since=0.0, step=step)


def numbers(ring: NoticeRing, after: int, most: int = 100) -> list[int]:
    return [each.number for each in ring.read(after, most).notices]


@given(
    kept=st.integers(1, 8),
    acts=st.lists(
        st.one_of(st.tuples(st.just("come"), st.integers(1, 12)), st.tuples(st.just("read"), st.integers(1, 5)))
    ),
    forgotten=st.sets(st.integers(1, 100)),
)
def test_a_reader_at_any_pace_gets_each_number_once_or_a_gap_that_names_exactly_what_it_missed(
    kept: int, acts: list[tuple[str, int]], forgotten: set[int]
) -> None:
    ring, came, after = NoticeRing(kept), 0, 0
    seen: list[int] = []

    def read(most: int) -> int:
        nonlocal after
        page = ring.read(after, most)
        assert len(page.notices) <= most
        if page.gap is not None:
            seen.extend(range(page.gap.first, page.gap.last + 1))
            held = {each.number for each in ring.read(0, kept).notices}
            assert not held & set(range(page.gap.first, page.gap.last + 1))
        seen.extend(each.number for each in page.notices)
        after = page.after
        return len(page.notices)

    for act, count in acts:
        if act == "come":
            ring.extend(notice(number) for number in range(came + 1, came + count + 1) if number not in forgotten)
            came += count
        else:
            read(count)
    while read(3):
        pass
    assert seen == list(range(1, ring.last + 1))


def test_what_comes_twice_is_kept_once() -> None:
    ring = NoticeRing()
    assert ring.extend([notice(1), notice(2)])
    assert not ring.extend([notice(1), notice(2)])
    assert numbers(ring, 0) == [1, 2]


def test_below_zero_it_is_counted_from_the_end() -> None:
    ring = NoticeRing()
    ring.extend(map(notice, range(1, 6)))
    assert numbers(ring, -2) == [4, 5]
    assert numbers(ring, -9) == [1, 2, 3, 4, 5]


def test_who_is_ahead_has_read_another_fleet_and_goes_on_with_the_next_one() -> None:
    ring = NoticeRing()
    ring.extend(map(notice, range(1, 4)))
    after = ring.read(700, 10).after
    ring.extend([notice(4)])
    assert numbers(ring, after) == [4]


def test_what_the_fleet_had_forgotten_before_is_a_gap_too() -> None:
    ring = NoticeRing()
    ring.extend([notice(50), notice(51)])
    assert ring.read(0, 10).gap == Gap(1, 49)
    assert ring.read(49, 10).gap is None


def test_a_page_ends_where_numbers_are_missing_and_the_next_one_names_them() -> None:
    ring = NoticeRing()
    ring.extend([notice(1), notice(2), notice(7), notice(8)])
    page = ring.read(0, 10)
    assert ([each.number for each in page.notices], page.gap) == ([1, 2], None)
    page = ring.read(page.after, 10)
    assert ([each.number for each in page.notices], page.gap) == ([7, 8], Gap(3, 6))


def test_long_texts_are_forgotten_earlier_but_never_the_newest() -> None:
    ring = NoticeRing(kept=10, characters=100)
    ring.extend([notice(1, "x" * 60), notice(2, "x" * 60), notice(3, "x" * 500)])
    assert numbers(ring, 0) == [3]


@given(
    st.lists(st.one_of(st.dictionaries(st.sampled_from("abcd"), st.integers(0, 2), min_size=1), st.none()), max_size=30)
)
def test_who_takes_what_has_changed_now_and_then_has_the_rows_as_they_are(acts: list[dict[str, int] | None]) -> None:
    rows, whole, mine, version = Rows(), dict[str, AgentStatus](), dict[str, AgentStatus](), 0
    for act in acts:
        if act is None:
            mine |= {each.agent: each for each in rows.since(version)}
            version = rows.version
            assert mine == whole
        else:
            changed = {agent: row(agent, step) for agent, step in act.items()}
            assert rows.update((whole | changed).values()) is (whole | changed != whole)
            whole |= changed


def test_rows_that_have_not_changed_are_not_sent_again() -> None:
    rows = Rows()
    rows.update([row("ana"), row("bob")])
    version = rows.version
    assert not rows.update([row("ana"), row("bob")])
    assert rows.since(version) == ()
    rows.update([row("ana"), replace(row("bob"), step=1)])
    assert rows.since(version) == (row("bob", 1),)
    assert [each.agent for each in rows.all()] == ["ana", "bob"]


@pytest.mark.parametrize("name", ["", "bo", "../ana"])
def test_an_agent_that_is_not_there_has_no_row(name: str) -> None:
    rows = Rows()
    rows.update([row("bob")])
    assert rows.find(name) is None
