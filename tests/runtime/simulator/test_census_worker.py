"""What the workers of the census say next."""

import json
from collections.abc import Callable

import pytest

from amrita_fleet.runtime.simulator.census_worker import stuck, thorough, worker
from amrita_fleet.runtime.simulator.conversation import Answer, Call, Conversation, Said

pytestmark = pytest.mark.slow

TOOLS = ("count_files", "count_lines", "top_words", "send_message")
ORDER = Said("user", "[Message m-1 from lead]\nPlease take files 0 to 9 of the census.")
RANGE = {"first": 0, "last": 9}
COUNTS = {
    "count_files": {**RANGE, "files": 10},
    "count_lines": {**RANGE, "lines": 70},
    "top_words": {**RANGE, "words": {"the": 5, "ö": 2}, "ref": "words-0-9"},
}


def read(*messages: Said, tools: tuple[str, ...] = TOOLS) -> Conversation:
    return Conversation("simulated-census", messages, tools)


def done(*calls: Call, outputs: list[str]) -> list[Said]:
    made = tuple(Call(call.name, call.arguments, f"call_{place}") for place, call in enumerate(calls))
    results = (Said("tool", output, call_id=call.id) for call, output in zip(made, outputs, strict=True))
    return [Said("assistant", "", made), *results]


def counted(**changed: str) -> list[Said]:
    outputs = {name: json.dumps(output) for name, output in COUNTS.items()} | changed
    return done(*(Call(name, RANGE) for name in COUNTS), outputs=list(outputs.values()))


def reported(output: str = "Accepted.") -> list[Said]:
    return done(*worker(read(ORDER, *counted())).calls, outputs=[output])


def test_a_worker_counts_with_three_tools_at_once() -> None:
    assert worker(read(ORDER)) == Answer(calls=tuple(Call(name, RANGE) for name in COUNTS))


def test_a_worker_reports_what_its_tools_said_to_the_one_who_asked() -> None:
    (call,) = worker(read(ORDER, *counted())).calls
    assert (call.name, call.arguments["to"]) == ("send_message", "lead")
    head, _, report = str(call.arguments["body"]).partition(": ")
    assert head == "Report for files 0 to 9"
    assert json.loads(report) == {**RANGE, "files": 10, "lines": 70, "words": {"the": 5, "ö": 2}, "ref": "words-0-9"}


def test_a_worker_ends_with_a_word_when_its_report_is_sent() -> None:
    assert worker(read(ORDER, *counted(), *reported())) == Answer("Reported files 0 to 9 to lead.")


@pytest.mark.parametrize(
    "output", ["ERROR: no such file", "Cancelled: not run", "This call was interrupted; it may have run."]
)
def test_a_count_that_failed_is_made_again(output: str) -> None:
    assert worker(read(ORDER, *counted(count_lines=output))) == Answer(calls=(Call("count_lines", RANGE),))


def test_a_report_that_was_not_taken_is_sent_again() -> None:
    again = worker(read(ORDER, *counted(), *reported("ERROR: the mailbox is full")))
    assert [call.name for call in again.calls] == ["send_message"]


def test_a_second_order_is_worked_on_after_the_first() -> None:
    second = Said("user", "[Message m-2 from lead]\nPlease take files 10 to 19 of the census.")
    assert [call.name for call in worker(read(ORDER, second, *counted())).calls] == ["send_message"]
    later = worker(read(ORDER, *counted(), second, *reported()))
    assert later.calls[0] == Call("count_files", {"first": 10, "last": 19})


def test_a_shard_that_is_asked_for_again_is_counted_again() -> None:
    assert len(worker(read(ORDER, *counted(), *reported(), Said("assistant", "Reported."), ORDER)).calls) == 3


def test_a_worker_without_an_order_says_what_it_needs() -> None:
    assert worker(read(Said("user", "Hello."))).text.startswith("I count for a census.")
    assert stuck(read(Said("user", "Hello."))).text.startswith("I count for a census.")


@pytest.mark.parametrize("model", [worker, thorough])
def test_the_last_answer_of_a_worker_that_is_not_done_says_so(model: Callable[[Conversation], Answer]) -> None:
    assert model(read(ORDER, tools=())) == Answer("I could not finish files 0 to 9: they are not reported.")


def test_a_stuck_worker_makes_the_same_call_for_ever() -> None:
    call = Call("count_files", RANGE)
    messages = [ORDER]
    for _ in range(20):
        assert stuck(read(*messages)) == Answer(calls=(call,))
        messages += done(call, outputs=[json.dumps(COUNTS["count_files"])])
    gave_up = "I kept counting the same files and could not finish."
    assert stuck(read(*messages, tools=())) == Answer(gave_up)


def test_a_thorough_worker_counts_tenth_by_tenth_and_then_reports_as_others_do() -> None:
    messages = [ORDER]
    for number in range(10):
        call = Call("count_files", {"first": number, "last": number})
        assert thorough(read(*messages)) == Answer(calls=(call,))
        messages += done(call, outputs=[json.dumps({"first": number, "last": number, "files": 1})])
    assert thorough(read(*messages)) == worker(read(ORDER))
    assert thorough(read(*messages, *counted())) == worker(read(ORDER, *counted()))
