"""What a census comes to: the figures, how they are told, read, merged and counted directly."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from json import JSONDecodeError, JSONDecoder
from typing import Any, Self, TypeGuard, cast

from .counting import lines_of, words_of
from .folder import Folder
from .ranking import TOP, WordList, most_frequent, ranking

__all__ = ("Figures", "Report", "count_directly", "merged", "read_answer")


@dataclass(frozen=True, slots=True)
class Figures:
    """The census of a folder.

    Attributes:
        words: The most frequent words with their counts, most frequent first: ten, or those that are certain of them.
    """

    files: int
    lines: int
    words: Mapping[str, int]

    def agrees(self, direct: "Figures") -> bool:
        """Whether these are the directly counted ones, as far as they go."""
        told, counted = list(self.words.items()), list(direct.words.items())
        return (self.files, self.lines, told) == (direct.files, direct.lines, counted[: len(told)])

    def shown(self) -> dict[str, Any]:
        """The figures as JSON; the number of words shows whoever reads them elsewhere that none was left out."""
        return {"files": self.files, "lines": self.lines, "certain_words": len(self.words), "words": dict(self.words)}

    @classmethod
    def read(cls, given: Mapping[str, object]) -> Self | None:
        """What `shown` gave; None when it is not that, or not whole."""
        files, lines, certain, words = (given.get(name) for name in ("files", "lines", "certain_words", "words"))
        if is_count(files) and is_count(lines) and are_counts(words) and certain == len(words):
            return cls(files, lines, words)
        return None


@dataclass(frozen=True, slots=True)
class Report:
    """The census of a range of files."""

    files: int
    lines: int
    words: WordList

    @classmethod
    def read(cls, text: str) -> Self:
        """A report from the JSON text that a worker sent.

        Raises:
            ValueError: It is none; the sentence says what is wrong.
        """
        try:
            given: object = json.loads(text)
        except JSONDecodeError as error:
            raise ValueError(f"this is not the JSON text of a report ({error}): {text[:80]}") from None
        fields = cast("dict[str, object]", given) if isinstance(given, dict) else {}
        files, lines, words, others = (fields.get(name) for name in ("files", "lines", "words", "others_at_most"))
        if not (is_count(files) and is_count(lines) and is_count(others) and are_counts(words)):
            raise ValueError(f"a report has files, lines, words and others_at_most, with counts, unlike: {text[:80]}")
        return cls(files, lines, WordList(words, others))


def is_count(value: object) -> TypeGuard[int]:
    """Whether it is a number of things."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def are_counts(value: object) -> TypeGuard[dict[str, int]]:
    """Whether it says how many there are of each."""
    return isinstance(value, dict) and all(map(is_count, cast("dict[str, object]", value).values()))


def merged(reports: list[Report]) -> Figures:
    """The census of all ranges together."""
    words = most_frequent([report.words for report in reports])
    return Figures(sum(report.files for report in reports), sum(report.lines for report in reports), words)


def count_directly(folder: Folder) -> Figures:
    """The census made here, without agents."""
    last = len(folder.files) - 1
    words = words_of(folder.contents(0, last))
    top = {word: words[word] for word in ranking(words)[:TOP]}
    return Figures(sum(1 for _ in folder.contents(0, last)), lines_of(folder.contents(0, last)), top)


def read_answer(text: str) -> Figures | None:
    """The figures in a lead's answer: its last JSON object that has them; None when there is none."""
    found = (Figures.read(given) for given in reversed(tuple(objects(text))))
    return next((figures for figures in found if figures), None)


def objects(text: str) -> Iterator[dict[str, object]]:
    """The JSON objects within a text, in order."""
    decoder, place = JSONDecoder(), text.find("{")
    while place >= 0:
        try:
            given, end = decoder.raw_decode(text, place)
        except JSONDecodeError:
            end = place + 1
        else:
            yield cast("dict[str, object]", given)
        place = text.find("{", end)
