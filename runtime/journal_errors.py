"""What can be wrong with a journal, or with whoever writes to it.

FleetError                       protocols/errors.py
└── RunError                     runtime/errors.py
    ├── Fenced                   a newer life has the stream
    ├── FleetTaken               another process has opened the fleet
    ├── JournalConflict          a number of a stream that is taken, or comes too early
    ├── JournalUnavailable       the journal does not answer now
    ├── JournalInvalid           no journal, or not one for us
    └── RecordInvalid            a record of a stream that cannot be read, or be so
"""

from .errors import RunError

__all__ = (
    "Fenced",
    "FleetTaken",
    "JournalConflict",
    "JournalInvalid",
    "JournalUnavailable",
    "RecordInvalid",
)


class Fenced(RunError):
    """The life `incarnation` may not write to the `stream`: it belongs to `newest`; 0: it was never opened."""

    def __init__(self, *, stream: str, incarnation: int, newest: int) -> None:
        """Keep the facts."""
        newer = f"the life {newest} of its owner has it; this life is over"
        fault = newer if newest > incarnation else "this life has not opened it; open it first"
        super().__init__(f"The life {incarnation} may not write to the stream {stream!r}: {fault}.")
        self.stream = stream
        self.incarnation = incarnation
        self.newest = newest


class FleetTaken(RunError):
    """Another process has opened the `fleet` with the same journal: this one may do nothing more."""

    def __init__(self, *, fleet: str) -> None:
        """Keep the facts."""
        advice = "give each fleet a name of its own, or close one before it is opened elsewhere"
        super().__init__(f"The fleet {fleet!r} was opened by another process with the same journal: {advice}.")
        self.fleet = fleet


class JournalConflict(RunError):
    """A bug: the `stream`, whose newest record is `last`, cannot take this one as `number`. Nothing was written."""

    def __init__(self, *, stream: str, number: int, last: int) -> None:
        """Keep the facts."""
        fault = f"has something else as number {number}" if number <= last else f"ends at {last}, so {number} is early"
        causes = "this is a bug in Amrita Fleet, or the journal is an old copy"
        super().__init__(f"The stream {stream!r} {fault}; {causes}.")
        self.stream = stream
        self.number = number
        self.last = last


class JournalUnavailable(RunError):
    """The journal at `where` does not answer now, because of `reason`; the same call may be made again."""

    retryable = True

    def __init__(self, *, where: str, reason: str) -> None:
        """Keep the facts."""
        super().__init__(f"The journal {where} cannot be used now: {reason.rstrip('.')}. Runs go on when it can.")
        self.where = where
        self.reason = reason


class JournalInvalid(RunError):
    """What is at `where` is no journal, or not one for us, because of `reason`."""

    def __init__(self, *, where: str, reason: str) -> None:
        """Keep the facts."""
        super().__init__(f"{where} cannot be the journal: {reason.rstrip('.')}.")
        self.where = where
        self.reason = reason


class RecordInvalid(RunError):
    """Record `number` of the `stream` is not what this program would have written, because of `reason`."""

    def __init__(self, *, stream: str, number: int, reason: str) -> None:
        """Keep the facts."""
        advice = "Go on with the version and the description of the agent that wrote it, or drop the stream"
        super().__init__(f"Record {number} of the stream {stream!r} cannot be used: {reason.rstrip('.')}. {advice}.")
        self.stream = stream
        self.number = number
        self.reason = reason
