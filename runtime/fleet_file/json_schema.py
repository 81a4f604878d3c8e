"""The JSON Schema of fleet files: for editors, and to tell which keys there are."""

import json
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, cast

from .problems import Keys
from .schema import Root

__all__ = ("json_schema", "keys_at", "shipped_schema", "written_schema")

SHIPPED = "fleet-file.schema.json"
"""The file beside this module that holds the schema as JSON."""

DIALECT = "https://json-schema.org/draft/2020-12/schema"

Schema = dict[str, Any]


def shipped_schema() -> str:
    """The schema as JSON, as it is shipped for editors."""
    return files(__package__ or "").joinpath(SHIPPED).read_text(encoding="utf-8")


def written_schema() -> str:
    """The schema as JSON, as it is to be shipped."""
    return f"{json.dumps(json_schema(), indent=2, ensure_ascii=False)}\n"


@cache
def json_schema() -> Schema:
    """The schema. What a class's docstring says of a field is the field's description."""
    from docstring_parser import parse

    schema = Root.model_json_schema()
    for definition in (schema, *schema["$defs"].values()):
        about = parse(definition.get("description", ""))
        if about.params:
            definition["description"] = about.short_description
        for one in about.params:
            definition["properties"][one.arg_name].setdefault("description", " ".join((one.description or "").split()))
    return {"$schema": DIALECT, **cast("Schema", untitled(schema)), "title": "A fleet file of Amrita Fleet"}


def untitled(value: object) -> object:
    """A schema without the titles that only say keys in other letters."""
    match value:
        case dict():
            parts = cast("Schema", value)
            return {name: untitled(part) for name, part in parts.items() if not (name == "title" and is_text(part))}
        case list():
            return [untitled(part) for part in cast("list[object]", value)]
        case _:
            return value


def is_text(value: object) -> bool:
    """Whether it is a title, not a property of that name."""
    return isinstance(value, str)


def keys_at(keys: Keys) -> tuple[str, ...]:
    """The keys that a mapping of a fleet file may have, where they are fixed; `keys` lead to it."""
    root = json_schema()
    here = [root]
    for key in keys:
        here = [below for each in here for below in beneath(root, each, key)]
    forms = (form.get("properties", {}) for each in here for form in resolved(root, each))
    return tuple(dict.fromkeys(name for properties in forms for name in properties))


def beneath(root: Schema, schema: Schema, key: str | int) -> Iterator[Schema]:
    """What may stand under a key."""
    for form in resolved(root, schema):
        properties: Mapping[str, Schema] = form.get("properties", {})
        rest = form.get("items") if isinstance(key, int) else form.get("additionalProperties")
        if not isinstance(key, int) and key in properties:
            yield properties[key]
        elif isinstance(rest, dict):
            yield cast("Schema", rest)


def resolved(root: Schema, schema: Schema) -> Iterator[Schema]:
    """The forms of a schema, without references."""
    if "$ref" in schema:
        yield from resolved(root, root["$defs"][schema["$ref"].rpartition("/")[2]])
        return
    forms = (*schema.get("anyOf", ()), *schema.get("oneOf", ()))
    if not forms:
        yield schema
    for form in forms:
        yield from resolved(root, form)


if __name__ == "__main__":
    sys.stdout.write(written_schema())
