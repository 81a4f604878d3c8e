"""What can go wrong with a stream between a run and who watches it.

FleetError                       protocols/errors.py
└── RunError                     runtime/errors.py
    ├── StreamExpected (TypeError) something else where a stream is needed
    ├── StreamMisused (RuntimeError) a stream in a second loop, or with a second reader or run
    ├── StreamClosed (RuntimeError) nothing more goes this way
    ├── StreamFull (TimeoutError) nobody read in time
    ├── SuspensionRefused (RuntimeError) the producer will not stand still for this request
    └── SuspendTimedOut (TimeoutError) it did not come to such a point in time
"""

from .errors import RunError

__all__ = (
    "StreamClosed",
    "StreamExpected",
    "StreamFull",
    "StreamMisused",
    "SuspendTimedOut",
    "SuspensionRefused",
)


class StreamExpected(RunError, TypeError):
    """Something of the type `given` where a stream is needed; a mock would hang instead of ending."""

    def __init__(self, *, given: str) -> None:
        """Keep the facts."""
        super().__init__(f"A stream must be a SuspendObjectStream, not {given}: make one and give it here.")
        self.given = given


class StreamMisused(RunError, RuntimeError):
    """A stream serves one loop, one run and one reader each way; `reason` says which of them is a second one."""

    def __init__(self, *, reason: str) -> None:
        """Keep the facts."""
        super().__init__(f"This stream cannot be used so: {reason}.")
        self.reason = reason


class StreamClosed(RunError, RuntimeError):
    """Nothing more goes this way through the stream, because of `reason`."""

    def __init__(self, *, reason: str) -> None:
        """Keep the facts."""
        super().__init__(f"The stream takes no more: {reason}.")
        self.reason = reason


class StreamFull(RunError, TimeoutError):
    """The producer took nothing for so many `seconds`, and its queue is full."""

    retryable = True

    def __init__(self, *, seconds: float) -> None:
        """Keep the facts."""
        super().__init__(f"The producer took nothing for {seconds:g} s, and its queue is full: send again later.")
        self.seconds = seconds


class SuspensionRefused(RunError, RuntimeError):
    """The producer will not stand still for this request, because of `reason`."""

    def __init__(self, *, reason: str) -> None:
        """Keep the facts."""
        super().__init__(f"There will be no such suspension: {reason}.")
        self.reason = reason


class SuspendTimedOut(RunError, TimeoutError):
    """In so many `seconds` the producer came to no point with one of the `tags` (none: any). It was not suspended."""

    retryable = True

    def __init__(self, *, tags: tuple[str, ...], seconds: float) -> None:
        """Keep the facts."""
        where = " or ".join(tags) or "any point"
        super().__init__(f"The producer did not come to {where} within {seconds:g} s; it was not suspended.")
        self.tags = tags
        self.seconds = seconds
