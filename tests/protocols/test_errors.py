"""Errors carry facts and one sentence, and say whether trying again is any use."""

import pickle

import pytest

from amrita_fleet.protocols.errors import (
    BODY_SHOWN,
    AuthRefused,
    BadRequest,
    ContentRefused,
    ContextOverflow,
    DecodeError,
    FleetError,
    PresetInvalid,
    ProtocolError,
    ProviderBusy,
    ProviderError,
    ProviderOverloaded,
    ProviderUnreachable,
    QuotaSpent,
    StreamBroken,
    UndefinedAdapter,
)

PASSING: list[type[ProviderError]] = [ProviderBusy, ProviderOverloaded, ProviderUnreachable, StreamBroken]
LASTING: list[type[ProviderError]] = [AuthRefused, BadRequest, ContentRefused, ContextOverflow, QuotaSpent]


@pytest.mark.parametrize("cls", PASSING + LASTING)
def test_only_what_may_pass_is_worth_another_attempt(cls: type[ProviderError]) -> None:
    assert cls.retryable is (cls in PASSING)


@pytest.mark.parametrize(
    ("cls", "billed"),
    [(StreamBroken, True), (ProviderOverloaded, True), (ProviderUnreachable, False), (ProviderBusy, False)],
)
def test_an_attempt_is_free_only_where_that_is_certain(cls: type[ProviderError], *, billed: bool) -> None:
    assert cls(sentence="x").billed is billed


def test_the_sentence_ends_with_the_id_to_quote() -> None:
    assert str(ProviderBusy(sentence="Too many requests.", request_id="ds-7")) == "Too many requests. (request_id=ds-7)"
    assert str(ProviderBusy(sentence="Too many requests.")) == "Too many requests."


def test_a_long_body_is_cut() -> None:
    error = BadRequest(sentence="x" * 9000)

    assert error.sentence == str(error) == "x" * BODY_SHOWN


def test_one_error_can_be_known_to_differ_from_its_class() -> None:
    assert StreamBroken(sentence="x", billed=False).billed is False
    assert StreamBroken.billed is True


def test_an_error_can_be_quoted_in_other_words_with_its_facts() -> None:
    error = ContextOverflow(sentence="Too long.", tokens=9, limit=8, status=400)

    quoted = error.quoted("The request is too long.", "r")

    assert type(quoted) is ContextOverflow
    assert str(quoted) == "The request is too long. (request_id=r)"
    assert (quoted.tokens, quoted.limit, quoted.status, quoted.request_id) == (9, 8, 400, "r")
    assert str(error) == "Too long."


def test_facts_survive_a_process_border() -> None:
    error = ProviderBusy(sentence="Too many requests.", status=429, request_id="r", after=3.0)

    found = pickle.loads(pickle.dumps(error))

    assert (type(found), vars(found), str(found)) == (ProviderBusy, vars(error), str(error))


def test_the_documented_builtin_types_are_kept() -> None:
    undefined = UndefinedAdapter(name="opnai", nearest="openai")

    assert isinstance(undefined, ValueError)
    assert isinstance(undefined, PresetInvalid)
    assert str(undefined) == "Undefined protocol adapter: opnai. Did you mean 'openai'?"
    assert str(UndefinedAdapter(name="x", nearest=None)).startswith("Undefined protocol adapter: x.")


def test_everything_is_a_fleet_error() -> None:
    assert all(issubclass(cls, FleetError) for cls in (*PASSING, *LASTING, DecodeError, ProtocolError, PresetInvalid))
    assert FleetError.retryable is False


def test_every_error_says_where_the_documents_tell_what_to_do() -> None:
    assert ProviderBusy(sentence="Too many requests.").help == "docs/troubleshooting.md#providerbusy"
