"""An exception as one line, whatever its class makes of that."""

__all__ = ("sentence",)

MESSAGE_SHOWN = 2000
"""Characters of an exception's message that are read."""


def sentence(error: BaseException) -> str:
    """The exception's class and its message, as far as that can be had and carried: half a surrogate pair is a `?`."""
    name = type(error).__name__
    try:
        message = " ".join(str(error).split()).encode(errors="replace").decode()
    except BaseException:  # noqa: BLE001  a user's `__str__`
        message = "(its message cannot be shown)"
    return f"{name}: {message[:MESSAGE_SHOWN]}" if message else name
