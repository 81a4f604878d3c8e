"""What the runtime says to a model, and the texts it writes in a tool's or a model's place.

Every failure the runtime reports begins `ERROR: `; a cancelled call and a call that may have run are no failures.
"""

import re
from unicodedata import category, normalize

from ...protocols.ids import SUPERVISOR
from .state import Mail

__all__ = (
    "CANCELLED",
    "CUT",
    "EMPTY_REPLY",
    "GIVE_UP",
    "INTERRUPTED",
    "LAST_ANSWER",
    "NO_MAIL",
    "mail_note",
    "without_model",
)

CANCELLED = "Cancelled: Reach the max limit of repeatly calling tool."
"""Output of the N-th identical call, word for word as the users' documentation quotes it."""

CUT = (
    "ERROR: Your reply was cut at the output limit before this call was whole, so it was not run. "
    "Split the work into smaller calls."
)
INTERRUPTED = "This call was interrupted; it may have run."
GIVE_UP = (
    "You have repeated the same tool calls without getting further. Stop calling tools now. "
    "Say what you found, what is missing and why you could not finish."
)
LAST_ANSWER = "A limit is reached and no more tools can be called ({limit}). Give your final answer from what you have."
EMPTY_REPLY = "Your last reply was empty. Answer in words, or call a tool."
NO_MAIL = "[Note from the runtime]\nNo message came within {seconds:g} seconds."


PLAIN = re.compile(r"[\w.:/@+-]+")
"""What may stand in a head of the words a sender chose."""

UNSEEN = frozenset({"Cc", "Cf", "Zs", "Mn"})
"""Unicode categories of characters that a reader does not see at the beginning of a line."""


def mail_note(mails: tuple[Mail, ...]) -> str:
    """One user note that names each sender; a body cannot claim to come from somebody else.

    A body's own lines that look like a head are indented by one space, so that only the runtime can write heads.
    """
    return "\n\n".join(f"{head(mail)}\n{guarded(mail.body)}" for mail in mails)


def head(mail: Mail) -> str:
    """The line that says whose message follows."""
    if mail.sender == SUPERVISOR:
        return "[Note from the runtime]"
    answer = f", in answer to {mail.reply_to}" if PLAIN.fullmatch(mail.reply_to) else ""
    return f"[Message {mail.id} from {mail.sender}{answer}]"


def guarded(body: str) -> str:
    """The body with lines that look like the runtime's heads indented."""
    return "\n".join(f" {line}" if looks_like_head(line) else line for line in body.splitlines() or [""])


def looks_like_head(line: str) -> bool:
    """Whether a reader could take the line for a head: unseen characters, width and case of letters do not count."""
    seen = "".join(each for each in normalize("NFKC", line) if category(each) not in UNSEEN)
    return seen.casefold().startswith(("[message", "[note"))


def without_model(last_text: str, outputs: tuple[str, ...]) -> str:
    """A last answer when no model call is possible: what was said last, and the newest tool results."""
    parts = [last_text] if last_text else []
    parts += [f"Tool result: {output[:500]}" for output in outputs]
    return "\n".join(parts) or "No answer: the run ended before the model said anything."
