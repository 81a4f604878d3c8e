"""Ids of calls on their way out."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.protocols.messages import Message, Role, ToolCall, ToolResult, Turn
from amrita_fleet.protocols.profiles import PROFILES, Profile
from amrita_fleet.protocols.providers.tool_ids import result_id, sent_id

FAMILIES = {profile.name: profile for profile in PROFILES}
PROFILE = st.sampled_from(PROFILES)
ID = st.text(min_size=1, max_size=50)
PLACE = st.integers(0, 50)


@given(PROFILE, ID, PLACE, st.booleans())
def test_what_goes_out_has_the_form_that_the_provider_takes(
    profile: Profile, call: str, place: int, home: bool
) -> None:
    assert re.fullmatch(profile.ids, sent_id(call, place, profile, home=home))


@given(PROFILE, st.lists(st.tuples(ID, PLACE), unique=True, max_size=20))
def test_no_two_calls_of_another_provider_become_one(profile: Profile, calls: list[tuple[str, int]]) -> None:
    assert len({sent_id(call, place, profile, home=False) for call, place in calls}) == len(calls)


@given(st.lists(ID, unique=True, max_size=20), PLACE, PROFILE)
def test_no_two_calls_of_one_answer_become_one(calls: list[str], place: int, profile: Profile) -> None:
    assert len({sent_id(call, place, profile, home=True) for call in calls}) == len(calls)


@pytest.mark.parametrize(
    ("profile", "call"),
    [
        ("openai", "call_PTLP8xhu3uwZk4l3nlnrrJha"),
        ("anthropic", "toolu_01A"),
        ("kimi", "search:0"),
        ("mistral", "D681PevKs"),
    ],
)
def test_a_providers_own_id_goes_back_to_it_as_it_came(profile: str, call: str) -> None:
    assert sent_id(call, 3, FAMILIES[profile], home=True) == call


@given(PROFILE, st.sampled_from(["", "openai", "kimi", "anthropic"]), st.lists(ID, min_size=1, max_size=4, unique=True))
def test_a_result_has_the_id_of_its_call(profile: Profile, origin: str, ids: list[str]) -> None:
    calls = tuple(ToolCall(call, "f", "{}") for call in ids)
    results = tuple(ToolResult(call, "f", "x") for call in ids)
    message = Message(Role.ASSISTANT, "", calls=calls, profile=origin)
    turns: tuple[Turn, ...] = (Message(Role.USER, "go"), message, *results)
    home = origin in {"", profile.name}
    sent = [sent_id(call, 1, profile, home=home) for call in ids]
    assert [result_id(turns, 2 + place, profile) for place in range(len(ids))] == sent


def test_a_turn_that_is_no_result_has_no_such_id() -> None:
    with pytest.raises(TypeError, match="turn 0 is no tool result"):
        result_id((Message(Role.USER, "go"),), 0, FAMILIES["unknown"])
