"""`amrita-fleet explain`: what the documents say of an error, a notice or a setting."""

from difflib import get_close_matches
from typing import Annotated

import typer

from .console import say
from .errors import InputInvalid

__all__ = ("EPILOG", "explain")

EPILOG = """\
Example: amrita-fleet explain ContextOverflow

Example: amrita-fleet explain step.stall

Exit status: 0 it was explained, 2 there is nothing of that name."""


def explain(
    name: Annotated[
        str | None,
        typer.Argument(help="An error, a notice, a setting, or a number of a symptom; left out: all are listed."),
    ] = None,
) -> None:
    """Say what an error, a kind of notice or a setting means, and what to do about it."""
    from .documents import TOPICS, entries, entry, heading

    if name is None:
        for topic in TOPICS:
            say(f"{topic}:")
            for known, text in entries(topic).items():
                say(f"  {known}. {heading(text)}" if topic == "symptoms" else f"  {known}")
        return
    told = entry(name)
    if told is None:
        near = get_close_matches(name, [known for topic in TOPICS for known in entries(topic)])
        guess = f"did you mean {' or '.join(near)}?" if near else "`amrita-fleet explain` lists what there is."
        raise InputInvalid(reason=f"Nothing is called {name!r}: {guess}")
    say(told)
