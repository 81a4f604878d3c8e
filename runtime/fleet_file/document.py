"""YAML as plain data, with the place of each key and each value.

Of YAML only what is data is read: no tags, no key twice, no key that is no text. Anchors, aliases and `<<` may be
used, as long as what they come to is bounded.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

import yaml
from yaml.constructor import SafeConstructor
from yaml.error import Mark
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.reader import ReaderError

from ...protocols.messages import Json
from ..given import text_flaw
from .problems import Keys, Place, Problems
from .source import position_of

__all__ = ("read_document",)

MOST_DEPTH = 32
"""How deep values may lie in values."""

DEEP = f"Values lie more than {MOST_DEPTH} deep in one another here."

MOST_VALUES = 100_000
"""How many values a file may come to: with aliases of aliases, a few lines come to billions."""

MOST_NUMBER = 2**63 - 1

TAG = "tag:yaml.org,2002:"
TEXTS = frozenset({f"{TAG}str", f"{TAG}timestamp", f"{TAG}value"})
"""What is taken as it is written. A day is: every field that holds one takes a text."""
MERGE = f"{TAG}merge"
NULL, BOOL, INT, FLOAT = (f"{TAG}{kind}" for kind in ("null", "bool", "int", "float"))


class TooDeep(Exception):
    """Values lie too deep in values; `mark` is where."""

    def __init__(self, mark: Mark) -> None:
        """Keep the place."""
        super().__init__("too deep")
        self.mark = mark


class Loader(yaml.SafeLoader):
    """Reads a text to nodes, and does so no deeper than what Python's stack has room for."""

    def __init__(self, stream: str) -> None:
        """Begin at the top."""
        super().__init__(stream)
        self._depth = 0

    def compose_node(self, parent: Node | None, index: int) -> Node | None:
        """One node with all that is in it."""
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise TooDeep(cast("Any", self).peek_event().start_mark)
        try:
            return super().compose_node(parent, index)
        finally:
            self._depth -= 1


def read_document(text: str, problems: Problems) -> Json:
    """The data in a YAML text; None where nothing can be made of it, or it holds nothing.

    Args:
        text: The YAML.
        problems: Gets what is wrong, and the place of each key and value.
    """
    node = composed(text, problems)
    if node is None:
        return None
    reading = Reading(problems)
    data = reading.value(node, (), position(node.start_mark))
    problems.places = reading.places
    return data


def composed(text: str, problems: Problems) -> Node | None:
    """The root node; None where there is none, which is noted unless the text is merely empty."""
    loader = None
    try:
        loader = Loader(text)
        return loader.get_single_node()
    except TooDeep as error:
        problems.at(position(error.mark), DEEP)
    except ReaderError as error:
        what = f"The character #x{error.character:04x} is none that YAML allows."
        problems.at(position_of(text, error.position), what)
    except yaml.MarkedYAMLError as error:
        problems.at(position(error.problem_mark or error.context_mark), syntax(error, text))
    except (ValueError, OverflowError):  # PyYAML, of an escape in a text that names no character
        problems.at(position(loader.get_mark() if loader else None), "This escape names no character.")
    finally:
        if loader is not None:
            loader.dispose()
    return None


def syntax(error: yaml.MarkedYAMLError, text: str) -> str:
    """What is wrong with the YAML, as a sentence."""
    mark = error.problem_mark
    if mark is not None and text[mark.index : mark.index + 1] == "\t":
        return "There is a tab here: YAML is indented with spaces."
    parts = (error.context, error.problem)
    said = ", ".join(" ".join(part.split()) for part in parts if part)
    return f"This is no YAML: {said or 'it cannot be read'}."


def position(mark: Mark | None) -> tuple[int, int]:
    """Line and column, both from 1."""
    return (1, 1) if mark is None else (mark.line + 1, mark.column + 1)


@dataclass
class Reading:
    """Turns nodes into data.

    Attributes:
        problems: Gets what is wrong.
        places: Where everything stands.
    """

    problems: Problems
    places: dict[Keys, Place] = field(default_factory=dict[Keys, Place])
    _count: int = field(default=0, init=False)

    def value(self, node: Node, keys: Keys, key: tuple[int, int]) -> Json:
        """The data of a node that `keys` lead to, the last of which stands at `key`."""
        here = position(node.start_mark)
        self.places.setdefault(keys, Place(key, here))
        if self._too_many(here):
            return None
        if len(keys) > MOST_DEPTH:  # by aliases, of which one may lead to what it lies in
            self.problems.at(here, DEEP, keys[:MOST_DEPTH])
            return None
        match node:
            case MappingNode():
                return self._mapping(node, keys)
            case SequenceNode():
                return self._sequence(node, keys)
            case _:
                return self._scalar(cast("ScalarNode", node), keys)

    def _too_many(self, here: tuple[int, int]) -> bool:
        """Count one more; gives whether that is too many, which is noted once."""
        self._count += 1
        if self._count == MOST_VALUES + 1:
            self.problems.at(here, f"The file comes to more than {MOST_VALUES:,} values: aliases multiply them.")
        return self._count > MOST_VALUES

    def _sequence(self, node: SequenceNode, keys: Keys) -> Json:
        if node.tag != f"{TAG}seq":
            return self._tagged(node, keys)
        children = cast("list[Node]", node.value)
        return [self.value(each, (*keys, at), position(each.start_mark)) for at, each in enumerate(children)]

    def _mapping(self, node: MappingNode, keys: Keys) -> Json:
        if node.tag != f"{TAG}map":
            return self._tagged(node, keys)
        found: dict[str, tuple[Node, Node]] = {}
        own: dict[str, int] = {}
        for key, value, merged in self._pairs(node, keys):
            if merged and self._too_many(position(key.start_mark)):
                break
            if (name := self._name(key, keys)) is None or (merged and name in found):
                continue
            if name in own and not merged:
                text = f'The key "{name}" is here twice; it stands in line {own[name]} already.'
                self.problems.at(position(key.start_mark), text, (*keys, name))
                continue
            if not merged:
                own[name] = key.start_mark.line + 1
            found[name] = key, value
        return {
            name: self.value(value, (*keys, name), position(key.start_mark)) for name, (key, value) in found.items()
        }

    def _pairs(self, node: MappingNode, keys: Keys, depth: int = 0) -> Iterator[tuple[Node, Node, bool]]:
        """Its keys with their values, and then those that `<<` adds, which count less; each with whether it is one."""
        pairs = cast("list[tuple[Node, Node]]", node.value)
        yield from ((key, value, depth > 0) for key, value in pairs if key.tag != MERGE)
        for key, value in pairs:
            if key.tag != MERGE:
                continue
            for each in cast("list[Node]", value.value) if isinstance(value, SequenceNode) else [value]:
                here = position(key.start_mark)
                if not isinstance(each, MappingNode):
                    self.problems.at(here, "<< takes a mapping, or a list of them, as in `<<: *base`.", keys)
                elif depth == MOST_DEPTH:
                    self.problems.at(here, DEEP, keys)
                elif not self._too_many(here):
                    yield from self._pairs(each, keys, depth + 1)

    def _name(self, key: Node, keys: Keys) -> str | None:
        """A key as a text; None where it is none."""
        here = position(key.start_mark)
        if not isinstance(key, ScalarNode):
            self.problems.at(here, "A key must be a text, not a mapping or a list.", keys)
            return None
        written = str(key.value)
        if key.tag not in TEXTS:
            text = f'A key must be a text, and YAML reads {written or "this"} as {kind_of(key)}: write "{written}".'
            self.problems.at(here, text, keys)
            return None
        if flaw := flaw_of(written):
            self.problems.at(here, f"This key {flaw}.", keys)
            return None
        return written

    def _scalar(self, node: ScalarNode, keys: Keys) -> Json:
        written, here = str(node.value), position(node.start_mark)
        if node.tag in TEXTS:
            if flaw := flaw_of(written):
                self.problems.at(here, f"This text {flaw}.", keys)
                return None
            return written
        if node.tag not in {NULL, BOOL, INT, FLOAT}:
            return self._tagged(node, keys)
        try:
            number = None if node.tag == NULL else scalar(node)
        except (ValueError, OverflowError, KeyError, IndexError):
            self.problems.at(here, f"YAML cannot read this as {kind_of(node)}: put it in quotes if it is a text.", keys)
            return None
        if isinstance(number, int) and abs(number) > MOST_NUMBER:
            self.problems.at(here, f"This number is too large: the largest is {MOST_NUMBER:,}.", keys)
            return None
        return number

    def _tagged(self, node: Node, keys: Keys) -> Json:
        tag = str(node.tag).replace(TAG, "!!")
        self.problems.at(position(node.start_mark), f"A fleet file has plain data only: leave out the tag {tag}.", keys)
        return None


def flaw_of(text: str) -> str:
    """What is wrong with a text, for a sentence about it; empty: nothing."""
    return "holds the character #x0000, which neither paths nor names may have" if "\0" in text else text_flaw(text)


def scalar(node: ScalarNode) -> Json:
    """A bool or a number, as PyYAML makes it."""
    made: dict[str, Any] = {
        BOOL: SafeConstructor.construct_yaml_bool,
        INT: SafeConstructor.construct_yaml_int,
        FLOAT: SafeConstructor.construct_yaml_float,
    }
    return cast("Json", made[node.tag](SafeConstructor(), node))


def kind_of(node: Node) -> str:
    """What YAML takes a scalar for."""
    names = {NULL: "nothing", BOOL: "true or false", INT: "a number", FLOAT: "a number", MERGE: "a merge"}
    return names.get(str(node.tag), f"a value of the tag {str(node.tag).replace(TAG, '!!')}")
