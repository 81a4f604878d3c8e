"""Texts that were typed: what is no UTF-8 can be sent to nobody, and is refused before a fleet is looked for."""

import typer

from ..given import text_flaw
from .errors import InputInvalid

__all__ = ("in_utf8",)


def in_utf8(param: typer.CallbackParam, given: str) -> str:
    """The text of an argument or an option, as its callback.

    Raises:
        InputInvalid: It is none.
    """
    if text_flaw(given):
        option = param.opts[0]
        name = option if option.startswith("-") else option.upper()
        raise InputInvalid(reason=f"{name} is no valid UTF-8: type it anew, in a terminal that is set to UTF-8.")
    return given
