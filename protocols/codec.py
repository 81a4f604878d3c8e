"""Bytes of what is said: one version byte, then msgpack.

A frozen dataclass becomes a map of its fields with its class name under `$`; a named tuple becomes an array. A reader
ignores fields it does not know and gives fields that are missing their defaults, so either side may be the newer one
as long as the version byte is the same. A class that stands where older versions wrote plain data takes these by its
`from_plain`.
"""

import types
import typing
from collections import abc
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import IntEnum, StrEnum
from functools import cache
from typing import Any, Literal, TypeVar, cast

import msgpack

from .errors import DecodeError, SecretRefused, VersionMismatch
from .mail import Envelope, Kind, Refusal, Verdict
from .secret import Secret

__all__ = ("VERSION", "decode", "decode_batch", "decode_verdicts", "encode", "encode_batch", "encode_verdicts")

VERSION = 1
"""First byte of everything that is encoded here."""

HEAD = bytes([VERSION])
ROW = (str, str, int, int, str, str, str, str, int, float, float, str, int)
"""The types of an envelope's fields as msgpack gives them."""

KIND = Envelope._fields.index("kind")
KINDS = {kind.value: kind for kind in Kind}
VERDICTS: dict[str | None, Verdict] = {None: None} | {refusal.value: refusal for refusal in Refusal}
TAG = "$"
FIELDS = "__dataclass_fields__"
OLDER = "from_plain"
SMALLEST, LARGEST = -(2**63), 2**64 - 1
PLAIN = frozenset({str, bytes, float, bool, type(None)})
"""What msgpack takes as it is; whole numbers are looked at."""
T = TypeVar("T")
Reader = Callable[[Any], Any]


def encode(value: object) -> bytes:
    """Bytes of a protocol value: a frozen dataclass, a named tuple, an enum, plain data, or tuples and maps of these.

    A lone surrogate, which a text from outside may hold, is written as it is.

    Raises:
        SecretRefused: The value holds a `Secret`.
        TypeError: The value holds something that is not plain data.
    """
    try:
        packed = plain(value)
    except (SecretRefused, TypeError):
        packed = plain(value, "value")  # once more, for the path
    return HEAD + msgpack.packb(packed, unicode_errors="surrogatepass")


def plain(value: object, where: str = "") -> object:
    """The value as msgpack's own types.

    Args:
        value: What is to be encoded.
        where: The attribute path, for errors; empty: nobody wants to know, for paths cost more than all the rest.

    Raises:
        SecretRefused: It holds a `Secret`.
        TypeError: It holds something that is not plain data.
    """
    kind = type(value)
    if kind in PLAIN or (kind is int and SMALLEST <= cast("int", value) <= LARGEST):
        return value
    match value:
        case tuple() | list():
            sequence = cast("tuple[object, ...]", value)
            return [plain(item, where and f"{where}[{index}]") for index, item in enumerate(sequence)]
        case StrEnum():
            return value.value
        case int() if not SMALLEST <= value <= LARGEST:
            raise TypeError(f"{where} is a whole number of more than 64 bits, which msgpack cannot hold.")
        case int() | float() | str() | bytes():
            return value
        case Secret():
            raise SecretRefused(where=where)
        case Mapping():
            items = cast("Mapping[str, object]", value).items()
            return {key: plain(item, where and f"{where}.{key}") for key, item in items}
        case _ if is_dataclass(value) and not isinstance(value, type):
            parts = {f.name: getattr(value, f.name) for f in fields(value)}
            body = {name: plain(part, where and f"{where}.{name}") for name, part in parts.items()}
            return {TAG: type(value).__name__, **body}
        case _:
            raise TypeError(f"{where} is a {type(value).__name__}, which is not plain data.")


def unpack(data: bytes, unicode_errors: str = "strict") -> Any:
    """Check the version byte and unpack the rest.

    Raises:
        VersionMismatch: Another version wrote it.
        DecodeError: It is not msgpack.
    """
    if not data:
        raise DecodeError(reason="there are none")
    if data[0] != VERSION:
        raise VersionMismatch(theirs=data[0], ours=VERSION)
    try:
        return msgpack.unpackb(memoryview(data)[1:], strict_map_key=False, unicode_errors=unicode_errors)
    except (ValueError, TypeError, msgpack.UnpackException) as error:  # TypeError: a map whose key is a list
        raise DecodeError(reason=str(error) or type(error).__name__) from None


def decode(data: bytes, expected: type[T]) -> T:
    """The value whose bytes these are; `expected` may be a union of dataclasses.

    Raises:
        DecodeError: The bytes are not of that type.
        VersionMismatch: Another version wrote them.
    """
    return cast("T", read(unpack(data, "surrogatepass"), expected))


def read(value: object, expected: object) -> object:
    """Plain data as the type `expected`.

    Raises:
        DecodeError: The data are not of that type.
    """
    try:
        return reader(expected)(value)
    except (TypeError, ValueError, KeyError, AttributeError, IndexError) as error:
        raise DecodeError(reason=f"not a {getattr(expected, '__name__', expected)}: {error}") from None


@cache
def reader(expected: Any) -> Reader:
    """The function that turns plain data into `expected`, made once per type."""
    if isinstance(expected, typing.NewType):
        return reader(expected.__supertype__)
    if isinstance(expected, type):
        return class_reader(expected)
    return generic_reader(typing.get_origin(expected), typing.get_args(expected))


def generic_reader(origin: Any, args: tuple[Any, ...]) -> Reader:
    """How a type with arguments is read: a union, a tuple of one type, a literal, a mapping."""
    if origin in {typing.Union, types.UnionType}:
        # A union with a dict is Json, which holds itself and is what msgpack gives.
        return as_is if any(typing.get_origin(arg) is dict for arg in args) else union_reader(args)
    if origin in {tuple, list}:
        if origin is tuple and args[1:] != (Ellipsis,):
            raise NotImplementedError("A tuple whose elements differ is a named tuple here.")
        item = reader(args[0])
        return lambda value: tuple(item(element) for element in checked(value, list))
    if origin is Literal:
        return lambda value: args[args.index(value)]
    return mapping_reader if origin is abc.Mapping else as_is


def as_is(value: Any) -> Any:
    """Plain data stay what they are."""
    return value


def mapping_reader(value: Any) -> Any:
    """A map with texts as keys; what it maps them to is plain data."""
    for key in checked(value, dict):
        checked(key, str)
    return value


def checked(value: Any, expected: type) -> Any:
    """The value, if it is of the type; True is no number, and an integer will do for a float."""
    if expected is float and type(value) is int:
        return float(value)
    if not isinstance(value, expected) or (isinstance(value, bool) and expected is not bool):
        raise TypeError(f"a {type(value).__name__} where a {expected.__name__} is due")
    return value


def class_reader(expected: Any) -> Reader:
    """How one class is read: a dataclass, a named tuple, an enum, or a plain type."""
    if is_dataclass(expected):
        return dataclass_reader(expected)
    if issubclass(expected, StrEnum):
        return cast("Reader", expected)
    if issubclass(expected, IntEnum):
        return lambda value: expected(checked(value, int))
    if "_fields" in vars(expected):
        return tuple_reader(expected)
    if expected in {str, int, float, bool, bytes, dict}:
        return lambda value: checked(value, expected)
    return as_is


def tuple_reader(expected: Any) -> Reader:
    """How a named tuple is read: by place; more than it has is ignored, what lacks at the end has its default."""
    hints = typing.get_type_hints(expected)
    readers = [reader(hints[name]) for name in expected._fields]
    needed = len(readers) - len(expected._field_defaults)

    def take(value: Any) -> Any:
        if len(checked(value, list)) < needed:
            raise TypeError(f"{len(value)} fields where {needed} are due")
        return expected(*(each(item) for each, item in zip(readers, value, strict=False)))

    return take


def dataclass_reader(expected: Any) -> Reader:
    """How a dataclass is read: known fields by name, missing ones by their defaults."""
    hints = typing.get_type_hints(expected)
    readers = {f.name: reader(hints[f.name]) for f in fields(expected)}
    needed = {f.name for f in fields(expected) if f.default is MISSING and f.default_factory is MISSING}
    older = plain_reader(expected)

    def take(value: Any) -> Any:
        if older is not None and tag_of(value) is None:
            return older(value)
        if checked(value, dict).get(TAG) != expected.__name__:
            raise TypeError(f"a {value.get(TAG)} where a {expected.__name__} is due")
        if missing := needed - value.keys():
            raise TypeError(f"{expected.__name__} lacks {', '.join(sorted(missing))}")
        return expected(**{name: each(value[name]) for name, each in readers.items() if name in value})

    return take


def plain_reader(expected: Any) -> Reader | None:
    """How a dataclass reads what older versions wrote in its place; None: nothing stood there."""
    if (older := getattr(expected, OLDER, None)) is None:
        return None
    (kind,) = [hint for name, hint in typing.get_type_hints(older).items() if name != "return"]
    return lambda value: older(checked(value, kind))


def tag_of(value: object) -> object:
    """The class name in a dataclass's map, or None."""
    return cast("dict[str, object]", value).get(TAG) if isinstance(value, dict) else None


def union_reader(args: tuple[Any, ...]) -> Reader:
    """How a union is read: None by value, dataclasses by their tag, one plain type by itself."""
    tagged: dict[object, Reader] = {arg.__name__: reader(arg) for arg in args if hasattr(arg, FIELDS)}
    untagged = [arg for arg in args if arg is not type(None) and (not hasattr(arg, FIELDS) or hasattr(arg, OLDER))]
    rest = [reader(arg) for arg in untagged]
    optional = type(None) in args

    def take(value: Any) -> Any:
        if value is None and optional:
            return None
        tag = tag_of(value)
        if tag is not None:
            return tagged[tag](value)
        for each in rest:
            try:
                return each(value)
            except (TypeError, ValueError):
                continue
        raise TypeError(f"a {type(value).__name__} that the union does not have")

    return take


def encode_batch(batch: tuple[Envelope, ...]) -> bytes:
    """Bytes of a batch of mail; the hot path, so without a look at each field."""
    return HEAD + msgpack.packb(batch)


def decode_batch(data: bytes) -> tuple[Envelope, ...]:
    """The batch of mail whose bytes these are.

    Raises:
        DecodeError: They are not a batch.
        VersionMismatch: Another version wrote them.
    """
    rows = unpack(data)
    try:
        return tuple([as_sent(row) for row in checked(rows, list)])
    except (TypeError, KeyError):  # damaged, or another side's: it takes the long way, and its flaw a name
        return cast("tuple[Envelope, ...]", read(rows, tuple[Envelope, ...]))


def as_sent(row: list[Any]) -> Envelope:
    """A row just as `encode_batch` writes it; reading one field by field takes ten times as long.

    Raises:
        TypeError: It is none, or not quite like that.
        KeyError: Its kind is unknown.
    """
    if tuple(map(type, row)) != ROW:
        raise TypeError
    row[KIND] = KINDS[row[KIND]]
    return tuple.__new__(Envelope, row)  # pyright: ignore[reportUnknownMemberType]


def encode_verdicts(verdicts: tuple[Verdict, ...]) -> bytes:
    """Bytes of a mailbox's answers, in the order of the batch."""
    return HEAD + msgpack.packb(verdicts)


def decode_verdicts(data: bytes) -> tuple[Verdict, ...]:
    """The answers whose bytes these are.

    Raises:
        DecodeError: They are none.
        VersionMismatch: Another version wrote them.
    """
    try:
        return tuple([VERDICTS[each] for each in checked(unpack(data), list)])
    except (TypeError, KeyError) as error:
        raise DecodeError(reason=f"not a mailbox's answers: {error}") from None
