"""What the gateway cannot do.

RunError                             runtime/errors.py
├── ExtraMissing (ImportError)       an extra of this package that is not installed
├── MessageUnknown (LookupError)     nobody remembers the message
└── TooManyWatchers                  more event streams than there may be
"""

from ..errors import RunError

__all__ = ("ExtraMissing", "MessageUnknown", "TooManyWatchers")


class ExtraMissing(RunError, ImportError):
    """The `extra` of this package is not installed, and `what` needs it."""

    def __init__(self, *, extra: str, what: str) -> None:
        """Keep the facts."""
        super().__init__(f"{what} needs the extra {extra!r}: install `amrita-fleet[{extra}]`.")
        self.extra = extra
        self.what = what


class MessageUnknown(RunError, LookupError):
    """The `recipient` remembers no such `message`, or no longer."""

    def __init__(self, *, recipient: str, message: str) -> None:
        """Keep the facts."""
        super().__init__(f"{recipient!r} knows of no message {message!r}, or no longer.")
        self.recipient = recipient
        self.message = message


class TooManyWatchers(RunError):
    """There are `most` event streams already."""

    retryable = True

    def __init__(self, *, most: int) -> None:
        """Keep the facts."""
        super().__init__(f"{most} watchers are fed already: close one, then try again.")
        self.most = most
