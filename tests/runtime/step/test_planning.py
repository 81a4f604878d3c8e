"""A task as a plan: how it is made, how its nodes are worked on, and how it ends."""

import json

import pytest

from amrita_fleet.protocols.messages import Finish as FinishReason
from amrita_fleet.protocols.messages import Message, Reply, Role, ToolResult, Usage
from amrita_fleet.protocols.outcome import Ending
from amrita_fleet.runtime.step.effects import CallModel, Effect, LookForMail, RunTool, WaitForMail
from amrita_fleet.runtime.step.events import MailSeen
from amrita_fleet.runtime.step.phases import Phase, Purpose, WaitFor
from amrita_fleet.runtime.step.plan import NodeStatus
from amrita_fleet.runtime.step.prompts import CANCELLED, FINAL, GIVE_UP, GIVE_UP_NODE
from amrita_fleet.runtime.step.revision import UPDATE_STEP
from amrita_fleet.runtime.step.rules import Rules

from .pairing import flaw
from .play import Line, Play, Result, call, calls, came_to, mail, plan, revise, says

AUTO, ALWAYS = Rules(plan="auto"), Rules(plan="always")
SIMPLE = says('{"kind": "simple"}')
DECOMPOSE, THINK, SUMMARISE = Purpose.DECOMPOSE, Purpose.THINK, Purpose.SUMMARISE
CIRCLE = plan(a="b", b="a")


def intros(play: Play) -> list[object]:
    """The nodes that Steps began with."""
    return [told.data["node"] for told in play.told("step.intro")]


def statuses(play: Play) -> list[str]:
    """The notes that tell how the plan stands."""
    return [text for text in play.texts if text.startswith("[Plan status]")]


def silent(*, thinking: bool) -> Reply:
    """An empty reply, as some providers give when they think."""
    message = Message(Role.ASSISTANT, "", reasoning_content="Hm." if thinking else None)
    return Reply(message, Usage(3, 4), FinishReason.STOP, "req-7")


# --- whether there is one ---------------------------------------------------------------------------------------------


def test_without_being_told_to_plan_no_hidden_call_is_made() -> None:
    play = Play([says("Done.")]).ask()

    assert play.purposes == [THINK]
    assert play.outcome.tokens == 15


@pytest.mark.parametrize("rules", [AUTO, ALWAYS], ids=["auto", "always"])
def test_a_simple_task_is_worked_on_directly_after_one_question(rules: Rules) -> None:
    play = Play([SIMPLE, says("Done.")], rules).ask("Count.")

    assert play.purposes == [DECOMPOSE, THINK]
    assert play.texts == ["Count.", "Done."]
    assert play.outcome.answered
    assert (play.outcome.rounds, play.outcome.tokens) == (1, 30), "the question is paid for, and is no round"


def test_only_auto_lets_the_model_say_that_the_task_is_simple() -> None:
    asked = {rules.plan: Play(rules=rules).ask("Count.").requests(DECOMPOSE)[0] for rules in (AUTO, ALWAYS)}

    assert '"simple"' in asked["auto"]
    assert '"simple"' not in asked["always"]
    assert all("[Task]\nCount." in text for text in asked.values())


def test_a_run_woken_by_mail_has_no_plan() -> None:
    play = Play([says("Hello.")], ALWAYS, mailbox=[mail("Hi.")]).wake()

    assert play.purposes == [THINK]


@pytest.mark.parametrize("thinking", [True, False], ids=["thinking", "not thinking"])
def test_an_empty_decomposition_runs_directly_with_the_documented_warning(thinking: bool) -> None:
    play = Play([silent(thinking=thinking), says("Done.")], AUTO).ask()

    (told,) = play.told("step.degraded")
    assert told.text == f"Empty decomposition response (request_id=req-7, thinking_content={thinking})"
    assert told.warning
    assert play.purposes == [DECOMPOSE, THINK]
    assert play.outcome.answered


def test_a_plan_that_is_none_is_refused_once_and_the_next_request_says_why() -> None:
    play = Play([CIRCLE, plan(a="", b="a")], AUTO).ask()

    first, second = play.requests(DECOMPOSE)
    assert "refused" not in first
    assert "in a circle" in second
    assert intros(play) == ["a"]
    assert play.told("step.plan_refused")[0].warning


def test_a_second_plan_that_is_none_leads_to_a_run_without_one() -> None:
    play = Play([CIRCLE, says("I would first read it."), says("Done.")], AUTO).ask()

    assert play.purposes == [DECOMPOSE, DECOMPOSE, THINK]
    assert play.outcome.answered
    assert intros(play) == [""]
    assert "kind" in play.told("step.degraded")[0].text


def test_calls_beside_a_plan_are_not_run() -> None:
    asks = Message(Role.ASSISTANT, plan(a="", b="a").message.content, (call("look"),))
    play = Play([Reply(asks, Usage(1, 1), FinishReason.CALLS, "r")], ALWAYS).ask()

    assert play.ran == []
    assert play.texts[-1].startswith("[Plan status]")


# --- its nodes --------------------------------------------------------------------------------------------------------


def run_through(*nodes: str) -> list[Line]:
    """What a model says at nodes that take one round each."""
    return [line for node in nodes for line in (says(f"{node} is found."), came_to("found", node))]


def test_nodes_run_in_topological_order_whatever_order_they_are_named_in() -> None:
    lines = [plan(d="b c", b="a", c="a", a=""), *run_through("a", "b", "c", "d"), says("All done.")]
    play = Play(lines, ALWAYS).ask()

    assert intros(play) == ["a", "b", "c", "d", ""]
    assert play.outcome.answered
    assert (play.outcome.text, play.outcome.rounds, play.outcome.steps) == ("All done.", 5, 5)
    assert flaw(play.turns) is None


def test_the_status_tells_what_each_node_came_to_and_what_it_needs() -> None:
    play = Play([plan(a="", b="a"), *run_through("a")], ALWAYS).ask()

    first, second = statuses(play)
    assert first.startswith(
        "[Plan status]\n- [current] a: Do a\n- [pending] b: Do b (needs a)\n\nWork on step a now: Do a."
    )
    assert second.startswith(
        "[Plan status]\n- [done] a: Do a -> found a\n- [current] b: Do b (needs a)\n\nWork on step b"
    )
    assert [told.data for told in play.told("step.node_done")] == [{"node": "a", "summary": "found a"}]


def test_the_end_of_the_plan_is_told_once_and_the_answer_ends_the_run() -> None:
    lines = [plan(a="", b="a"), *run_through("a", "b"), calls("look"), says("So it is.")]
    play = Play(lines, ALWAYS).ask()

    assert [text for text in play.texts if FINAL in text] == [
        f"[Plan status]\n- [done] a: Do a -> found a\n- [done] b: Do b (needs a) -> found b\n\n{FINAL}"
    ]
    assert play.purposes[-2:] == [THINK, THINK], "the final answer is not summed up"
    assert play.outcome.text == "So it is."


@pytest.mark.parametrize(
    ("reply", "how"), [(says(" "), "Empty"), (says("I compared them."), "Unparsable"), (calls("look"), "Empty")]
)
def test_a_summary_that_is_none_degrades_to_one_that_names_the_node(reply: Reply, how: str) -> None:
    play = Play([plan(a="", b="a"), says("Found."), reply], ALWAYS).ask()

    assert play.told("step.node_done")[0].data["summary"] == "Completed Do a"
    (told,) = play.told("step.degraded")
    assert told.text == f"{how} summary response (request_id=req-1, thinking_content=False)"
    assert told.warning
    assert play.ran == []


def test_a_hook_may_put_its_own_summary() -> None:
    play = Play([plan(a="", b="a"), *run_through("a")], ALWAYS)
    play.held = ()

    def first_look(play: Play, effect: Effect) -> None:
        if isinstance(effect, CallModel) and play.state.phase is Phase.SUMMARISING:
            play.held = (LookForMail,)

    play.on = first_look
    play.ask()
    op = next(iter(play.pending))
    play.held = ()
    play.feed(MailSeen(op, waits=False, summary="As the hook says."))

    assert play.told("step.node_done")[0].data["summary"] == "As the hook says."


def test_the_request_for_a_summary_has_the_node_and_its_answer_and_no_calls() -> None:
    play = Play([plan(a="", b="a"), calls("look"), says("Two files.")], ALWAYS).ask()

    (asked,) = play.requests(SUMMARISE)
    assert "[Step]\nDo a" in asked
    assert "[Result]\nTwo files." in asked
    _, turns = play.asked[-1]
    assert [turn.role for turn in turns if isinstance(turn, Message)] == [Role.SYSTEM, Role.USER]


def test_a_node_takes_as_many_rounds_as_it_needs_in_one_step() -> None:
    many: list[Line] = [calls(call("look", str(number))) for number in range(6)]
    play = Play([plan(a="", b="a"), *many], Rules(plan="always", step_rounds=2)).ask()

    assert intros(play) == ["a"]
    assert play.state.current.step_rounds == 6


def test_mail_ends_a_step_early_and_the_same_node_goes_on_without_a_new_status() -> None:
    def deliver(play: Play, effect: Effect) -> None:
        if isinstance(effect, RunTool) and not play.mailbox:
            play.mailbox.append(mail("Look here."))

    play = Play([plan(a="", b="a"), calls("look")], ALWAYS, on=deliver).ask()

    assert intros(play) == ["a", "a"]
    assert "Look here." in play.texts[-1]
    assert len(statuses(play)) == 1
    assert play.nodes == {"a": NodeStatus.PENDING, "b": NodeStatus.PENDING}


def test_a_node_may_wait_for_mail_and_goes_on_afterwards() -> None:
    lines = [plan(a="", b="a"), calls("wait"), *run_through("a", "b"), says("All done.")]
    play = Play(lines, ALWAYS, tools=lambda _: Result("", WaitFor((), 5.0))).ask()
    assert play.phase is Phase.WAITING

    play.fire(WaitForMail)

    assert intros(play) == ["a", "a", "b", ""]
    assert play.outcome.answered


def test_each_node_that_answers_has_its_own_nudge() -> None:
    lines = [plan(a="", b="a"), says(""), *run_through("a"), says(" "), *run_through("b"), says("All done.")]
    play = Play(lines, ALWAYS).ask()

    assert play.outcome.answered
    assert play.notices.count("model.empty") == 2


# --- revised ----------------------------------------------------------------------------------------------------------


def test_a_revision_stands_among_other_calls_and_the_status_only_at_the_next_boundary() -> None:
    batch = calls("look", revise("add_step", id="c", title="Do c", needs=["b"]), "look")
    play = Play([plan(a="", b="a"), batch, says("Found."), came_to("found", "a")], ALWAYS).ask()

    assert play.ran == ["look", "look"]
    assert play.outputs[1].startswith("Added step c.\n\n[Plan status]")
    (told,) = play.told("step.plan_revision")
    assert told.data["revision"] == 1
    assert [text.count("\n- ") for text in statuses(play)] == [2, 3]
    first = play.texts.index(play.outputs[0])
    assert [type(turn) for turn in play.turns[first : first + 3]] == [ToolResult] * 3
    assert flaw(play.turns) is None


def test_a_revision_that_leaves_no_plan_is_an_error_to_correct_and_changes_nothing() -> None:
    play = Play([plan(a="", b="a"), calls(revise("replan", steps=json.loads(CIRCLE.message.content)["steps"]))], ALWAYS)
    play.ask()

    assert play.outputs[0].startswith("ERROR: ")
    assert "circle" in play.outputs[0]
    assert play.told("step.plan_revision") == []
    assert play.nodes == {"a": NodeStatus.PENDING, "b": NodeStatus.PENDING}
    assert play.told("step.hint") == [], "the output says already what to do"


def test_a_node_that_the_model_marks_done_ends_with_the_batch_it_stands_in() -> None:
    play = Play([plan(a="", b="a"), calls(revise("mark_done", summary="All read"), "look")], ALWAYS).ask()

    assert intros(play) == ["a", "b"]
    assert play.ran == ["look"]
    assert "- [done] a: Do a -> All read" in statuses(play)[-1]
    assert play.purposes == [DECOMPOSE, THINK, THINK], "the model has said itself what the node came to"


def test_a_plan_may_be_revised_twice_in_one_batch_even_when_the_first_ends_the_node() -> None:
    batch = calls(revise("mark_done"), revise("add_step", id="c", title="Do c"))
    play = Play([plan(a="", b="a"), batch], ALWAYS).ask()

    assert play.ran == []
    assert [output.split(".")[0] for output in play.outputs] == ["Step a is done", "Added step c"]
    assert intros(play) == ["a", "b"]


def test_the_current_node_may_be_planned_away() -> None:
    play = Play([plan(a="", b="a"), calls(revise("replan", steps=[{"id": "x", "title": "Do x"}]))], ALWAYS).ask()

    assert intros(play) == ["a", "x"]


def test_a_revision_by_an_agent_without_a_plan_is_a_tool_like_any_other() -> None:
    play = Play([calls(revise("mark_done"))]).ask()

    assert play.ran == [UPDATE_STEP]


# --- nodes that fail --------------------------------------------------------------------------------------------------

LOOPS: list[Line] = [calls("look")] * 3


def test_a_node_that_goes_in_circles_fails_and_those_that_do_not_need_it_go_on() -> None:
    lines = [plan(a="", b="a", c=""), *LOOPS, *run_through("c"), says("Only c.")]
    play = Play(lines, Rules(plan="always", repeats=3)).ask()

    assert intros(play) == ["a", "c", ""]
    assert play.outputs[2] == CANCELLED
    assert play.texts.count(GIVE_UP_NODE) == 1
    assert GIVE_UP not in play.texts
    assert play.outcome.ending is Ending.STALLED
    assert play.outcome.text == "Only c."
    reason = "not done: a (stalled: look came again and again), b (needs a step that failed)"
    assert play.outcome.reason == reason
    assert flaw(play.turns) is None


def test_the_next_node_may_make_the_same_call_anew() -> None:
    lines = [plan(a="", b=""), *LOOPS, *LOOPS[:2], says("Found.")]
    play = Play(lines, Rules(plan="always", repeats=3)).ask()

    assert play.outputs.count(CANCELLED) == 1
    assert play.nodes == {"a": NodeStatus.FAILED, "b": NodeStatus.PENDING}
    assert play.phase is Phase.SUMMARISING


def test_an_early_boundary_does_not_make_a_repeat_forgotten() -> None:
    play = Play([plan(a="", b=""), *LOOPS], Rules(plan="always", repeats=3))
    play.mailbox.append(mail("Hello."))
    play.ask()

    assert play.outputs[-1] == CANCELLED


def test_a_repeat_in_the_batch_that_ends_its_node_does_not_end_the_run() -> None:
    lines = [plan(a="", b=""), *LOOPS[:2], calls("look", revise("mark_done"))]
    play = Play(lines, Rules(plan="always", repeats=3)).ask()

    assert play.outputs[-2] == CANCELLED
    assert intros(play) == ["a", "b"]
    assert play.nodes == {"a": NodeStatus.DONE, "b": NodeStatus.PENDING}


def test_once_the_plan_is_over_a_repeat_is_seen_across_steps() -> None:
    lines = [plan(a="", b=""), *run_through("a", "b"), *LOOPS, says("Enough.")]
    play = Play(lines, Rules(plan="always", repeats=3, step_rounds=1)).ask()

    assert play.outputs == ["look is done", "look is done", CANCELLED]
    assert play.outcome.ending is Ending.STALLED
    assert play.texts.count(GIVE_UP) == 1


def test_after_its_last_round_a_plan_ends_with_an_answer_that_knows_how_far_it_came() -> None:
    lines = [plan(a="", b="a"), *run_through("a"), says("")]
    play = Play([*lines, says("")], Rules(plan="always", rounds=2)).ask()

    assert str(play.outcome) == "limit:agent_tool_call_limit"
    assert "[done] a: Do a -> found a" in play.outcome.text


def test_a_hint_in_a_plan_names_the_tool_that_is_offered() -> None:
    fails = Result("ERROR: no such file")
    play = Play([plan(a="", b=""), calls("look"), calls("look")], ALWAYS, tools=lambda _: fails).ask()

    first, second = (told.text for told in play.told("step.hint"))
    assert "retry at most once, then call update_step" in first
    assert "do not retry, call update_step now" in second


def test_each_node_counts_its_own_failures() -> None:
    fails = Result("ERROR: no such file")
    lines = [plan(a="", b=""), calls("look"), *run_through("a"), calls("look")]
    play = Play(lines, ALWAYS, tools=lambda _: fails).ask()

    assert [told.data["failures"] for told in play.told("step.hint")] == [1, 1]
