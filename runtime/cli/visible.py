"""Texts as a terminal may get them: agents, models, tools and files have written them, and none may steer it."""

import re

__all__ = ("harmless", "harmless_json", "visible")

STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""What moves the cursor, colours, names windows, or turns the order of characters about; and halves of pairs, which no
terminal can be sent. A line's end and a tab are none of it."""


def visible(text: str) -> str:
    """A text in which every character is seen: one that moves others about could show a person another call."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def harmless(text: str) -> str:
    """A text of lines in which whatever would steer a terminal is seen instead of obeyed."""
    return STEERING.sub(lambda found: visible(found[0]), text.replace("\r\n", "\n"))


def harmless_json(text: str) -> str:
    """JSON that says the same, and steers no terminal: outside of strings there is nothing that could."""
    return STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
