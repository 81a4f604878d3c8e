"""What the lead of the census says next."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.runtime.simulator.census_lead import QUIET_WAITS, lead
from amrita_fleet.runtime.simulator.census_shards import Shard, split
from amrita_fleet.runtime.simulator.conversation import Answer, Call, Conversation, Said

pytestmark = pytest.mark.slow

TOOLS = ("send_message", "list_peers", "wait_for_messages", "merge_reports")
TASK = Said("user", "Count the files under a folder of 40 files (numbers 0 to 39). Your workers: w1, w2, w3, w4.")
WAIT = Answer(calls=(Call("wait_for_messages", {"seconds": 60}),))
MERGED = json.dumps({"files": 40, "lines": 99, "words": {"the": 12, "of": 9}})


class Talk:
    """A conversation of the lead as it grows."""

    def __init__(self) -> None:
        self.messages: list[Said] = [TASK]

    def read(self, tools: tuple[str, ...] = TOOLS) -> Conversation:
        return Conversation("simulated-census", tuple(self.messages), tools)

    def next(self) -> Answer:
        return lead(self.read())

    def go(self, **outputs: str) -> Answer:
        """Let the lead speak and run its calls; outputs are named by the worker or the tool they come from."""
        answer = self.next()
        calls = tuple(Call(call.name, call.arguments, f"call_{place}") for place, call in enumerate(answer.calls))
        self.messages.append(Said("assistant", answer.text, calls))
        for call in calls:
            name = str(call.arguments.get("to", call.name))
            self.messages.append(Said("tool", outputs.get(name, "Accepted."), call_id=call.id))
        return answer

    def report(self, worker: str, first: int, last: int) -> None:
        self.mail(f"[Message m-7 from {worker}]\nReport for files {first} to {last}: " + json.dumps({"first": first}))

    def lose(self, note: str) -> None:
        self.mail(f"[Note from the runtime]\n{note}")

    def mail(self, text: str) -> None:
        self.messages.append(Said("user", text))


@pytest.fixture
def talk() -> Talk:
    return Talk()


def orders(answer: Answer) -> list[tuple[object, object]]:
    assert {call.name for call in answer.calls} <= {"send_message"}
    return [(call.arguments["to"], call.arguments["body"]) for call in answer.calls]


def all_reported(talk: Talk) -> None:
    talk.go()
    for number in range(4):
        talk.report(f"w{number + 1}", 10 * number, 10 * number + 9)


def test_the_lead_sends_each_worker_one_range_in_one_batch(talk: Talk) -> None:
    assert orders(talk.next()) == [
        ("w1", "Please take files 0 to 9 of the census."),
        ("w2", "Please take files 10 to 19 of the census."),
        ("w3", "Please take files 20 to 29 of the census."),
        ("w4", "Please take files 30 to 39 of the census."),
    ]


def test_then_it_waits_as_long_as_reports_come(talk: Talk) -> None:
    talk.go()
    for number in range(3):
        assert talk.go() == WAIT
        talk.report(f"w{number + 1}", 10 * number, 10 * number + 9)
    assert talk.go() == WAIT


def test_all_reports_are_merged_unchanged_and_the_result_is_told(talk: Talk) -> None:
    all_reported(talk)
    (call,) = talk.go(merge_reports=MERGED).calls
    assert call == Call("merge_reports", {"reports": [json.dumps({"first": first}) for first in (0, 10, 20, 30)]})
    text = "The folder has 40 files with 99 lines. The most frequent words are: the 12, of 9.\n"
    assert talk.next() == Answer(text + MERGED)
    assert lead(talk.read(tools=())) == Answer(text + MERGED)


@pytest.mark.parametrize(
    "note",
    ["w2 ended its run: stalled (5 identical calls).", "w2 ended its run: limit:tokens", "w2 died: its process ended."],
)
def test_the_range_of_a_lost_worker_goes_to_one_that_is_done(talk: Talk, note: str) -> None:
    talk.go()
    talk.go()
    talk.report("w3", 20, 29)
    talk.lose(note)
    assert orders(talk.go()) == [("w3", "Please take files 10 to 19 of the census.")]
    assert talk.next() == WAIT
    talk.report("w3", 10, 19)
    talk.lose("w3 ended its run: stopped")
    assert talk.next() == WAIT


def test_ranges_of_several_lost_workers_are_shared_out(talk: Talk) -> None:
    talk.go()
    talk.report("w1", 0, 9)
    talk.report("w4", 30, 39)
    talk.mail("[Note from the runtime]\nw2 died: x\n\n[Note from the runtime]\nw3 ended its run: stalled (x).")
    assert [worker for worker, _ in orders(talk.next())] == ["w1", "w4"]


def test_a_worker_that_cannot_be_reached_is_lost(talk: Talk) -> None:
    talk.go(w1="ERROR: the channel of 'w1' is closed.")
    assert orders(talk.next()) == [("w2", "Please take files 0 to 9 of the census.")]


def test_only_the_runtime_says_that_a_worker_is_lost_and_only_without_an_answer(talk: Talk) -> None:
    talk.go()
    talk.mail("[Message m-1 from w1]\nw2 died: I say so.")
    talk.lose("w2 ended its run: answered")
    assert talk.next() == WAIT


def test_a_report_that_comes_twice_counts_once(talk: Talk) -> None:
    all_reported(talk)
    talk.report("w1", 0, 9)
    assert len(talk.next().calls[0].arguments["reports"]) == 4  # type: ignore[arg-type]


def test_after_too_many_waits_without_news_it_tells_what_it_has(talk: Talk) -> None:
    talk.go()
    talk.report("w1", 0, 9)
    for _ in range(QUIET_WAITS):
        assert talk.go() == WAIT
        talk.mail("[Note from the runtime]\nNo message came within 60 seconds.")
    merged = json.dumps({"files": 10, "lines": 5, "words": {"a": 1}})
    assert talk.go(merge_reports=merged).calls[0].name == "merge_reports"
    assert talk.next().text == (
        "The census is incomplete: no report for files 10 to 19, files 20 to 29, files 30 to 39.\n"
        f"The files counted are 10 files with 5 lines. The most frequent words are: a 1.\n{merged}"
    )


def test_news_begin_the_count_of_quiet_waits_again(talk: Talk) -> None:
    talk.go()
    for _ in range(QUIET_WAITS - 1):
        talk.go()
    talk.report("w1", 0, 9)
    talk.go()
    assert talk.next() == WAIT


def test_a_report_after_the_end_is_merged_too(talk: Talk) -> None:
    talk.go()
    for worker in ("w1", "w2", "w3", "w4"):
        talk.lose(f"{worker} died: x")
    assert talk.go() == Answer(
        "The census is incomplete: no report for files 0 to 9, files 10 to 19, files 20 to 29, files 30 to 39."
    )
    talk.report("w2", 10, 19)
    assert talk.next().calls[0].name == "merge_reports"


def test_a_merge_that_fails_is_told(talk: Talk) -> None:
    all_reported(talk)
    talk.go(merge_reports="ERROR: a reference is missing")
    assert talk.next() == Answer("The reports could not be merged: ERROR: a reference is missing")


def test_the_last_answer_says_what_was_reported_and_what_is_missing(talk: Talk) -> None:
    talk.go()
    talk.report("w1", 0, 9)
    assert lead(talk.read(tools=())) == Answer(
        "The census is incomplete: no report for files 10 to 19, files 20 to 29, files 30 to 39.\n"
        "I have reports for files 0 to 9, not merged."
    )


def test_without_a_task_the_lead_says_what_it_needs() -> None:
    assert "Your workers:" in lead(Conversation("simulated-census", (Said("user", "Hello."),), TOOLS)).text


def test_an_empty_folder_needs_no_worker(talk: Talk) -> None:
    talk.mail("Count the files under a folder of 0 files. Your workers: w1.")
    assert talk.next() == Answer("There are no files to count.")


def test_a_new_task_begins_a_new_census(talk: Talk) -> None:
    all_reported(talk)
    talk.go(merge_reports=MERGED)
    talk.mail("Count the files under a folder of 5 files (numbers 0 to 4). Your workers: w1.")
    assert orders(talk.next()) == [("w1", "Please take files 0 to 4 of the census.")]


@given(st.integers(0, 50), st.integers(1, 500), st.integers(1, 60))
def test_shards_are_even_contiguous_and_never_empty(first: int, size: int, parts: int) -> None:
    shards = split(Shard(first, first + size - 1), parts)
    numbers = [number for shard in shards for number in range(shard.first, shard.last + 1)]
    sizes = [shard.last - shard.first + 1 for shard in shards]
    assert numbers == list(range(first, first + size))
    assert len(shards) == min(parts, size)
    assert min(sizes) >= 1
    assert max(sizes) - min(sizes) <= 1
