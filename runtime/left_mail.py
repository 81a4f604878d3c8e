"""What the records of an agent that has no process say of its mail. The agent's description is not needed for that."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ..protocols.errors import FleetError
from ..protocols.ids import AgentId, MessageId, RunId
from ..protocols.mail import Envelope, Kind, Receipt, ReceiptState, Refusal
from .journal.fleet_log import FleetLog
from .journal_errors import RecordInvalid
from .mail.mailbox import Mailbox
from .mail_log import restore
from .ports import Record
from .records import AgentRecord, Happened, Lost, Snapshot, Unread, decode_record
from .step.events import Asked, MailTaken, Woken

__all__ = ("LeftMail", "left_mail")

EVERYTHING = 1 << 62
"""More bytes than any mailbox holds."""


class LeftMail(NamedTuple):
    """What an agent has left.

    Attributes:
        mailbox: As it was at last.
        declared: What a closing of it has found unread before, and why it is dead; it waits there all the same.
    """

    mailbox: Mailbox
    declared: Mapping[MessageId, Refusal]

    @property
    def unread(self) -> tuple[Envelope, ...]:
        """What was accepted and nobody has read, in order; the runtime's own notes are never dead letters."""
        return tuple(each for each in self.mailbox.take(EVERYTHING) if each.kind is not Kind.NOTE)


def left_mail(
    log: FleetLog, agent: AgentId, lives: tuple[Record, ...], mails: tuple[Record, ...], closing: int = 0
) -> LeftMail:
    """What an agent's two streams come to.

    Args:
        log: Whose streams they are.
        agent: Whose mail.
        lives: What happened to the agent, from the newest snapshot on.
        mails: What its mailbox accepted, from the newest snapshot on.
        closing: The number under which the mailbox is being closed; 0: it is only looked at.

    Raises:
        RecordInvalid: A record cannot be read.
    """
    mailbox, declared = Mailbox(agent), dict[MessageId, Refusal]()
    for record in mails:
        try:
            restore(mailbox, record)
        except FleetError as error:
            raise RecordInvalid(stream=log.mail_stream(agent), number=record.number, reason=str(error)) from error
    run = RunId("")
    for record in lives:
        try:
            said = decode_record(record.data)
        except FleetError as error:
            raise RecordInvalid(stream=log.agent_stream(agent), number=record.number, reason=str(error)) from error
        if record.incarnation == closing and isinstance(said, Unread):
            declared.update(said.lost)
            continue
        for end in ends_in(said, agent, run):
            mailbox.restore_end(end)
        run = run_in(said, run)
    return LeftMail(mailbox, declared)


def ends_in(said: AgentRecord, agent: AgentId, run: RunId) -> Iterator[Receipt]:
    """The ends of messages that one record tells of.

    Args:
        said: The record.
        agent: Whose it is.
        run: The agent's newest run before it.
    """
    match said:
        case Snapshot(taken=taken, lost=lost):
            for one in taken:
                yield Receipt(one.message, agent, ReceiptState.CONSUMED, None, one.run, one.step)
            yield from dead(lost, agent)
        case Unread(lost=lost):
            yield from dead(lost, agent)
        case Happened(events=events):
            for event in events:
                if isinstance(event, Asked | Woken):
                    run = event.run
                elif isinstance(event, MailTaken) and event.refused is None:
                    for mail in event.mails:
                        yield Receipt(mail.id, agent, ReceiptState.CONSUMED, None, run)
        case _:
            pass


def dead(lost: tuple[Lost, ...], agent: AgentId) -> Iterator[Receipt]:
    """The ends of dead letters."""
    for one in lost:
        yield Receipt(one.message, agent, ReceiptState.DEAD, one.refusal)


def run_in(said: AgentRecord, run: RunId) -> RunId:
    """The agent's newest run after a record, `run` being that before it."""
    match said:
        case Snapshot(run=now):
            return run if now is None else now.id
        case Happened(events=events):
            begun = [event.run for event in events if isinstance(event, Asked | Woken)]
            return begun[-1] if begun else run
        case _:
            return run
