"""Records what a mailbox accepts or turns away before its sender is told: then that is so in every later life.

Nothing accepted is lost with a process, and no late copy of what was turned away is taken in by the next one.

What leaves the mailbox is recorded in the agent's own stream; here it is written along with the next batch, so that
neither has to keep it for ever. Bytes of a record: one that says what it is, then what is in it.
"""

import asyncio
from collections.abc import Iterable

from ..protocols.codec import decode, decode_batch, encode, encode_batch, encode_verdicts
from ..protocols.errors import DecodeError, FleetError
from ..protocols.ids import MessageId
from ..protocols.mail import Envelope, Receipt, ReceiptState, Verdict
from .inbox import Inbox, Judged
from .journal.stream_writer import StreamWriter
from .journal_errors import JournalUnavailable, RecordInvalid
from .mail.mailbox import Mailbox, MailboxState, Turned
from .ports import Record
from .records import Lost, Taken
from .whole import GivenUp, WholeWork

__all__ = ("SNAPSHOT_RECORDS", "MailLog", "restore")

SNAPSHOT_RECORDS = 256
"""Records after which a snapshot is written."""

ACCEPTED, TURNED, TAKEN, LOST, WHOLE = b"a", b"r", b"t", b"l", b"w"
"""What a record is: messages accepted, turned away, consumed, dead letters, the whole mailbox."""


class MailLog:
    """The journal's side of one mailbox. It belongs to the loop that delivers; `ended` may come from another."""

    def __init__(self, inbox: Inbox, writer: StreamWriter) -> None:
        """Nothing is read before `open`."""
        self._inbox = inbox
        self._writer = writer
        self._records = 0
        self._unwritten: dict[MessageId, Taken | Lost] = {}
        self._work = WholeWork()
        self._turn = asyncio.Lock()
        self._failed: FleetError | None = None

    async def open(self, ended: tuple[Taken | Lost, ...]) -> None:
        """Have the mailbox be as an earlier life left it; the agent's own stream says that `ended` are out of it.

        Raises:
            Fenced: A newer life of the agent has the stream.
            JournalUnavailable: The journal cannot be reached.
            RecordInvalid: A record cannot be read.
        """
        records = await self._writer.open()
        with self._inbox.opened() as mailbox:
            for record in records:
                try:
                    restore(mailbox, record)
                except FleetError as error:
                    raise RecordInvalid(stream=self._writer.stream, number=record.number, reason=str(error)) from error
            for one in ended:
                end(mailbox, one)
        self._records = len(records)
        self.ended(ended)

    def ended(self, messages: Iterable[Taken | Lost]) -> None:
        """Messages that have left the mailbox, as the agent's own stream says."""
        self._unwritten.update((one.message, one) for one in messages)

    def lacks(self, message: MessageId) -> bool:
        """Whether this stream does not say yet what became of a message."""
        if message in self._unwritten:
            return True
        receipt = self._inbox.receipt(message)
        return receipt is not None and receipt.state is ReceiptState.ACCEPTED

    async def deliver(self, batch: bytes) -> bytes:
        """Take a batch of mail; it is recorded when this returns.

        One batch after the other: a copy of one that is being written gets its answer when that is written too. What
        could not be written is never answered, for the mailbox would take a copy for one that was.

        Raises:
            ProtocolError: The bytes are no batch; nothing was taken.
            Fenced: A newer life of the agent has begun, and the message is for that one.
            JournalUnavailable: This was closed; whether the batch was recorded is unknown.
        """
        try:
            return encode_verdicts(await self._work.run(self._take(decode_batch(batch))))
        except GivenUp as error:
            raise self._unknown(error) from None

    def close(self) -> None:
        """Write nothing more, whoever waits for it; from any thread."""
        self._writer.close()
        self._work.give_up()

    async def _take(self, envelopes: tuple[Envelope, ...]) -> tuple[Verdict, ...]:
        async with self._turn:
            if self._failed is not None:
                raise self._failed
            judged = self._inbox.accept(envelopes)
            if judged.fresh or judged.turned:
                try:
                    await self._write(judged)
                except BaseException as error:
                    self._failed = error if isinstance(error, FleetError) else self._unknown(error)
                    raise
        if judged.fresh:
            self._inbox.wake()
        return judged.verdicts

    def _unknown(self, error: BaseException) -> JournalUnavailable:
        return JournalUnavailable(where=f"of {self._writer.stream}", reason=f"{type(error).__name__} {error}".rstrip())

    async def _write(self, judged: Judged) -> None:
        ended = tuple(self._unwritten.values())
        taken = tuple(one for one in ended if isinstance(one, Taken))
        lost = tuple(one for one in ended if isinstance(one, Lost))
        records = [ACCEPTED + encode_batch(judged.fresh)] if judged.fresh else []
        parts = ((TURNED, judged.turned), (TAKEN, taken), (LOST, lost))
        records += [kind + encode(part) for kind, part in parts if part]
        await self._writer.write(*records)
        self._records += len(records)
        if self._records >= SNAPSHOT_RECORDS:
            with self._inbox.opened() as mailbox:
                whole = mailbox.state()
            await self._writer.write(WHOLE + encode(whole), snapshot=True)
            self._records = 0
        for one in ended:
            self._unwritten.pop(one.message, None)


def restore(mailbox: Mailbox, record: Record) -> None:
    """Take one record into a mailbox.

    Raises:
        ProtocolError: It is none.
    """
    kind, data = record.data[:1], record.data[1:]
    if kind == ACCEPTED:
        for envelope in decode_batch(data):
            mailbox.restore_accepted(envelope)
    elif kind == TURNED:
        for turned in decode(data, tuple[Turned, ...]):
            mailbox.restore_turned(turned)
    elif kind == TAKEN:
        for taken in decode(data, tuple[Taken, ...]):
            end(mailbox, taken)
    elif kind == LOST:
        for lost in decode(data, tuple[Lost, ...]):
            end(mailbox, lost)
    elif kind == WHOLE:
        mailbox.restore(decode(data, MailboxState))
    else:
        raise DecodeError(reason=f"{kind!r} says nothing of what it is")


def end(mailbox: Mailbox, one: Taken | Lost) -> None:
    """Take one message out of a mailbox, as it was in an earlier life."""
    if isinstance(one, Taken):
        mailbox.restore_end(Receipt(one.message, mailbox.owner, ReceiptState.CONSUMED, None, one.run, one.step))
    else:
        mailbox.restore_end(Receipt(one.message, mailbox.owner, ReceiptState.DEAD, one.refusal))
