"""Ids of calls as a provider wants them.

The transcript keeps the ids that came. A request carries them as they are where the provider that reads them is the
one that made them and takes their form; else a made one, the same for a call and its result. It depends on where the
call stands as well, since some providers count from 0 again in each answer.
"""

import re
import string
from hashlib import sha256
from typing import Final

from ..messages import Message, ToolResult, Turn
from ..profiles import Profile

__all__ = ("at_home", "result_id", "sent_id")

ALPHABET: Final = string.ascii_letters + string.digits
LENGTH: Final = 9
"""Characters of a made id: letters and digits, nine of them, which is what the strictest provider takes."""


def at_home(message: Message, profile: Profile) -> bool:
    """Whether a message goes back to where it came from, or came from nowhere."""
    return message.profile in {"", profile.name}


def sent_id(call_id: str, place: int, profile: Profile, *, home: bool) -> str:
    """The id under which a call goes out.

    Args:
        call_id: As it came.
        place: Where in the conversation the message with the call stands.
        profile: Who reads it.
        home: Whether that is who made it.
    """
    return call_id if home and re.fullmatch(profile.ids, call_id) else made_id(f"{place}:{call_id}")


def result_id(turns: tuple[Turn, ...], place: int, profile: Profile) -> str:
    """The id under which the call that the result at `place` answers went out."""
    result = turns[place]
    if not isinstance(result, ToolResult):
        raise TypeError(f"turn {place} is no tool result")
    asked = place
    while asked >= 0 and isinstance(turns[asked], ToolResult):
        asked -= 1
    message = turns[asked] if asked >= 0 else None
    home = not isinstance(message, Message) or at_home(message, profile)
    return sent_id(result.call_id, asked, profile, home=home)


def made_id(seed: str) -> str:
    """An id that the same seed always gives and no other one, as far as a digest can tell."""
    number = int.from_bytes(sha256(seed.encode("utf-8", "replace")).digest())
    letters: list[str] = []
    for _ in range(LENGTH):
        number, letter = divmod(number, len(ALPHABET))
        letters.append(ALPHABET[letter])
    return "".join(letters)
