"""Sizes are bytes of UTF-8, and a shortened text keeps both its ends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.protocols.messages import Message, Role, ToolCall, ToolResult
from amrita_fleet.runtime.step.sizes import FRAME, shortened, size_of, weight

ANY = st.text(st.characters(codec=None, exclude_categories=()), max_size=40)
REPEATED = st.tuples(ANY, st.integers(0, 60)).map(lambda pair: pair[0] * pair[1])


@pytest.mark.parametrize(("text", "size"), [("", 0), ("abc", 3), ("ä", 2), ("数", 3), ("🦀", 4), ("\ud800", 3)])
def test_a_text_is_as_large_as_its_utf8(text: str, size: int) -> None:
    assert size_of(text) == size


def test_a_turn_weighs_all_that_is_sent_of_it() -> None:
    call = ToolCall("id", "look", "{}", {"seal": "x"})
    reply = Message(Role.ASSISTANT, "So.", (call,), "think", "seal", {"index": 0}, "openai")

    assert weight(Message(Role.USER, "ä")) == FRAME + 2
    assert weight(ToolResult("id", "look", "out")) == FRAME + len("idout")
    assert weight(reply) == 2 * FRAME + len('So.idlook{}{"seal": "x"}thinkseal{"index": 0}')


@given(text=ANY | REPEATED, limit=st.integers(-1, 900), hint=st.sampled_from(["", "ask again"]))
def test_a_shortened_text_fits_and_one_that_fits_is_not_touched(text: str, limit: int, hint: str) -> None:
    short = shortened(text, limit, hint)

    assert size_of(short) <= max(0, limit)
    assert (short is text) == (size_of(text) <= max(0, limit))


def test_head_and_tail_stay_and_the_marker_counts_what_is_missing() -> None:
    short = shortened("a" * 500 + "b" * 500, 460, "ask again")

    assert short == f"{'a' * 200}\n[... 700 of 1000 bytes are left out here; ask again ...]\n{'b' * 100}"


def test_a_text_shortened_twice_has_one_marker() -> None:
    once = shortened("a" * 9000, 4000)

    assert shortened(once, 1000).count("left out here") == 1


def test_without_room_for_a_marker_only_the_head_stays() -> None:
    assert shortened("a" * 500, 100) == "a" * 100
