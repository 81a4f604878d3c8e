"""How long a refused request is, and how long it may be: the numbers in a provider's words."""

import re
from typing import Final

from .complaint import Complaint
from .lenient import count

__all__ = ("window",)

NUMBER: Final = r"(\d[\d,]*)"
ASKED_AND_LIMIT: Final = (
    re.compile(rf"{NUMBER} (?:tokens )?(?:\+ \d+ )?> {NUMBER}"),
    re.compile(rf"too long: {NUMBER},? .*?length:? {NUMBER}"),
)
LIMIT: Final = re.compile(rf"(?:context (?:length|window|size)|limit)(?: for this model)?(?: is| of|:)? {NUMBER}")
ASKED: Final = re.compile(rf"(?:requested|resulted in|request has)(?: about)? {NUMBER}")
EXCESS: Final = re.compile(rf"exceeded by {NUMBER} tokens")


def window(complaint: Complaint) -> tuple[int | None, int | None]:
    """Tokens of the request and of the window; None for what the complaint does not say."""
    tokens, limit = count(complaint.error.get("n_prompt_tokens")), count(complaint.error.get("n_ctx"))
    if tokens or limit:
        return tokens or None, limit or None
    sentence = complaint.sentence.lower()
    for pattern in ASKED_AND_LIMIT:
        if found := pattern.search(sentence):
            return number(found), number(found, 2)
    asked, allowed, excess = ASKED.search(sentence), LIMIT.search(sentence), EXCESS.search(sentence)
    if allowed and excess:
        return number(allowed) + number(excess), number(allowed)
    return asked and number(asked), allowed and number(allowed)


def number(found: re.Match[str], group: int = 1) -> int:
    """The number of a group."""
    return int(found[group].replace(",", ""))
