"""Loops and empty answers: faults that users of other programs reported, by their number in the collection."""

import json
from collections.abc import Callable
from itertools import count

import pytest

from amrita_fleet import Agent, Ending, Fleet, Tool, tool
from amrita_fleet.protocols.messages import Finish, Message, Reply, Role, ToolCall, Usage
from amrita_fleet.protocols.providers.script import call as move
from amrita_fleet.protocols.providers.script import say
from amrita_fleet.protocols.providers.scripted import scripted
from amrita_fleet.runtime.step.prompts import CANCELLED, EMPTY_REPLY, GIVE_UP
from amrita_fleet.runtime.step.rules import Rules
from amrita_fleet.runtime.step.stall import Window
from amrita_fleet.runtime.tools.digest import signature

from .pairing import flaw
from .play import Play, Result, call, calls, says

pytestmark = pytest.mark.slow

PATIENT = Rules(rounds=300, repeats=5)


@pytest.mark.parametrize("output", ["noop", ""], ids=["the same result", "a hidden failure"])
def test_63_the_same_call_220_times_runs_four_times_and_the_outcome_says_so(output: str) -> None:
    play = Play([calls(call("bash", '{"cmd":"echo noop"}'))] * 220, PATIENT, tools=lambda _: Result(output)).ask()

    assert play.ran == ["bash"] * 4
    assert play.outputs == [output] * 4 + [CANCELLED]
    assert play.texts.count(GIVE_UP) == 1
    assert play.outcome.ending is Ending.STALLED
    assert flaw(play.turns) is None


def test_63_an_id_of_the_call_does_not_hide_it() -> None:
    labelled = [calls(ToolCall(f"noop{number}", "bash", '{"cmd":"echo noop"}')) for number in range(220)]

    assert Play(labelled, PATIENT).ask().ran == ["bash"] * 4


def bash(cmd: str, title: str) -> str:
    """Run a command; the title is what people see of it."""
    return cmd.removeprefix("echo ") or title


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("made", "ending"),
    [
        (tool(labels=("title",))(bash), Ending.STALLED),
        # Which argument is a mere label only the tool's author knows; unsaid, the limit of rounds holds.
        (tool(bash), Ending.LIMIT),
    ],
    ids=["said to be a label", "unsaid"],
)
async def test_63_nor_does_a_label_among_the_arguments_that_the_tool_names(made: Tool, ending: Ending) -> None:
    repeats, rounds = 5, 10
    asked = repeats if ending is Ending.STALLED else rounds
    script = [move("bash", cmd="echo noop", title=f"noop{number}") for number in range(asked)]
    agent = Agent(preset=scripted(*script, say("I stop.")), tools=(made,))
    async with Fleet(system="local") as fleet:
        (ana,) = await fleet.spawn(agent, names=["ana"])
        outcome = await ana.run("Echo.")

    assert (outcome.ending, outcome.text) == (ending, "I stop.")


SPELLINGS = [
    '{"path":"a","limit":50}',
    '{"limit":50,"path":"a"}',
    '{ "limit": 50.0, "path": "a" }',
    '{"path":"\\u0061","limit":50}',
]


def test_64_four_spellings_are_one_call() -> None:
    window = Window(limit=4)
    for spelling in SPELLINGS:
        assert not window.repeated(polling=False)
        window = window.asked(signature("read", spelling))
    assert window.repeated(polling=False)


def test_64_arguments_that_cannot_be_read_count_by_their_text() -> None:
    assert signature("read", '{"path": "a') == signature("read", ' {"path": "a')
    assert signature("read", '{"path": "a') != signature("read", '{"path": "b')


def test_65_read_edit_test_with_the_same_results_is_a_stall() -> None:
    results = {"read": "the text", "edit": "no match", "test": "1 failed"}
    circle = [calls(name) for name in results]
    play = Play(circle * 50, PATIENT, tools=lambda asked: Result(results[asked.name])).ask()

    assert len(play.ran) == 9
    assert play.outcome.ending is Ending.STALLED


def test_65_so_are_two_calls_in_turn() -> None:
    assert Play([calls("a"), calls("b")] * 50, PATIENT).ask().outcome.ending is Ending.STALLED


def test_65_and_a_parallel_set_in_whatever_order() -> None:
    sets = [calls("a", "b"), calls("b", "a"), calls("a", "b")]

    assert Play(sets * 50, PATIENT).ask().outcome.ending is Ending.STALLED


def in_turn(*outputs: str) -> Callable[[ToolCall], Result]:
    """A tool with news each time, the last one for ever."""
    numbers = count()
    return lambda _: Result(outputs[min(next(numbers), len(outputs) - 1)])


def test_66_a_poll_with_news_is_no_loop() -> None:
    news = in_turn(*(f"{share} %" for share in range(0, 100, 5)), "done")
    asked = calls(call("job_status", '{"id":7}'))
    play = Play([asked] * 21 + [says("It is done.")], PATIENT, tools=news, polling=("job_status",)).ask()

    assert play.outcome.answered
    assert GIVE_UP not in play.texts


def test_66_a_poll_without_news_is_one() -> None:
    asked = calls(call("job_status", '{"id":7}'))
    play = Play([asked] * 50, PATIENT, tools=in_turn("10 %", "35 %"), polling=("job_status",)).ask()

    assert len(play.ran) == 1 + 4
    assert play.outcome.ending is Ending.STALLED


def test_48_an_empty_answer_after_a_tools_result_is_asked_for_once_more_and_leaves_no_trace() -> None:
    lines = [calls("digest"), says(""), says("Three letters came.")]
    play = Play(lines, tools=lambda _: Result("mail " * 9000)).ask("scan my inbox")

    assert play.outcome.answered
    assert play.texts[-1] == "Three letters came."
    assert EMPTY_REPLY not in play.texts
    assert "" not in play.texts[2:]


def test_48_twice_empty_is_a_failure_that_says_so() -> None:
    play = Play([calls("digest"), says(""), says(""), says("never asked")]).ask("scan my inbox")

    assert (play.outcome.ending, play.outcome.rounds) == (Ending.FAILED, 3)
    assert play.outcome.reason.startswith("empty reply (request_id=req-1")
    assert EMPTY_REPLY not in play.texts


def test_49_reasoning_alone_is_no_answer_and_is_never_shown_as_one() -> None:
    thought = Message(Role.ASSISTANT, "", reasoning_content="The answer must be 12.")
    silent = Reply(thought, Usage(1, 1), Finish.STOP, "req-1")

    again = Play([silent, says("12")]).ask()
    assert (again.outcome.ending, again.outcome.text) == (Ending.ANSWERED, "12")
    assert not any("must be 12" in json.dumps(text) for text in again.texts)
    twice = Play([silent, silent]).ask()
    assert (twice.outcome.ending, twice.outcome.text) == (Ending.FAILED, "")
