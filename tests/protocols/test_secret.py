"""A key is given only to whoever asks for it by name."""

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.protocols.errors import PresetInvalid
from amrita_fleet.protocols.secret import Secret

KEY = "sk-planted-0123456789"


def test_a_secret_shows_stars() -> None:
    for text in (repr(Secret(KEY)), str(Secret(KEY)), f"{Secret(KEY)}", repr([Secret(KEY)]), f"{Secret(KEY)!s:>9}"):
        assert KEY not in text
        assert "***" in text


def test_a_secret_gives_its_text_when_asked() -> None:
    assert Secret(KEY).reveal({}) == KEY
    assert Secret().reveal({}) == ""


def test_a_variable_is_read_where_the_call_is_made() -> None:
    secret = Secret.from_env("MY_KEY")

    assert secret.reveal({"MY_KEY": KEY}) == KEY
    with pytest.raises(PresetInvalid, match="The environment variable MY_KEY is not set"):
        secret.reveal({})


@pytest.mark.parametrize(
    ("given", "secret"),
    [("sk-1", Secret("sk-1")), ("env:KEY", Secret.from_env("KEY")), (Secret("sk-2"), Secret("sk-2")), ("", Secret())],
    ids=["text", "variable", "secret", "empty"],
)
def test_a_secret_is_read_from_what_people_write(given: object, secret: Secret) -> None:
    assert Secret.read(given) == secret


@pytest.mark.parametrize("given", [7, None, b"sk-1", ["sk-1"]], ids=repr)
def test_nothing_else_is_a_secret(given: object) -> None:
    with pytest.raises(PresetInvalid, match="An api_key is a text, env:NAME, or a Secret") as caught:
        Secret.read(given)

    assert "sk-1" not in str(caught.value)


@given(one=st.text(max_size=3), other=st.text(max_size=3))
def test_secrets_are_equal_when_what_they_hold_is(one: str, other: str) -> None:
    assert (Secret(one) == Secret(other)) == (one == other)
    assert hash(Secret(one)) == hash(Secret(one))
    assert Secret(one) != Secret.from_env(f"KEY{one}")
    assert Secret(one) != one


def test_a_secret_goes_to_another_process_whole() -> None:
    for secret in (Secret(KEY), Secret.from_env("MY_KEY")):
        assert pickle.loads(pickle.dumps(secret)) == copy.deepcopy(secret) == secret
