"""What the gateway cannot do.

RunError                             runtime/errors.py
├── DashboardElsewhere               another event loop of the process serves pages
├── ExtraMissing (ImportError)       an extra of this package that is not installed
├── MessageUnknown (LookupError)     nobody remembers the message
├── NotRecorded (LookupError)        what no recording has
├── RecordingFixed                   a recording has no levers
├── RecordingInvalid (ValueError)    a file that is no recording
└── TooManyWatchers                  more event streams than there may be
"""

from ..errors import RunError

__all__ = (
    "DashboardElsewhere",
    "ExtraMissing",
    "MessageUnknown",
    "NotRecorded",
    "RecordingFixed",
    "RecordingInvalid",
    "TooManyWatchers",
)


class DashboardElsewhere(RunError):
    """The pages of a dashboard are served from another event loop of this process, and they can be from one only."""

    def __init__(self) -> None:
        """Say so."""
        super().__init__(
            "Another event loop of this process serves a dashboard, and there can be one such loop: serve this fleet"
            " from another process, with `amrita-fleet dashboard`."
        )


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


class NotRecorded(RunError, LookupError):
    """What is seen of the `fleet` is a recording, which has notices and not `what` was asked for."""

    def __init__(self, *, fleet: str, what: str) -> None:
        """Keep the facts."""
        super().__init__(f"This is a recording of {fleet!r}: it has the fleet's notices, and not {what}.")
        self.fleet = fleet
        self.what = what


class RecordingFixed(RunError):
    """What is seen of the `fleet` is a recording: nobody can change what has happened."""

    def __init__(self, *, fleet: str) -> None:
        """Keep the facts."""
        super().__init__(f"This is a recording of the fleet {fleet!r}: what has happened cannot be changed.")
        self.fleet = fleet


class RecordingInvalid(RunError, ValueError):
    """The file at `path` is no recording, because of `reason`; in which `line`, from 1; 0: it cannot be read."""

    def __init__(self, *, path: str, line: int, reason: str) -> None:
        """Keep the facts."""
        where = f"line {line} of {path}" if line else path
        super().__init__(f"No recording can be read from {where}: {reason}.")
        self.path = path
        self.line = line
        self.reason = reason


class TooManyWatchers(RunError):
    """There are `most` event streams already."""

    retryable = True

    def __init__(self, *, most: int) -> None:
        """Keep the facts."""
        super().__init__(f"{most} watchers are fed already: close one, then try again.")
        self.most = most
