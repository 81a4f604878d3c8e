"""What pydantic finds wrong, in the words of the file."""

import re
from collections.abc import Mapping
from typing import Any, cast

from pydantic import ValidationError

from ...protocols.errors import PresetInvalid
from .json_schema import keys_at
from .problems import Keys, Problems, nearest
from .schema import HINTS, TAGS

__all__ = ("KEPT_OUT", "add_invalid", "add_refusal", "names_secret", "refusal")

KINDS = {
    "string_type": "a text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "dict_type": "a mapping, as in `key: value`",
    "model_type": "a mapping, as in `key: value`",
    "model_attributes_type": "a mapping, as in `key: value`",
    "dataclass_type": "a mapping, as in `key: value`",
    "list_type": "a list, as in `[one, two]`",
    "tuple_type": "a list, as in `[one, two]`",
}
"""What pydantic misses, in our words, by its types of errors."""

BOUNDS = {
    "greater_than_equal": ("at least", "ge"),
    "greater_than": ("above", "gt"),
    "less_than_equal": ("at most", "le"),
}

OUR_NAMES = re.compile(
    r"^(Agent|Limits|TokenLimit|[A-Z]\w+Config|[A-Z]\w+Policy|ModelPreset|Price|Mcp\w+)\.[\w.]+ (?=must )"
)
"""What begins a sentence of ours whose place is told already."""

SECRET = re.compile(r"(?i)(authorization|cookie|(api|access|auth|private)[-_]?key|token|secret|passwd|password)$")

KEPT_OUT = "A key does not belong into a file that is shared: write {env: NAME}, and have that variable hold the key."
"""What is said of a key in plain text; the text itself is never shown."""

SHOWN = 40
"""Characters of a value that a problem quotes."""


def add_invalid(problems: Problems, error: ValidationError) -> None:
    """Note all that pydantic found."""
    for each in error.errors(include_url=False):
        keys: Keys = tuple(key for key in each["loc"] if key not in TAGS and key != "[key]")
        add_one(problems, keys, cast("Mapping[str, Any]", each))


def add_one(problems: Problems, keys: Keys, found: Mapping[str, Any]) -> None:
    """Note one thing that it found."""
    kind, facts = str(found["type"]), cast("Mapping[str, Any]", found.get("ctx", {}))
    if isinstance(cause := facts.get("error"), PresetInvalid):
        add_refusal(problems, keys, cause)
    elif kind == "missing":
        problems.add(keys, "This must be given.")
    elif kind in {"extra_forbidden", "unexpected_keyword_argument"}:
        problems.add(keys, unknown_key(keys), key=True)
    elif keys[-1:] == ("api_key",):
        problems.add(keys, KEPT_OUT)
    elif kind in {"too_short", "string_too_short"}:
        problems.add(keys, "This is empty: it must hold something.")
    elif found["loc"][-1:] == ("[key]",):
        problems.add(keys, f"There is no such key. {nearest(str(keys[-1]), choices(facts))}", key=True)
    else:
        problems.add(keys, mismatch(kind, facts, found))


def mismatch(kind: str, facts: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    """What a value must be, and what it is."""
    given = found["input"]
    if kind in KINDS:
        return f"This must be {KINDS[kind]}, not {described(given)}{advice(kind, given)}."
    if kind in BOUNDS:
        words, bound = BOUNDS[kind]
        return f"This must be {words} {facts[bound]:,}, not {described(given)}."
    if kind in {"literal_error", "enum"} and isinstance(given, str):
        return f"There is no {quoted(given)} here. {nearest(given, choices(facts))}"
    said = re.sub(r"^(Value error, |Input should be |Input should )", "This must be ", str(found["msg"]))
    return f"{said.rstrip('.')}."


def choices(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """The words that pydantic expects."""
    return tuple(re.findall(r"'([^']*)'", str(facts.get("expected", ""))))


def unknown_key(keys: Keys) -> str:
    """That there is no such key, and what there is."""
    name, known = str(keys[-1]), keys_at(keys[:-1])
    if name in HINTS:
        return f"There is no key {quoted(name)} here: {HINTS[name]}."
    return f"There is no key {quoted(name)} here. {nearest(name, known)}"


def described(given: object) -> str:
    """A value as it was given."""
    match given:
        case None:
            return "nothing"
        case bool():
            return "true" if given else "false"
        case str():
            return f"the text {quoted(given)}"
        case int() | float():
            return f"{given}"
        case list():
            return "a list"
        case _:
            return "a mapping"


def quoted(text: object) -> str:
    """A text in quotes, and no more of it than is needed to find it."""
    said = str(text)
    return f'"{said}"' if len(said) <= SHOWN else f'"{said[:SHOWN]}..."'


def advice(kind: str, given: object) -> str:
    """What to do about a value of the wrong kind, where that is the usual mistake."""
    if kind == "string_type" and isinstance(given, bool | int | float):
        return ": put it in quotes"
    if kind in {"int_type", "float_type"} and isinstance(given, str):
        try:
            float(given)
        except ValueError:
            return ""
        return ": leave out the quotes"
    return ""


def add_refusal(problems: Problems, keys: Keys, error: PresetInvalid) -> None:
    """Note what one of our own values refuses, at the field that it names."""
    field = tuple(part for part in error.field.split(".") if part)
    there = next(
        (keys + field[:end] for end in range(len(field), 0, -1) if keys + field[:end] in problems.places), keys
    )
    if there == keys and field[:1] and field[0] in keys_at(keys):
        there = (*keys, field[0])  # it is missing
    problems.add(there, refusal(error))


def refusal(error: Exception) -> str:
    """A sentence of ours without what the place tells already."""
    return OUR_NAMES.sub("This ", str(error))


def names_secret(name: str) -> bool:
    """Whether a header or a variable of this name most probably holds a key."""
    return SECRET.search(name) is not None
