"""What the runtime says to a model, and the texts it writes in a tool's or a model's place.

Every failure the runtime reports begins `ERROR: `; a cancelled call and a call that may have run are no failures.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

from ...protocols.ids import SUPERVISOR, USER
from ...protocols.waits import Endless
from .heads import FROM_RUNTIME, guarded
from .phases import Mail

__all__ = (
    "CANCELLED",
    "CORRECT",
    "CUT",
    "EMPTY_REPLY",
    "FINAL",
    "GIVE_UP",
    "GIVE_UP_NODE",
    "INTERRUPTED",
    "LAST_ANSWER",
    "LEFT_OUT",
    "MAIL_GONE",
    "NOT_RUN",
    "NO_MAIL",
    "REFUSED",
    "WAIT_ENDED",
    "mail_note",
    "node_note",
    "said_note",
    "without_model",
)

CANCELLED = "Cancelled: Reach the max limit of repeatly calling tool."
"""Output of the N-th identical call, word for word as the users' documentation quotes it."""

LEFT_OUT = (
    "ERROR: This call was not run: calls of tools are limited, and this reply had no more of them. What ran is above."
)
"""Output of a call that a limit does not let through."""

CUT = (
    "ERROR: Your reply was cut at the output limit before this call was whole, so it was not run. "
    "Split the work into smaller calls."
)
INTERRUPTED = "This call was interrupted; it may have run."
NOT_RUN = "This call was not run: nobody had allowed it when the run was ended."
REFUSED = "Cancelled: A person did not allow this call{reason}. Do not repeat it."
GIVE_UP = (
    "You have repeated the same tool calls without getting further. Stop calling tools now. "
    "Say what you found, what is missing and why you could not finish."
)
GIVE_UP_NODE = (
    "You have repeated the same tool calls without getting further, so this step of the plan is given up. "
    "Steps that do not need it go on."
)
FINAL = (
    "No step of the plan is left to work on. Answer the request now, from what the steps came to. "
    "Say which steps were not done, if any."
)
CORRECT = "Your answer is not of the form that is asked for: {flaw} Give the whole answer again, corrected."
LAST_ANSWER = "A limit is reached and no more tools can be called ({limit}). Give your final answer from what you have."
EMPTY_REPLY = "Your last reply was empty. Answer in words, or call a tool."
MAIL_GONE = FROM_RUNTIME + "\nThe message that came after your answer is gone. Give your answer again."
NO_MAIL = FROM_RUNTIME + "\nNo message came within {seconds:g} seconds."
WAIT_ENDED: Mapping[Endless, str] = MappingProxyType(
    {
        Endless.KNOT: FROM_RUNTIME + "\nYou do not wait, for nobody would ever write: {why}. "
        "Write to one of them, go on without an answer, or end with what you have.",
        Endless.GONE: FROM_RUNTIME + "\nYou do not wait, for no message will come: {why}. "
        "Go on without it, ask another agent, or end with what you have.",
        Endless.QUIET: FROM_RUNTIME + f"\nYou wait no longer: {{why}}. Write to an agent that has something to do, "
        f"go on without an answer, or end with what you have. To wait for the person, wait for messages from {USER}.",
    }
)
"""Why a wait is over that nobody would end, and what to do then."""


PLAIN = re.compile(r"[\w.:/@+-]+")
"""What may stand in a head of the words a sender chose."""


def mail_note(mails: tuple[Mail, ...]) -> str:
    """One user note that names each sender; a body cannot claim to come from somebody else.

    A body's own lines that look like a head are indented by one space, so that only the runtime can write heads.
    """
    return "\n\n".join(f"{head(mail)}\n{guarded(mail.body)}" for mail in mails)


def said_note(texts: tuple[str, ...]) -> str:
    """What the person who gave the task added before it was begun."""
    return "\n\n".join(f"[Message from {USER}]\n{guarded(text)}" for text in texts)


def node_note(node: str, title: str) -> str:
    """What is to be done now."""
    return f"Work on step {node} now: {title}. When it is done, say what it came to, without calling a tool."


def head(mail: Mail) -> str:
    """The line that says whose message follows."""
    if mail.sender == SUPERVISOR:
        return FROM_RUNTIME
    answer = f", in answer to {mail.reply_to}" if PLAIN.fullmatch(mail.reply_to) else ""
    return f"[Message {mail.id} from {mail.sender}{answer}]"


def without_model(last_text: str, outputs: tuple[str, ...], status: str = "") -> str:
    """A last answer when no model call is possible: what was said last, how the plan stands, the newest results."""
    parts = [part for part in (last_text, status) if part]
    parts += [f"Tool result: {output[:500]}" for output in outputs]
    return "\n".join(parts) or "No answer: the run ended before the model said anything."
