"""The mailbox as threads see it: guarded by a plain lock that is never held over an await."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import Lock
from typing import NamedTuple

from ..protocols.codec import decode_batch, encode_verdicts
from ..protocols.ids import AgentId, MessageId, RunId
from ..protocols.mail import Envelope, Receipt, Refusal, Verdict
from .config import MailConfig
from .mail.mailbox import Mailbox, Turned
from .ports import Clock

__all__ = ("Inbox", "Judged")


class Judged(NamedTuple):
    """What came of a batch: the verdicts, what was not there before, and what was not turned away before."""

    verdicts: tuple[Verdict, ...]
    fresh: tuple[Envelope, ...]
    turned: tuple[Turned, ...]


class Inbox:
    """One agent's mailbox. Every method may be called from any thread; `wake` is called after mail came."""

    def __init__(self, owner: AgentId, config: MailConfig, clock: Clock, wake: Callable[[], None]) -> None:
        """Begin empty."""
        self._mailbox = Mailbox(owner, messages=config.mailbox_messages, size=config.mailbox_bytes)
        self._clock = clock
        self._wake = wake
        self._lock = Lock()

    def deliver(self, batch: bytes) -> bytes:
        """Take `codec.encode_batch(...)`, answer `codec.encode_verdicts(...)`. Never waits.

        Raises:
            ProtocolError: The bytes are no batch; nothing was taken.
        """
        judged = self.accept(decode_batch(batch))
        answer = encode_verdicts(judged.verdicts)
        if judged.fresh:
            self._wake()  # last of all: who is woken takes turns with this thread from now on
        return answer

    def accept(self, batch: tuple[Envelope, ...]) -> Judged:
        """Judge a batch, and wake nobody."""
        with self._lock:
            mailbox = self._mailbox
            verdicts = mailbox.accept(batch, self._clock.now())
            return Judged(verdicts, mailbox.fresh, mailbox.turned)

    def wake(self) -> None:
        """Have the agent look at its mail."""
        self._wake()

    @contextmanager
    def opened(self) -> Generator[Mailbox]:
        """The mailbox itself, while the lock is held: to restore it, or to write down how it is."""
        with self._lock:
            yield self._mailbox

    def take(self, size: int) -> tuple[Envelope, ...]:
        """Read what fits into `size` bytes, oldest first, and leave it there."""
        with self._lock:
            return self._mailbox.take(size)

    def consume(self, ids: tuple[MessageId, ...], run: RunId, step: int) -> tuple[Envelope, ...]:
        """Take out what a commit holds, and give it."""
        with self._lock:
            return self._mailbox.consume(ids, run, step)

    def waits(self, senders: tuple[AgentId, ...] = ()) -> bool:
        """Whether mail of these senders (none: anybody) waits."""
        with self._lock:
            return self._mailbox.has(senders)

    def wakes(self) -> bool:
        """Whether mail waits that wakes an idle agent."""
        with self._lock:
            return self._mailbox.has(notes=False)

    def receipt(self, message: MessageId) -> Receipt | None:
        """What became of a message; None when it is not remembered."""
        with self._lock:
            return self._mailbox.receipt(message)

    def close(self, refusal: Refusal) -> tuple[Envelope, ...]:
        """Refuse all further mail with `refusal`; gives what was never consumed."""
        with self._lock:
            return self._mailbox.close(refusal)

    def reopen(self) -> None:
        """Take mail again. What was refused or became a dead letter stays so."""
        with self._lock:
            self._mailbox.closed = None

    def counts(self) -> tuple[int, int]:
        """Messages waiting, and messages consumed so far."""
        with self._lock:
            return self._mailbox.waiting, self._mailbox.consumed
