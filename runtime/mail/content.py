"""When two messages say the same: what is compared where agents may be talking in circles.

The same is what differs only in how it is written: Unicode form, case, white space, and the punctuation and markup
around words. Everything else is content. Numbers above all: "report 17: ok" and "report 18: ok" are two reports, and a
measure of likeness would take them for one, while it would tell apart two thanks in other words. So nothing is guessed:
agents that say the same in ever new words are held by their limits, not by this.
"""

from unicodedata import normalize

from ..fingerprint import fingerprint

__all__ = ("content_digest",)

AROUND = ".,:;!?\u2026\"'`*_()[]{}\u201c\u201d\u201e\u2018\u2019\u00ab\u00bb"
"""Characters that say nothing at the edge of a word. `-`, `+`, `<` and their like do: they may be a sign or a rule."""


def content_digest(body: str) -> str:
    """16 hex digits that two messages share when they say the same, in every process.

    A text of nothing but such characters, as `?!`, counts as it stands.
    """
    words = [word for each in normalize("NFKC", body).casefold().split() if (word := each.strip(AROUND))]
    text = " ".join(words) or " ".join(body.split())
    return fingerprint(text)
