"""Dataclasses that say at once when they are given a field that they do not have."""

from collections.abc import Mapping
from dataclasses import MISSING, fields
from difflib import get_close_matches
from typing import Any, ClassVar, Self, cast

from .errors import PresetInvalid

__all__ = ("Strict",)


class Strict:
    """Base of frozen dataclasses that refuse unknown fields by name and can be read from a mapping."""

    hints: Mapping[str, str] = {}

    # What pydantic reads for `parse`: by itself it lets unknown fields of nested dataclasses fall.
    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    def __new__(cls, *args: object, **given: object) -> Self:
        """Refuse a field that the class does not have, naming the nearest one, and a value without its field's name.

        Raises:
            PresetInvalid: There is no such field, or a field is missing that must be given.
        """
        known = [f.name for f in fields(cast("Any", cls))]
        for name in given:
            if name not in known:
                raise PresetInvalid(field=name, reason=cls._unknown(name, known))
        if args or given:  # nothing at all is given where one is made anew from another process's bytes
            cls._check_whole(args, given)
        return super().__new__(cls)

    @classmethod
    def _check_whole(cls, args: tuple[object, ...], given: Mapping[str, object]) -> None:
        every = fields(cast("Any", cls))
        placed = [one.name for one in every if not one.kw_only]
        if len(args) > len(placed):
            name = every[len(placed)].name
            reason = f"{cls.__name__} takes {name} by name: write {cls.__name__}({name}=...)."
            raise PresetInvalid(field=name, reason=reason)
        for one in every:
            there = one.name in given or one.name in placed[: len(args)]
            if not there and one.default is MISSING and one.default_factory is MISSING:
                raise PresetInvalid(field=one.name, reason=f"{cls.__name__} needs {one.name}=... to be given.")

    @classmethod
    def _unknown(cls, name: str, known: list[str]) -> str:
        if name in cls.hints:
            return f"{cls.__name__} has no field {name!r}: {cls.hints[name]}"
        near = get_close_matches(name, known, n=1)
        advice = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known)}."
        return f"{cls.__name__} has no field {name!r}: {advice}"

    @classmethod
    def parse(cls, given: Mapping[str, Any]) -> Self:
        """Read one from plain data, nested fields included, with every value checked by pydantic.

        Raises:
            PresetInvalid: A field is unknown or a value has the wrong type.
        """
        from pydantic import TypeAdapter, ValidationError

        cls.__new__(cls, **dict.fromkeys(given))
        parts = {f.name: f.type for f in fields(cast("Any", cls))}
        try:
            return TypeAdapter(cls).validate_python({name: part(name, parts[name], given[name]) for name in given})
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            cause = first.get("ctx", {}).get("error")
            if isinstance(cause, PresetInvalid):
                raise cause from None
            where = ".".join(str(part) for part in first["loc"]) or cls.__name__
            what = first["msg"].removeprefix("Value error, ").removesuffix(".")
            raise PresetInvalid(field=where, reason=f"{cls.__name__}.{where}: {what}.") from None


def part(name: str, expected: object, given: object) -> object:
    """A field's value, parsed already where the field is a part that refuses unknown fields itself.

    Raises:
        PresetInvalid: The part cannot work; its field's path begins with `name`.
    """
    if not (isinstance(expected, type) and issubclass(expected, Strict) and isinstance(given, Mapping)):
        return given
    try:
        return expected.parse(cast("Mapping[str, Any]", given))
    except PresetInvalid as error:
        raise PresetInvalid(field=f"{name}.{error.field}", reason=error.reason) from None
