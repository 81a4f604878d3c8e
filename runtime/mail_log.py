"""Records what a mailbox accepts before its sender is told, so that nothing accepted is lost with a process.

What leaves the mailbox is recorded by the agent's own commit; here it is written along with the next batch, so that the
stream does not grow for ever. Bytes of a record: one that says what it is, then what is in it.
"""

import asyncio
from collections.abc import Iterable

from ..protocols.codec import decode, decode_batch, encode, encode_batch, encode_verdicts
from ..protocols.errors import DecodeError, FleetError
from ..protocols.ids import MessageId
from .errors import RecordInvalid
from .inbox import Inbox
from .journal.stream_writer import StreamWriter
from .mail.mailbox import Mailbox, MailboxState
from .ports import Record
from .records import Taken

__all__ = ("SNAPSHOT_RECORDS", "MailLog")

SNAPSHOT_RECORDS = 256
"""Records after which a snapshot is written."""

ACCEPTED, TAKEN, WHOLE = b"a", b"t", b"w"
"""What a record is: messages accepted, messages consumed, the whole mailbox."""


class MailLog:
    """The journal's side of one mailbox.

    Attributes:
        unwritten: Messages that were consumed and are not recorded here as such yet.
    """

    def __init__(self, inbox: Inbox, writer: StreamWriter) -> None:
        """Nothing is read before `open`."""
        self.unwritten: dict[MessageId, Taken] = {}
        self._inbox = inbox
        self._writer = writer
        self._records = 0
        self._turn = asyncio.Lock()

    async def open(self, taken: Iterable[Taken]) -> None:
        """Have the mailbox be as an earlier life left it; `taken` are messages that its transcript holds.

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
            for one in taken:
                mailbox.consume((one.message,), one.run, one.step)
        self._records = len(records)
        self.unwritten = {one.message: one for one in taken}

    async def deliver(self, batch: bytes) -> bytes:
        """Take a batch of mail; it is recorded when this returns.

        One batch after the other: a copy of one that is being written gets its answer when that is written too.

        Raises:
            ProtocolError: The bytes are no batch; nothing was taken.
            Fenced: A newer life of the agent has begun, and the message is for that one.
        """
        envelopes = decode_batch(batch)
        async with self._turn:
            verdicts, fresh = self._inbox.accept(envelopes)
            if fresh:
                await self._write(ACCEPTED + encode_batch(fresh))
        if fresh:
            self._inbox.wake()
        return encode_verdicts(verdicts)

    async def _write(self, accepted: bytes) -> None:
        taken = dict(self.unwritten)
        records = (accepted, TAKEN + encode(tuple(taken.values()))) if taken else (accepted,)
        await self._writer.append(*records)
        self._records += len(records)
        if self._records >= SNAPSHOT_RECORDS:
            with self._inbox.opened() as mailbox:
                whole = mailbox.state()
            await self._writer.append(WHOLE + encode(whole), snapshot=True)
            self._records = 0
        for message in taken:
            self.unwritten.pop(message, None)


def restore(mailbox: Mailbox, record: Record) -> None:
    """Take one record into a mailbox.

    Raises:
        ProtocolError: It is none.
    """
    kind, data = record.data[:1], record.data[1:]
    if kind == ACCEPTED:
        for envelope in decode_batch(data):
            mailbox.restore_accepted(envelope)
    elif kind == TAKEN:
        for one in decode(data, tuple[Taken, ...]):
            mailbox.consume((one.message,), one.run, one.step)
    elif kind == WHOLE:
        mailbox.restore(decode(data, MailboxState))
    else:
        raise DecodeError(reason=f"{kind!r} says nothing of what it is")
