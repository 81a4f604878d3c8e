"""Section 1: an agent that calls the same tool again and again is stopped, inside the loop and early."""

from itertools import count, cycle

import pytest

from amrita_fleet import AmritaConfig, BuiltinConfig, Ending, FunctionConfig, Limit, Tool, tool
from amrita_fleet.runtime.simulator.conversation import Answer, Conversation

from .stage import Model, calls, kinds, notes, of_kind, outputs, plans, says, stage, sums_up, together

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

CANCELLED = "Cancelled: Reach the max limit of repeatly calling tool."


class Looking:
    """A tool that counts how often it ran."""

    def __init__(self, *, changing: bool = False, polling: bool = False) -> None:
        self.ran = 0
        self._changing = changing
        self.tool = self._made(polling=polling)

    def _made(self, *, polling: bool) -> Tool:
        @tool(polling=polling)
        async def look(path: str, depth: int = 0) -> str:
            """Look at a path."""
            self.ran += 1
            return f"{path} at {depth}: {self.ran if self._changing else 'nothing new'}"

        return look


def config(*, trigger: int = 3, rounds: int = 20, step_rounds: int = 20) -> AmritaConfig:
    return AmritaConfig(
        builtin=BuiltinConfig(loop_reasoning_trigger=trigger),
        function_config=FunctionConfig(agent_tool_call_limit=rounds, step_rounds=step_rounds),
    )


def unless_tools_are_off(*wanted: Answer) -> Model:
    """A model that does the same for ever, and answers only when it can call nothing."""
    circle = cycle(wanted)
    return Model(lambda asked: next(circle) if asked.tools else says("I give up."))


async def test_the_nth_identical_call_is_cancelled_before_it_runs_in_exactly_these_words() -> None:
    looking, model = Looking(), unless_tools_are_off(calls("look", path="/"))
    async with stage(model) as scene:
        outcome, notices = await scene.play(model, tools=[looking.tool], config=config(trigger=3))
        assert scene.refused == 0
    assert (outcome.ending, outcome.text, looking.ran) == (Ending.STALLED, "I give up.", 2)
    assert outputs(model.read[-1]) == ["/ at 0: nothing new", "/ at 0: nothing new", CANCELLED]
    assert [notice.get("text") for notice in of_kind(notices, "tool.cancelled")] == [f"look: {CANCELLED}"]


async def test_the_stall_is_told_and_the_give_up_prompt_is_given_once_with_tools_off() -> None:
    looking, model = Looking(), unless_tools_are_off(calls("look", path="/"))
    async with stage(model) as scene:
        _, notices = await scene.play(model, "Look.", tools=[looking.tool], config=config())
    (stall,) = of_kind(notices, "step.stall")
    assert stall.get("tool") == "look"
    task, hint, give_up = notes(model.read[-1])
    assert (task, "Stop calling tools now" in give_up) == ("Look.", True)
    assert hint.startswith("You have called look 2 times in a row with the same arguments. Call number 3 will be")
    assert [bool(asked.tools) for asked in model.read] == [True, True, True, False]


async def test_the_stall_is_found_inside_the_loop_not_when_the_step_is_left() -> None:
    looking, model = Looking(), unless_tools_are_off(calls("look", path="/"))
    async with stage(model) as scene:
        outcome, notices = await scene.play(model, tools=[looking.tool], config=config(step_rounds=20, rounds=20))
    assert (outcome.steps, outcome.rounds) == (1, 3)
    assert kinds(notices).count("step.intro") == 1


async def test_a_model_that_repeats_one_call_a_step_is_seen_too() -> None:
    looking, model = Looking(), unless_tools_are_off(calls("look", path="/"))
    async with stage(model) as scene:
        outcome, _ = await scene.play(model, tools=[looking.tool], config=config(step_rounds=1))
    assert (outcome.ending, looking.ran) == (Ending.STALLED, 2)
    assert outcome.steps > 1


async def test_the_loop_stops_after_its_rounds_whatever_the_stall_detection_sees() -> None:
    looking, model = Looking(), unless_tools_are_off(calls("look", path="/"))
    async with stage(model) as scene:
        outcome, notices = await scene.play(model, tools=[looking.tool], config=config(trigger=50, rounds=5))
    assert (str(outcome), looking.ran) == ("limit:agent_tool_call_limit", 5)
    assert outcome.limit is Limit.ROUNDS
    assert of_kind(notices, "step.stall") == []


async def test_every_run_is_limited_even_where_each_call_is_new() -> None:
    looking, paths = Looking(), count()

    def new_path(asked: Conversation) -> Answer:
        return calls("look", path=f"/{next(paths)}") if asked.tools else says("Not everything was seen.")

    model = Model(new_path)
    async with stage(model) as scene:
        outcome, _ = await scene.play(model, tools=[looking.tool])
    assert (str(outcome), looking.ran) == ("limit:agent_tool_call_limit", 10)
    assert outcome.text == "Not everything was seen."


async def test_other_orders_of_keys_and_forms_of_numbers_do_not_hide_a_repeat() -> None:
    forms = (calls("look", path="/", depth=1), calls("look", depth=1, path="/"), calls("look", path="/", depth=1.0))
    looking, model = Looking(), Model(*forms, says("I give up."))
    async with stage(model) as scene:
        outcome, _ = await scene.play(model, tools=[looking.tool], config=config(trigger=3))
    assert (outcome.ending, looking.ran) == (Ending.STALLED, 2)


async def test_identical_calls_in_one_reply_count_as_well() -> None:
    looking, model = Looking(), Model(together(*[calls("look", path="/")] * 4), says("I give up."))
    async with stage(model) as scene:
        outcome, _ = await scene.play(model, tools=[looking.tool], config=config(trigger=3))
        assert scene.refused == 0
    assert (outcome.ending, looking.ran) == (Ending.STALLED, 2)
    assert outputs(model.read[-1])[2:] == [CANCELLED, CANCELLED]


async def test_going_to_and_fro_between_two_calls_is_a_stall() -> None:
    looking, model = Looking(), unless_tools_are_off(calls("look", path="/a"), calls("look", path="/b"))
    async with stage(model) as scene:
        outcome, notices = await scene.play(model, tools=[looking.tool], config=config(trigger=3))
    assert outcome.ending is Ending.STALLED
    assert [notice.get("period") for notice in of_kind(notices, "step.stall")] == [2]


async def test_a_set_of_calls_that_comes_again_and_again_is_a_stall_in_whatever_order() -> None:
    a, b = calls("look", path="/a"), calls("look", path="/b")
    looking, model = Looking(), unless_tools_are_off(together(a, b), together(b, a))
    async with stage(model) as scene:
        outcome, _ = await scene.play(model, tools=[looking.tool], config=config(trigger=3))
        assert scene.refused == 0
    assert (outcome.ending, outcome.text) == (Ending.STALLED, "I give up.")


async def test_with_a_plan_only_the_node_that_is_stuck_fails_and_those_that_do_not_need_it_go_on() -> None:
    steps = plans(("stuck", "Look", ()), ("after", "Use it", ("stuck",)), ("else", "Something else", ()))
    three = (calls("look", path="/"),) * 3
    model = Model(steps, *three, says("Done."), sums_up("did", "something else"), says("Only that."))
    looking = Looking()
    async with stage(model) as scene:
        outcome, notices = await scene.play(model, plan="always", tools=[looking.tool], config=config())
        assert scene.refused == 0
    assert (outcome.text, looking.ran) == ("Only that.", 2)
    assert [notice.get("node") for notice in of_kind(notices, "step.node_failed")] == ["stuck"]
    assert [notice.get("node") for notice in of_kind(notices, "step.node_done")] == ["else"]
    assert "[blocked] after" in "".join(notes(model.read[-1]))
    assert "stuck" in outcome.reason


async def test_a_higher_trigger_lets_a_task_repeat_its_tool() -> None:
    looking, model = Looking(), Model(*[calls("look", path="/")] * 4, says("It stays empty."))
    async with stage(model) as scene:
        outcome, _ = await scene.play(model, tools=[looking.tool], config=config(trigger=6))
    assert (outcome.answered, looking.ran) == (True, 4)


async def test_a_polling_tool_whose_result_changes_is_no_stall() -> None:
    looking = Looking(changing=True, polling=True)
    model = Model(*[calls("look", path="/")] * 6, says("It is there."))
    async with stage(model) as scene:
        outcome, _ = await scene.play(model, tools=[looking.tool], config=config(trigger=3))
    assert (outcome.answered, looking.ran) == (True, 6)
