"""How lines and words of a file are counted, by the workers and by the direct count alike.

A line ends with a newline; a last one without it counts too. A word is a run of two or more of the letters a to z and
the underscore, after capitals were made small.
"""

import re
from collections import Counter
from collections.abc import Iterable

__all__ = ("lines_of", "words_of")

WORD = re.compile(rb"[a-z_]{2,}")


def lines_of(contents: Iterable[bytes]) -> int:
    """How many lines there are in all."""
    return sum(content.count(b"\n") + (not content.endswith(b"\n")) for content in contents if content)


def words_of(contents: Iterable[bytes]) -> Counter[str]:
    """How often each word stands there."""
    words: Counter[bytes] = Counter()
    for content in contents:
        words.update(WORD.findall(content.lower()))
    return Counter({word.decode(): count for word, count in words.items()})
