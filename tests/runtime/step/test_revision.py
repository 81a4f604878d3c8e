"""`update_step`: what a model can do to its plan, and what it cannot."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.runtime.errors import PlanInvalid
from amrita_fleet.runtime.step.plan import Node, NodeStatus, Plan
from amrita_fleet.runtime.step.revision import Revision, revise

DONE, FAILED, PENDING = NodeStatus.DONE, NodeStatus.FAILED, NodeStatus.PENDING

IDS = st.sampled_from("abcde") | st.integers(1, 9) | st.sampled_from(["", "two words", None])
STEP = st.fixed_dictionaries(
    {"title": st.sampled_from(["A", "B", ""])}, optional={"id": IDS, "needs": st.lists(IDS, max_size=3)}
)
CALLS = st.fixed_dictionaries(
    {"action": st.sampled_from(["mark_done", "add_step", "remove_step", "replan"])},
    optional={
        "id": IDS,
        "title": st.just("New"),
        "needs": st.lists(IDS, max_size=3),
        "summary": st.text(max_size=9),
        "steps": st.lists(STEP, max_size=4),
    },
)


def chain() -> Plan:
    """`a` is done, `b` needs it and is under way, `c` needs `b`."""
    nodes = (Node("a", "Read", status=DONE, summary="read it"), Node("b", "Sort", ("a",)), Node("c", "Write", ("b",)))
    return Plan(nodes, current="b", revision=4)


def call(plan: Plan, action: str, **given: object) -> Revision:
    return revise(plan, json.dumps({"action": action, **given}))


def refusal(plan: Plan, action: str, **given: object) -> str:
    with pytest.raises(PlanInvalid) as caught:
        call(plan, action, **given)
    return caught.value.reason


def test_mark_done_ends_the_current_step_with_its_summary() -> None:
    made = call(chain(), "mark_done", summary="sorted\nit")

    assert made.changed
    assert made.plan.node("b") == Node("b", "Sort", ("a",), DONE, "sorted it")
    assert made.plan.current is None
    assert made.plan.ready == ("c",)


def test_mark_done_takes_another_step_too_and_the_current_one_goes_on() -> None:
    made = call(chain(), "mark_done", id="c")

    assert made.plan.node("c").status is DONE
    assert made.plan.current == "b"


def test_what_failed_can_be_marked_as_done() -> None:
    made = call(chain().end("b", FAILED, "no"), "mark_done", id="b")

    assert made.plan.ready == ("c",)


def test_what_is_done_already_changes_nothing() -> None:
    made = call(chain(), "mark_done", id="a", summary="again")

    assert made == Revision(chain(), f"Step a was done already.\n\n{chain().status_text()}", changed=False)


def test_mark_done_needs_an_id_where_no_step_is_under_way() -> None:
    reason = refusal(chain().end("b", DONE, ""), "mark_done")

    assert reason == "no step is under way, so 'id' must name the one that is done"


def test_add_step_appends_one_under_its_own_id_or_a_free_one() -> None:
    named = call(chain(), "add_step", id="check", title="Check it", needs=["c"])
    twice = call(call(chain(), "add_step", title="Check it").plan, "add_step", title="Send it", id=None, needs=None)

    assert named.plan.nodes == (*chain().nodes, Node("check", "Check it", ("c",)))
    assert [each.id for each in twice.plan.nodes] == ["a", "b", "c", "4", "5"]
    assert twice.plan.current == "b"


def test_remove_step_frees_what_needed_it_and_says_so() -> None:
    made = call(chain().end("b", FAILED, "no"), "remove_step", id="b")

    assert made.plan.nodes == (chain().nodes[0], Node("c", "Write"))
    assert made.plan.ready == ("c",)
    assert made.text.startswith("Removed step b. It is no longer needed by c.")


def test_the_current_step_may_be_removed() -> None:
    assert call(chain(), "remove_step", id="b").plan.current is None
    assert call(chain(), "remove_step", id="c").plan.current == "b"


def test_replan_replaces_what_is_not_done_and_may_need_what_is() -> None:
    made = call(chain(), "replan", steps=[{"title": "Ask bob", "needs": ["a"]}, {"id": "w", "title": "Write"}])

    assert made.plan.nodes == (chain().nodes[0], Node("1", "Ask bob", ("a",)), Node("w", "Write"))
    assert made.plan.current is None
    assert made.text.startswith("Replanned: 2 to do, 1 done.")


def test_replan_tries_a_failed_step_again_where_it_is_named_again() -> None:
    made = call(chain().end("b", FAILED, "no"), "replan", steps=[{"id": "b", "title": "Sort by hand"}])

    assert made.plan.node("b") == Node("b", "Sort by hand")


def test_the_current_step_goes_on_if_it_is_in_the_new_plan_and_ready() -> None:
    kept = call(chain(), "replan", steps=[{"id": "b", "title": "Sort"}, {"id": "d", "title": "Send"}])
    held = call(chain(), "replan", steps=[{"id": "b", "title": "Sort", "needs": ["d"]}, {"id": "d", "title": "Send"}])

    assert kept.plan.current == "b"
    assert held.plan.current is None


def test_a_done_step_named_once_more_stays_but_its_id_is_not_given_to_another() -> None:
    kept = call(chain(), "replan", steps=[{"id": "a", "title": "Read"}, {"id": "d", "title": "Send", "needs": ["a"]}])

    assert kept.plan.nodes == (chain().nodes[0], Node("d", "Send", ("a",)))
    assert refusal(chain(), "replan", steps=[{"id": "a", "title": "Ask"}]).startswith("several steps would have the id")


def test_what_is_done_does_not_hold_what_it_needed_in_the_plan() -> None:
    plan = Plan((Node("a", "Read"), Node("b", "Sort", ("a",), DONE)))

    made = call(plan, "replan", steps=[{"id": "a", "title": "Read on", "needs": ["b"]}])

    assert made.plan.nodes == (Node("b", "Sort", (), DONE), Node("a", "Read on", ("b",)))


def test_the_same_plan_once_more_is_no_change() -> None:
    same = [{"id": "b", "title": "Sort", "needs": ["a"]}, {"id": "c", "title": "Write", "needs": ["b"]}]

    made = call(chain(), "replan", steps=same)

    assert not made.changed
    assert made.plan == chain()


def test_a_changed_plan_is_the_next_revision_and_the_output_ends_with_its_status() -> None:
    made = call(chain(), "add_step", title="Check it")

    assert made.plan.revision == 5
    assert made.text == f"Added step 4.\n\n{made.plan.status_text()}"


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"action": "markdone"}, "there is no action 'markdone' (did you mean 'mark_done'? there are mark_done, add_"),
        ({}, "there is no action '' (there are mark_done, add_step, remove_step, replan)"),
        ({"action": 7}, "'action' must be text"),
        ({"action": "mark_done", "step_id": "c"}, "there is no field 'step_id'"),
        ({"action": "mark_done", "id": "x"}, "there is no step 'x' (there are a, b, c)"),
        ({"action": "mark_done", "summary": ["x"]}, "'summary' must be text"),
        ({"action": "add_step"}, "the step '4' has no title"),
        ({"action": "add_step", "title": "X", "id": "a"}, "several steps would have the id 'a'"),
        ({"action": "add_step", "title": "X", "id": "d", "needs": ["d"]}, "'d' would need itself"),
        ({"action": "add_step", "title": "X", "needs": ["e"]}, "'4' would need 'e', but there is no step 'e'"),
        ({"action": "remove_step"}, "'id' must name the step to remove"),
        ({"action": "remove_step", "id": "a"}, "'a' is done, and what is done stays in the plan"),
        ({"action": "replan"}, "'steps' must be a list"),
        ({"action": "replan", "steps": []}, "'steps' must hold the steps that are still to be done"),
        (
            {
                "action": "replan",
                "steps": [{"id": "x", "title": "X", "needs": "y"}, {"id": "y", "title": "Y", "needs": "x"}],
            },
            "x, y would need one another in a circle",
        ),
        ({"action": "replan", "steps": [{"title": "X"}] * 50}, "it would have 51 steps, not 1 to 50"),
    ],
)
def test_what_cannot_be_done_is_refused_with_what_to_do_instead(given: dict[str, object], reason: str) -> None:
    with pytest.raises(PlanInvalid) as caught:
        revise(chain(), json.dumps(given))

    assert caught.value.reason.startswith(reason)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ('{"action": "mark_', "the arguments are not valid JSON (Unterminated string"),
        ("[" * 5000, "the arguments are not valid JSON"),
        ('["mark_done"]', "the arguments must be one JSON object"),
        ("  ", "there is no action ''"),
    ],
    ids=["cut", "deep", "list", "nothing"],
)
def test_arguments_that_cannot_be_read_are_refused(arguments: str, reason: str) -> None:
    with pytest.raises(PlanInvalid) as caught:
        revise(chain(), arguments)

    assert caught.value.reason.startswith(reason)


def test_the_last_step_cannot_be_removed() -> None:
    assert refusal(Plan.of([Node("a", "Read")]), "remove_step", id="a") == "it would have 0 steps, not 1 to 50"


def test_no_output_looks_like_a_failure_whatever_the_ids_are() -> None:
    plan = Plan.of([Node("ERROR:", "Read"), Node("b", "Sort")])

    assert not call(plan, "mark_done", id="ERROR:").text.startswith("ERROR")
    assert not call(plan, "remove_step", id="ERROR:").text.startswith("ERROR")


@given(calls=st.lists(CALLS, max_size=12), ends=st.lists(st.sampled_from([DONE, FAILED, PENDING])))
def test_any_sequence_of_revisions_leaves_a_plan_that_can_be_worked_off(
    calls: list[dict[str, object]], ends: list[NodeStatus]
) -> None:
    plan = chain()
    for each in calls:
        plan = work(revised(plan, json.dumps(each)), ends.pop() if ends else PENDING)
        assert_consistent(plan)
    while plan.ready:
        plan = plan.begin(plan.ready[0]).end(plan.ready[0], DONE, "")
    assert {each.id for each in plan.nodes if each.status is PENDING} == {*plan.blocked}


def revised(plan: Plan, arguments: str) -> Plan:
    """The plan after a call, or the old one where it is refused."""
    try:
        made = revise(plan, arguments)
    except PlanInvalid:
        return plan
    assert made.plan.revision == plan.revision + made.changed
    assert made.changed == (made.plan != plan)
    assert made.text.endswith(f"\n\n{made.plan.status_text()}")
    return made.plan


def work(plan: Plan, status: NodeStatus) -> Plan:
    """The plan after one ready step has begun and, if the status is not PENDING, ended."""
    if plan.current is None and plan.ready:
        plan = plan.begin(plan.ready[-1])
    return plan if plan.current is None or status is PENDING else plan.end(plan.current, status, "")


def assert_consistent(plan: Plan) -> None:
    ids = [each.id for each in plan.nodes]
    assert len({*ids}) == len(ids)
    assert all({*each.needs} <= {*ids} for each in plan.nodes)
    placed: set[str] = set()
    while more := {each.id for each in plan.nodes if {*each.needs} <= placed} - placed:
        placed |= more
    assert placed == {*ids}  # what is on a circle can never be placed
    ended = {each.id for each in plan.nodes if each.status is not PENDING}
    assert not {*plan.ready} & {*plan.blocked}
    assert not ended & {*plan.ready, *plan.blocked}
    assert plan.current is None or plan.current in plan.ready
