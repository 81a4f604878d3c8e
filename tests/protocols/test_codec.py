"""Bytes of what is said: all of it comes back, and nothing but our own errors comes of anything else."""

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Any, Literal

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.protocols import amounts, checkin, limits, mail, messages, notices, outcome
from amrita_fleet.protocols.checkin import CheckIn, Directive, Grant, Proceed, Stop, Wait
from amrita_fleet.protocols.codec import (
    VERSION,
    decode,
    decode_batch,
    decode_verdicts,
    encode,
    encode_batch,
    encode_verdicts,
)
from amrita_fleet.protocols.errors import DecodeError, SecretRefused, VersionMismatch
from amrita_fleet.protocols.ids import AgentId, Incarnation, MessageId
from amrita_fleet.protocols.limits import Exhaustion, Limits, TokenLimit
from amrita_fleet.protocols.mail import Envelope, Receipt, ReceiptState, Refusal
from amrita_fleet.protocols.messages import Message, Role, ToolCall, Usage
from amrita_fleet.protocols.notices import Notice, NoticeType
from amrita_fleet.protocols.presets import ModelConfig, ModelPreset, ThinkingConfig
from amrita_fleet.protocols.secret import Secret

MODULES = (amounts, checkin, limits, mail, messages, notices, outcome)
HEAD = bytes([VERSION])
KEY = "sk-planted-0123456789"

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
PLAIN: dict[object, st.SearchStrategy[Any]] = {
    str: st.text(st.characters(), max_size=20),  # lone surrogates too
    int: st.integers(-(2**63), 2**64 - 1),
    float: st.floats(allow_nan=False),
    bool: st.booleans(),
    bytes: st.binary(max_size=20),
    types.NoneType: st.none(),
}

COUNTS = st.integers(1, 10**15)

LIMITS: dict[str, st.SearchStrategy[Any]] = {
    "tokens": COUNTS,
    **dict.fromkeys(("model_calls", "tool_calls"), st.none() | COUNTS),
    "dollars": st.none() | st.floats(1e-9, 1e6),
    "seconds": st.none() | st.floats(1e-9, 1e9),
    "on_exhaustion": st.sampled_from([each.value for each in Exhaustion]),
}

LAWFUL: dict[object, dict[str, st.SearchStrategy[Any]]] = {
    ModelConfig: {"max_tokens": st.integers(1, 10**6), "timeout": st.floats(0.1, 1e6)},
    ThinkingConfig: {"budget_tokens": st.none() | st.integers(1, 10**6)},
    Limits: LIMITS,
    TokenLimit: LIMITS,
}
"""Fields that their classes let have only some values."""


def public_dataclasses() -> list[type]:
    """Every dataclass that the protocol modules name."""
    named: list[Any] = [getattr(module, name) for module in MODULES for name in module.__all__]
    return [
        *(one for one in named if isinstance(one, type) and hasattr(one, "__dataclass_fields__")),
        ModelConfig,
        ThinkingConfig,
    ]


def values(hint: object) -> st.SearchStrategy[Any]:
    """Values of a type, made from what the type says."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if isinstance(hint, typing.NewType):
        return values(hint.__supertype__)
    if origin in {typing.Union, types.UnionType}:
        return st.one_of(*map(values, arguments))
    if origin is tuple:
        return st.lists(values(arguments[0]), max_size=3).map(tuple)
    return of_class(hint) if isinstance(hint, type) else st.dictionaries(st.text(max_size=5), JSON, max_size=3)


def of_class(cls: type) -> st.SearchStrategy[Any]:
    """Values of a plain type, an enum or a dataclass."""
    if cls in PLAIN:
        return PLAIN[cls]
    return st.sampled_from(cls) if issubclass(cls, StrEnum) else instances(cls)


def instances(cls: Any) -> st.SearchStrategy[Any]:  # noqa: ANN401  any dataclass
    """Values of a dataclass."""
    hints = typing.get_type_hints(cls)
    made = {one.name: values(hints[one.name]) for one in dataclasses.fields(cls)}
    return st.builds(cls, **made | LAWFUL.get(cls, {}))


@pytest.mark.parametrize("cls", public_dataclasses(), ids=lambda cls: cls.__name__)
def test_everything_that_is_said_comes_out_as_it_went_in(cls: type) -> None:
    @given(instances(cls))
    def comes_out(value: object) -> None:
        found: object = decode(encode(value), cls)

        assert found == value
        assert isinstance(found, cls)

    comes_out()


def test_fields_that_do_not_count_for_equality_come_back_too() -> None:
    usage = Usage(1, 2, raw={"prompt_tokens": 1, "details": {"cached": [0]}})

    assert decode(encode(usage), Usage).raw == usage.raw


@pytest.mark.parametrize(
    "directive", [Proceed(Grant("r", 1, 0.5)), Wait(0.1, "held"), Stop("enough")], ids=lambda one: type(one).__name__
)
def test_a_union_comes_back_as_the_class_it_was(directive: Directive) -> None:
    found: object = decode(encode(directive), Directive)  # type: ignore[arg-type]

    assert found == directive


@dataclass(frozen=True)
class Older:
    """A class as an older side knows it."""

    name: str
    count: int


@dataclass(frozen=True)
class Newer:
    """The same class, grown."""

    name: str
    count: int
    tags: tuple[str, ...] = ("none",)
    facts: Mapping[str, int] = field(default_factory=lambda: {"new": 1})


def renamed(value: object, name: str) -> bytes:
    """The bytes of a value under another class name."""
    plain = msgpack.unpackb(encode(value)[1:])
    return HEAD + msgpack.packb({**plain, "$": name})


def test_fields_a_reader_does_not_know_are_ignored() -> None:
    assert decode(renamed(Newer("a", 1), "Older"), Older) == Older("a", 1)


def test_fields_a_writer_did_not_know_have_their_defaults() -> None:
    assert decode(renamed(Older("a", 1), "Newer"), Newer) == Newer("a", 1)


def test_a_field_that_has_no_default_must_be_there() -> None:
    with pytest.raises(DecodeError, match="Older lacks count, name"):
        decode(HEAD + msgpack.packb({"$": "Older"}), Older)


def test_an_envelope_of_a_side_without_attempts_is_read() -> None:
    row = ["m", "ana", 1, 1, "bob", "peer", "hi", "", 0, 1.5, 0.0, ""]

    (found,) = decode_batch(HEAD + msgpack.packb([row]))

    assert found.attempt == 0
    with pytest.raises(DecodeError, match="11 fields where 12 are due"):
        decode_batch(HEAD + msgpack.packb([row[:-1]]))


class Rank(IntEnum):
    LOW = 0
    HIGH = 1


@dataclass(frozen=True)
class Everything:
    """One field of each kind."""

    literal: Literal["a", "b"]
    raw: bytes
    ratio: float
    flag: bool
    either: int | str | None
    rank: Rank
    anything: Any = None


EVERYTHING = Everything("a", b"\xff", 1.0, flag=True, either=3, rank=Rank.HIGH)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("literal", "c"),
        ("raw", "text"),
        ("ratio", "1.0"),
        ("ratio", True),
        ("flag", 1),
        ("rank", 2),
        ("rank", True),
        ("rank", "HIGH"),
        ("either", 1.5),
        ("either", True),
        ("either", {"$": "Everything"}),
        ("either", {"$": []}),
    ],
)
def test_a_value_of_the_wrong_type_is_refused(name: str, value: object) -> None:
    plain = msgpack.unpackb(encode(EVERYTHING)[1:])

    with pytest.raises(DecodeError, match="not a Everything"):
        decode(HEAD + msgpack.packb({**plain, name: value}), Everything)


def test_a_value_of_any_kind_comes_back() -> None:
    found = decode(encode(EVERYTHING), Everything)
    assert found == EVERYTHING
    assert found.rank is Rank.HIGH
    assert decode(encode(dataclasses.replace(EVERYTHING, either="x", anything=[1])), Everything).anything == [1]


@pytest.mark.parametrize("value", [7, [], {}, {"$": "Grant"}, None, "x"], ids=repr)
def test_another_class_is_refused(value: object) -> None:
    with pytest.raises(DecodeError):
        decode(HEAD + msgpack.packb(value), Receipt)


@pytest.mark.parametrize("facts", [7, [1], {1: 2}], ids=["a number", "a list", "a number as key"])
def test_facts_are_a_map_of_texts(facts: object) -> None:
    notice = Notice(NoticeType.RUN, "started", AgentId("ana"), "begins")
    plain = msgpack.unpackb(encode(notice)[1:])

    with pytest.raises(DecodeError):
        decode(HEAD + msgpack.packb({**plain, "data": facts}), Notice)


def test_a_whole_number_will_do_for_a_float() -> None:
    found = decode(renamed(EVERYTHING, "Everything").replace(b"\xcb\x3f\xf0" + b"\0" * 6, b"\x01"), Everything)

    assert (found.ratio, type(found.ratio)) == (1.0, float)


def test_no_bytes_are_no_value() -> None:
    with pytest.raises(DecodeError, match="there are none"):
        decode(b"", Grant)


@given(st.integers(0, 255).filter(lambda version: version != VERSION), st.binary(max_size=9))
def test_bytes_of_another_version_say_which(version: int, rest: bytes) -> None:
    with pytest.raises(VersionMismatch) as caught:
        decode(bytes([version]) + rest, Grant)

    assert (caught.value.theirs, caught.value.ours) == (version, VERSION)
    assert "upgrade the older side" in str(caught.value)


READERS: dict[str, Callable[[bytes], object]] = {
    "a notice": lambda data: decode(data, Notice),
    "a check-in": lambda data: decode(data, CheckIn),
    "a directive": lambda data: decode(data, Directive),  # type: ignore[arg-type]
    "a message": lambda data: decode(data, Message),
    "a batch": decode_batch,
    "verdicts": decode_verdicts,
}
ANY_MSGPACK = st.recursive(
    JSON | st.binary(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3) | st.integers(0, 9), inner, max_size=3)
    ),
    max_leaves=8,
).map(msgpack.packb)


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_garbage_is_a_decode_error_and_nothing_else(read: Callable[[bytes], object]) -> None:
    @given(st.binary(max_size=60) | ANY_MSGPACK)
    def refused(rest: bytes) -> None:
        with suppress(DecodeError):
            read(HEAD + rest)

    refused()


@pytest.mark.slow
@pytest.mark.parametrize("cls", public_dataclasses(), ids=lambda cls: cls.__name__)
def test_damage_is_a_decode_error_or_another_value(cls: type) -> None:
    @given(instances(cls), st.data())
    def survives(value: object, data: st.DataObject) -> None:
        raw = bytearray(encode(value))
        raw[data.draw(st.integers(1, len(raw) - 1))] = data.draw(st.integers(0, 255))
        try:
            found: object = decode(bytes(raw), cls)
        except DecodeError:
            return
        assert isinstance(found, cls)

    survives()


@pytest.mark.parametrize(
    "rest",
    [b"\x81\x91\x01\x02", b"\xc1", b"\x91" * 2000, b"\xa3a", b"\x01\x01", b"\xc7\x00\x05", b"\xa2\xff\xfe"],
    ids=["a list as key", "no such byte", "too deep", "cut", "more than one", "an extension", "no utf-8"],
)
def test_every_kind_of_broken_msgpack_is_refused(rest: bytes) -> None:
    with pytest.raises(DecodeError):
        decode(HEAD + rest, Grant)


@pytest.mark.parametrize("rows", [{}, "", {None: 1}, 7, None], ids=repr)
def test_what_is_no_list_is_neither_a_batch_nor_verdicts(rows: object) -> None:
    for read in (decode_batch, decode_verdicts):
        with pytest.raises(DecodeError):
            read(HEAD + msgpack.packb(rows))


@given(st.lists(st.none() | st.sampled_from(Refusal)).map(tuple))
def test_verdicts_come_out_as_they_went_in(verdicts: tuple[Refusal | None, ...]) -> None:
    assert decode_verdicts(encode_verdicts(verdicts)) == verdicts


def test_a_batch_with_half_a_character_is_refused_at_both_ends() -> None:
    ana, bob, first = AgentId("ana"), AgentId("bob"), Incarnation(1)
    letter = Envelope(MessageId("m"), ana, first, 1, bob, mail.Kind.PEER, "\ud800", "", 0, 1.5, 0.0, "")

    with pytest.raises(UnicodeEncodeError):
        encode_batch((letter,))
    with pytest.raises(DecodeError):
        decode_batch(HEAD + msgpack.packb([letter], unicode_errors="surrogatepass"))


@pytest.mark.parametrize(
    ("value", "where"),
    [
        (Secret(KEY), "value"),
        ({"keys": [1, Secret(KEY)]}, "value.keys[1]"),
        (ModelPreset(model="m", base_url="http://h", api_key=Secret(KEY)), "value.api_key"),
        ((Secret.from_env("KEY"),), "value[0]"),
    ],
    ids=["bare", "nested", "in a preset", "by name"],
)
def test_a_secret_is_refused_with_its_place(value: object, where: str) -> None:
    with pytest.raises(SecretRefused) as caught:
        encode(value)

    assert caught.value.where == where
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"at": {"x": object()}}, "value.at.x is a object"),
        (Grant, "value is a type"),
        ([2**64], "value\\[0\\] is a whole number of more than 64 bits"),
        (-(2**63) - 1, "more than 64 bits"),
        ({1, 2}, "value is a set"),
    ],
    ids=["an object", "a class", "too large", "too small", "a set"],
)
def test_what_is_no_plain_data_is_refused_with_its_place(value: object, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        encode(value)


def test_a_call_keeps_its_arguments_and_extras_to_the_letter() -> None:
    call = ToolCall("c", "look", '{ "a":1.0,"a":2 }', {"thought": {"signature": "x", "list": [1, None]}})
    message = Message(Role.ASSISTANT, "", (call,), reasoning_content="", extra={"$": "mine"})

    found = decode(encode(message), Message)

    assert found == message
    assert found.reasoning_content == ""


def test_a_receipt_is_small() -> None:
    receipt = Receipt(MessageId("ana.1.bob.1"), AgentId("bob"), ReceiptState.ACCEPTED)

    assert len(encode(receipt)) < 120
