"""The most frequent words of a folder, from lists that each hold only the most frequent words of a part of it.

A list is short, so it says as well how often a word that it leaves out can stand there at most. From all of them
together follows, for each word, the least and the most that it can stand in the whole folder; and so, from the top of
the ranking downwards, which words have their place and their count for certain.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = ("TOP", "WordList", "most_frequent", "ranking")

TOP = 10
"""Words of a census."""

LISTED = 50
"""Words of one list: a model has to copy them, and in ranges that are fair samples few more are needed."""


@dataclass(frozen=True, slots=True)
class WordList:
    """The most frequent words of a part.

    Attributes:
        words: How often each of them stands there.
        others_at_most: How often any other word stands there at most; 0 when there is no other.
    """

    words: Mapping[str, int]
    others_at_most: int = 0

    @classmethod
    def of(cls, words: Mapping[str, int], length: int = LISTED) -> "WordList":
        """A list of the first `length` words."""
        ranked = ranking(words)
        left_out = words[ranked[length]] if len(ranked) > length else 0
        return cls({word: words[word] for word in ranked[:length]}, left_out)


def ranking(words: Mapping[str, int]) -> list[str]:
    """Words by falling count; those with equal counts by the alphabet."""
    return sorted(words, key=lambda word: (-words[word], word))


def most_frequent(lists: Sequence[WordList], length: int = TOP) -> dict[str, int]:
    """The first words of the whole ranking, as many of `length` as are certain in place and count."""
    least: Counter[str] = Counter()
    for one in lists:
        least.update(one.words)
    most = {word: least[word] + hidden(word, lists) for word in least}
    unlisted = sum(one.others_at_most for one in lists)
    certain: dict[str, int] = {}
    for word in ranking(most)[:length]:
        if most[word] > least[word] or least[word] <= unlisted:
            break
        certain[word] = least[word]
    return certain


def hidden(word: str, lists: Sequence[WordList]) -> int:
    """How often a word can stand at most in the parts whose lists leave it out."""
    return sum(one.others_at_most for one in lists if word not in one.words)
