"""Token counts: faults that users of other programs reported."""

import pytest

from amrita_fleet.protocols.messages import Json

from .wire_talk import answer_of, chat, claude, hear, read, sse

pytestmark = pytest.mark.slow

Counted = dict[str, Json]


def test_a_running_total_in_every_chunk_is_not_summed() -> None:
    counts = [(100, 1), (100, 2), (100, 2)]
    events: list[Json] = [
        {
            "choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": "stop" if place == 2 else None}],
            "usage": {"prompt_tokens": prompt, "completion_tokens": said, "total_tokens": prompt + said},
        }
        for place, (prompt, said) in enumerate(counts)
    ]
    usage = hear(chat(), sse(*events)).usage
    assert (usage.prompt, usage.completion) == (100, 2)


BOTH: Counted = {
    "input_tokens": 14,
    "cache_creation_input_tokens": 8012,
    "cache_read_input_tokens": 120000,
    "output_tokens": 300,
}


@pytest.mark.parametrize(
    ("begin", "end", "prompt"),
    [
        pytest.param({**BOTH, "output_tokens": 4}, BOTH, 128026, id="all twice"),
        pytest.param({**BOTH, "output_tokens": 4}, {"output_tokens": 300}, 128026, id="only the output"),
        pytest.param({"input_tokens": 43}, {"input_tokens": 61, "output_tokens": 300}, 61, id="grows"),
        pytest.param({"input_tokens": 43}, {"input_tokens": 0, "output_tokens": 300}, 43, id="zero at the end"),
        pytest.param({"input_tokens": 0}, {"input_tokens": 43, "output_tokens": 300}, 43, id="zero at the beginning"),
    ],
)
def test_numbers_that_come_in_two_events_are_counted_once(begin: Counted, end: Counted, prompt: int) -> None:
    raw = sse(
        {"type": "message_start", "message": {"usage": begin}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": end},
    )
    usage = hear(claude(), raw).usage
    assert (usage.prompt, usage.completion, usage.estimated) == (prompt, 300, False)


def test_what_the_cache_gave_is_part_of_the_prompt() -> None:
    counted: Json = {
        "input_tokens": 7,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 180000,
        "output_tokens": 50,
    }
    usage = read(claude(), {"content": [{"type": "text", "text": "x"}], "usage": counted}).usage
    assert (usage.prompt, usage.cached, usage.completion) == (180007, 180000, 50)
    openai: Json = {"prompt_tokens": 2006, "completion_tokens": 300, "prompt_tokens_details": {"cached_tokens": 1920}}
    other = read(chat(), answer_of({"content": "x"}, usage=openai)).usage
    assert (other.prompt, other.cached) == (2006, 1920)


@pytest.mark.parametrize(
    ("usage", "completion"),
    [
        ({"prompt_tokens": 2008, "completion_tokens": 266, "total_tokens": 2274}, 266),
        ({"prompt_tokens": 307, "completion_tokens": 26, "total_tokens": 560}, 253),
        ({"prompt_tokens": 35, "completion_tokens": 12, "total_tokens": 109}, 74),
        ({"prompt_tokens": 35, "completion_tokens": 12}, 12),
    ],
)
def test_reasoning_is_counted_once_wherever_the_provider_puts_it(usage: Counted, completion: int) -> None:
    found = read(chat(), answer_of({"content": "x"}, usage=usage)).usage
    assert found.completion == completion
    assert found.raw == usage
