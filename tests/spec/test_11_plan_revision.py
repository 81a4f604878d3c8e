"""Section 11: the plan is seen, can be revised when that is possible, and failures turn into instructions."""

from collections.abc import Sequence
from typing import Any

import pytest

from amrita_fleet import UPDATE_STEP_TOOL, AmritaConfig, Ending, FunctionConfig, Tool, tool
from amrita_fleet.runtime.simulator.conversation import Answer, Conversation

from .stage import Model, calls, kinds, notes, of_kind, outputs, plans, says, stage, sums_up, together

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

PROTOCOLS = pytest.mark.parametrize("protocol", ["openai", "anthropic"])
TWO = plans(("read", "Read the file", ()), ("tell", "Tell what it says", ("read",)))
STATUS = "[Plan status]"


def broken_tool() -> Tool:
    @tool
    async def read(path: str) -> str:
        """Read a file."""
        if path == "odd":
            raise OSError("there is no such file")
        return "ERROR: the disk is gone" if path.startswith("bad") else "hello"

    return read


def statuses(conversation: Conversation) -> list[str]:
    """Each plan status in a conversation, whatever note it stands in."""
    return [f"{STATUS}{part}" for note in notes(conversation) for part in note.split(STATUS)[1:]]


def offered(model: Model) -> list[bool]:
    return ["update_step" in asked.tools for asked in model.read]


async def test_update_step_is_seen_while_a_node_of_a_plan_is_worked_on_and_only_then() -> None:
    model = Model(
        TWO, says("Read."), sums_up("read", "it"), says("Told."), sums_up("told", "it"), says("It says hello.")
    )
    async with stage(model) as scene:
        outcome, _ = await scene.play(model, plan="always")
    assert (outcome.ending, outcome.text) == (Ending.ANSWERED, "It says hello.")
    assert offered(model) == [False, True, False, True, False, False]
    assert UPDATE_STEP_TOOL.name == "update_step"


@pytest.mark.parametrize(
    ("plan", "moves"),
    [
        pytest.param("never", [says("Hello.")], id="never"),
        pytest.param("auto", [says('{"kind": "simple"}'), says("Hello.")], id="auto, and the task is simple"),
    ],
)
async def test_without_a_plan_it_is_not_offered(plan: str, moves: Sequence[Answer]) -> None:
    model = Model(*moves)
    async with stage(model) as scene:
        outcome, _ = await scene.play(model, plan=plan)
    assert (outcome.text, any(offered(model)), len(model.read)) == ("Hello.", False, len(moves))


@PROTOCOLS
async def test_the_plan_is_in_context_at_each_boundary_where_it_has_changed_and_parts_no_call_from_its_output(
    protocol: str,
) -> None:
    both = together(calls("read", path="a"), calls("read", path="b"))
    node = (both, both, says("Read."), sums_up("read", "both files"))
    model = Model(TWO, *node, says("Told."), sums_up("told", "it"), says("Done."), name="simulated-thinking")
    config = AmritaConfig(function_config=FunctionConfig(step_rounds=1))
    async with stage(model) as scene:
        fields: dict[str, Any] = {"protocol": protocol, "plan": "always", "config": config}
        outcome, notices = await scene.play(model, tools=[broken_tool()], **fields)
        assert (outcome.answered, scene.refused) == (True, 0)
    first, second, last = statuses(model.read[-1])
    assert "- [current] read: Read the file" in first
    assert "- [pending] tell: Tell what it says (needs read)" in first
    assert "- [done] read: Read the file -> read both files" in second
    assert "- [done] tell: Tell what it says (needs read) -> told it" in last
    assert kinds(notices).count("step.plan_status") == 3


async def test_nodes_run_in_an_order_in_which_what_they_need_is_done() -> None:
    backwards = plans(("tell", "Tell it", ("read", "think")), ("think", "Think", ("read",)), ("read", "Read it", ()))
    node = (says("Done."), sums_up("did", "it"))
    model = Model(backwards, *node * 3, says("All done."))
    async with stage(model) as scene:
        _, notices = await scene.play(model, plan="always")
    assert [notice.get("node") for notice in of_kind(notices, "step.intro")][:3] == ["read", "think", "tell"]


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        pytest.param((("a", "A", ("b",)), ("b", "B", ("a",))), "in a circle", id="a circle"),
        pytest.param((("a", "A", ()), ("b", "B", ("c",))), "there is no step 'c'", id="an unknown need"),
        pytest.param((("a", "A", ()), ("a", "B", ())), "several steps would have the id 'a'", id="an id twice"),
    ],
)
async def test_a_plan_that_cannot_be_is_refused_with_a_reason_and_asked_for_once_more(
    steps: tuple[tuple[str, str, tuple[str, ...]], ...], reason: str
) -> None:
    node = (says("Done."), sums_up("did", "it"))
    model = Model(plans(*steps), TWO, *node * 2, says("All done."))
    async with stage(model) as scene:
        outcome, notices = await scene.play(model, plan="always")
    (refused,) = of_kind(notices, "step.plan_refused")
    assert reason in str(refused.get("reason"))
    assert reason in model.read[1].messages[-1].content
    assert outcome.text == "All done."


@PROTOCOLS
async def test_a_tool_that_fails_is_followed_by_an_instruction_the_second_time_by_a_firmer_one(protocol: str) -> None:
    bad = together(calls("read", path="bad 1"), calls("read", path="fine"))
    worse, worst = calls("read", path="odd"), calls("read", path="bad 2")
    revised = calls("update_step", action="remove_step", id="tell")
    rest = (revised, says("It cannot be read."), sums_up("gave up", "the file"), says("There is no such file."))
    model = Model(TWO, bad, worse, worst, *rest, name="simulated-thinking")
    async with stage(model) as scene:
        outcome, notices = await scene.play(model, protocol=protocol, plan="always", tools=[broken_tool()])
        assert (outcome.text, scene.refused) == ("There is no such file.", 0)
    first, second = (str(notice.text) for notice in of_kind(notices, "step.hint"))
    assert "retry at most once, then call update_step" in first
    assert "do not retry, call update_step now" in second
    assert first in notes(model.read[2])[-1]
    assert outputs(model.read[2]) == ["ERROR: the disk is gone", "hello"]
    assert second in notes(model.read[3])[-1]
    (revision,) = of_kind(notices, "step.plan_revision")
    assert (revision.get("revision"), "tell" in str(revision.get("plan"))) == (1, False)
    assert of_kind(notices, "step.node_done")[0].get("node") == "read"


async def test_failures_are_counted_for_each_step() -> None:
    bad = calls("read", path="bad")
    node = (bad, says("No."), sums_up("tried", "it"))
    model = Model(TWO, *node, *node, says("Done."))
    async with stage(model) as scene:
        _, notices = await scene.play(model, plan="always", tools=[broken_tool()])
    assert ["retry at most once" in str(notice.text) for notice in of_kind(notices, "step.hint")] == [True, True]


async def test_without_a_plan_the_instruction_names_no_tool_that_is_not_offered() -> None:
    model = Model(calls("read", path="bad"), calls("read", path="odd"), says("It cannot be read."))
    async with stage(model) as scene:
        _, notices = await scene.play(model, tools=[broken_tool()])
    hints = [str(notice.text) for notice in of_kind(notices, "step.hint")]
    assert ["retry at most once" in hints[0], "do not retry" in hints[1]] == [True, True]
    assert not any("update_step" in hint for hint in hints)


@pytest.mark.parametrize(
    ("action", "given", "status"),
    [
        pytest.param(
            "mark_done", {"summary": "it says hello"}, "- [done] read: Read the file -> it says hello", id="done"
        ),
        pytest.param("add_step", {"id": "file", "title": "File it"}, "- [pending] file: File it", id="add"),
        pytest.param("remove_step", {"id": "tell"}, "- [current] read: Read the file", id="remove"),
        pytest.param(
            "replan",
            {
                "steps": [
                    {"id": "read", "title": "Read the file"},
                    {"id": "sing", "title": "Sing it", "needs": ["read"]},
                ]
            },
            "- [pending] sing: Sing it (needs read)",
            id="replan",
        ),
    ],
)
async def test_each_revision_changes_the_plan_at_once_and_is_told(
    action: str, given: dict[str, Any], status: str
) -> None:
    def work(asked: Conversation) -> Answer:
        if "Say what the step" in asked.system or "summar" in asked.system.casefold():
            return sums_up("did", "it")
        return says("Done.")

    model = Model(TWO, calls("update_step", action=action, **given), work)
    async with stage(model) as scene:
        outcome, notices = await scene.play(model, plan="always")
    assert outcome.ending is Ending.ANSWERED
    assert status in outputs(model.read[2])[-1]
    (revision,) = of_kind(notices, "step.plan_revision")
    assert status in str(revision.get("plan"))
    assert revision.get("revision") == 1


async def test_a_revision_that_would_leave_no_valid_plan_is_an_error_that_the_model_can_act_on() -> None:
    wrong = calls("update_step", action="add_step", id="file", title="File it", needs=["raed"])
    node = (says("Done."), sums_up("did", "it"))
    model = Model(TWO, wrong, *node * 2, says("All done."))
    async with stage(model) as scene:
        outcome, notices = await scene.play(model, plan="always")
    assert outcome.text == "All done."
    assert outputs(model.read[2])[-1].startswith("ERROR: ")
    assert "did you mean 'read'" in outputs(model.read[2])[-1]
    assert of_kind(notices, "step.plan_revision") == []
