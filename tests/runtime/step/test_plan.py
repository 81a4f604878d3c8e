"""Steps that need one another: what cannot be a plan, what is ready, what is blocked, how it reads."""

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.protocols.codec import decode, encode
from amrita_fleet.runtime.errors import PlanInvalid
from amrita_fleet.runtime.step.plan import Node, NodeStatus, Plan

DONE, FAILED = NodeStatus.DONE, NodeStatus.FAILED


def node(node_id: str, *needs: str) -> Node:
    return Node(node_id, f"Do {node_id}", needs)


def diamond() -> Plan:
    """`top` needs both `left` and `right`, which need `base`; `aside` needs nothing."""
    return Plan.of(
        [node("top", "left", "right"), node("left", "base"), node("right", "base"), node("base"), node("aside")]
    )


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Any plan: each step needs some that come before it in an order that is not the order of the list."""
    size = draw(st.integers(1, 8))
    order = [f"n{number}" for number in range(size)]
    nodes = [
        node(each, *draw(st.lists(st.sampled_from(order[:place]), unique=True)) if place else ())
        for place, each in enumerate(order)
    ]
    return Plan.of(draw(st.permutations(nodes)))


@pytest.mark.parametrize(
    ("build", "reason"),
    [
        (lambda: Plan.of([]), "it would have 0 steps, not 1 to 50"),
        (lambda: Plan.of([node(f"n{number}") for number in range(51)]), "it would have 51 steps, not 1 to 50"),
        (lambda: Plan.of([node("a"), node("b"), node("a")]), "several steps would have the id 'a', and each needs its"),
        (
            lambda: Plan.of([node("fetch"), node("b", "fetc")]),
            "'b' would need 'fetc', but there is no step 'fetc' (did",
        ),
        (lambda: Plan.of([node("a", "zzz")]), "'a' would need 'zzz', but there is no step 'zzz' (there is no other)"),
        (lambda: Plan.of([node("a", "a")]), "'a' would need itself"),
        (lambda: Plan.of([node("z", "b"), node("a", "b"), node("b", "a")]), "b, a would need one another in a circle"),
        (lambda: Plan((node("a"), node("b", "a")), current="b"), "'b' cannot be under way before a is done"),
        (lambda: Plan((node("a"),), current="b"), "there is no step 'b' (there are a)"),
    ],
    ids=["empty", "too many", "duplicate", "unknown need", "lone unknown need", "itself", "circle", "early", "nobody"],
)
def test_what_is_no_plan_cannot_be_built(build: Callable[[], Plan], reason: str) -> None:
    with pytest.raises(PlanInvalid) as caught:
        build()

    assert caught.value.reason.startswith(reason)


@pytest.mark.parametrize("bad", ["", "two words", "a,b", "line\n", "x" * 65, "bell\a", "\ud800"], ids=ascii)
def test_an_id_fits_into_a_list_of_ids(bad: str) -> None:
    with pytest.raises(PlanInvalid, match="an id has 1 to 64 printable characters"):
        Node(bad, "Do it")


@pytest.mark.parametrize("bad", ["", "  ", "two\nlines", "end\n", "para\u2029graph", "x" * 301], ids=ascii)
def test_a_title_is_one_line(bad: str) -> None:
    with pytest.raises(PlanInvalid, match="the title of 'a' must be one line of 1 to 300 characters"):
        Node("a", bad)


@pytest.mark.parametrize("bad", ["two\nlines", "end\r", "x" * 501], ids=ascii)
def test_a_summary_is_one_line(bad: str) -> None:
    with pytest.raises(PlanInvalid, match="the summary of 'a' must be one line of 500 characters"):
        Node("a", "Do a", summary=bad)


def test_what_needs_nothing_is_ready_at_first_in_the_order_of_the_list() -> None:
    assert diamond().ready == ("base", "aside")


def test_a_step_is_ready_when_all_its_needs_are_done() -> None:
    plan = diamond().end("base", DONE, "").end("left", DONE, "")

    assert plan.ready == ("right", "aside")
    assert plan.end("right", DONE, "").ready == ("top", "aside")


def test_a_failed_step_blocks_what_needs_it_even_through_others_and_nothing_else() -> None:
    plan = diamond().end("base", DONE, "").end("left", FAILED, "")

    assert plan.blocked == ("top",)
    assert plan.ready == ("right", "aside")
    assert diamond().end("base", FAILED, "").blocked == ("top", "left", "right")


def test_a_step_that_was_done_in_spite_of_a_failed_need_blocks_nothing() -> None:
    plan = diamond().end("base", FAILED, "").end("left", DONE, "").end("right", DONE, "")

    assert plan.blocked == ()
    assert plan.ready == ("top", "aside")


def test_only_a_ready_step_can_begin() -> None:
    plan = diamond().begin("base")

    assert plan.current == "base"
    with pytest.raises(PlanInvalid, match="'top' cannot be under way before left, right is done"):
        plan.begin("top")
    with pytest.raises(PlanInvalid, match="'base' is done already"):
        plan.end("base", DONE, "").begin("base")


def test_the_current_step_ends_and_another_one_leaves_it_under_way() -> None:
    plan = diamond().begin("base")

    assert plan.end("base", DONE, "").current is None
    assert plan.end("base", FAILED, "").current is None
    assert plan.end("aside", DONE, "").current == "base"


def test_what_failed_can_be_done_after_all_but_what_is_done_stays_done() -> None:
    plan = diamond().end("base", FAILED, "").end("base", DONE, "it worked")

    assert plan.node("base").status is DONE
    with pytest.raises(PlanInvalid, match="'base' is done and cannot end as failed"):
        plan.end("base", FAILED, "")
    with pytest.raises(PlanInvalid, match="'aside' is pending and cannot end as pending"):
        plan.end("aside", NodeStatus.PENDING, "")


def test_an_unknown_id_is_refused_with_ids_like_it() -> None:
    with pytest.raises(PlanInvalid, match=r"there is no step 'rigth' \(did you mean 'right'\?\)"):
        diamond().node("rigth")


def test_a_refusal_lists_no_more_ids_than_a_model_reads() -> None:
    with pytest.raises(PlanInvalid, match=r"there are n0, n1, n2, n3, n4, n5, n6, n7, n8, n9, \.\.\.\)"):
        Plan.of([node(f"n{number}") for number in range(20)]).node("quite another")


def test_the_status_says_of_each_step_how_it_stands_and_what_it_needs() -> None:
    plan = diamond().end("base", DONE, "found\n\n3 files").end("left", FAILED, "no access").begin("right")

    assert plan.status_text().splitlines() == [
        "[Plan status]",
        "- [blocked] top: Do top (needs left, right)",
        "- [failed] left: Do left (needs base) -> no access",
        "- [current] right: Do right (needs base)",
        "- [done] base: Do base -> found 3 files",
        "- [pending] aside: Do aside",
    ]


@given(plan=plans(), summary=st.text(), data=st.data())
def test_the_status_is_one_line_a_step_and_the_same_for_the_same_plan(
    plan: Plan, summary: str, data: st.DataObject
) -> None:
    plan = plan.end(data.draw(st.sampled_from(plan.ready)), data.draw(st.sampled_from([DONE, FAILED])), summary * 20)

    lines = plan.status_text().splitlines()

    assert lines[0] == "[Plan status]"
    assert [line.split()[2].removesuffix(":") for line in lines[1:]] == [each.id for each in plan.nodes]
    assert decode(encode(plan), Plan).status_text() == plan.status_text()


@given(plan=plans(), choose=st.randoms(use_true_random=False))
def test_when_ready_steps_get_done_in_turn_all_end_done_and_none_before_its_needs(plan: Plan, choose: Random) -> None:
    while plan.ready:
        node_id = choose.choice(plan.ready)
        assert all(plan.node(need).status is DONE for need in plan.node(node_id).needs)
        plan = plan.begin(node_id).end(node_id, DONE, "")

    assert {each.status for each in plan.nodes} == {DONE}


@given(plan=plans(), ends=st.lists(st.sampled_from([DONE, FAILED]), min_size=8, max_size=8))
def test_when_some_fail_the_rest_is_done_or_blocked(plan: Plan, ends: list[NodeStatus]) -> None:
    for end in ends:
        if plan.ready:
            plan = plan.end(plan.ready[0], end, "")
        pending = {each.id for each in plan.nodes if each.status is NodeStatus.PENDING}
        assert not {*plan.ready} & {*plan.blocked}
        assert {*plan.ready, *plan.blocked} <= pending

    assert plan.ready == ()
    assert {*plan.blocked} == {each.id for each in plan.nodes if each.status is NodeStatus.PENDING}
