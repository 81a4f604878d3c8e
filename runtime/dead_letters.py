"""What becomes of mail whose recipient has no process: it waits for the next life, or is dead with the last one.

The mailbox of an agent that is dead for good is closed by its Supervisor. With a journal that is done in two steps:

1. What was accepted and never read is written into the agent's own record, under a number that no life of the agent
   gets. From then on an older process of it can add nothing, and a later life finds it dead.
2. The Supervisor is told, writes that down with its other commands, and tells the senders.

A Supervisor that dies between the two leaves the first to be found: the next one writes nothing more, and does the
second. Two that do it at once write the same bytes.

Without a journal what a process held is gone with it. What the Supervisor has heard of it is told then: messages of
agents, each of which it was told was sent, and not that it was read.
"""

import asyncio
import logging
from collections.abc import Iterable

from ..protocols.checkin import DEAD
from ..protocols.errors import FleetError
from ..protocols.ids import AgentId, Incarnation, MessageId
from ..protocols.mail import DeadLetter, Receipt, ReceiptState, Refusal
from ..protocols.notices import Notice, NoticeType
from .journal.fleet_log import FleetLog
from .journal_errors import Fenced, JournalConflict, JournalUnavailable
from .left_mail import left_mail
from .ports import Clock
from .records import Lost, Unread, encode_record
from .standing_work import StandingWork
from .supervision.admissions import OpenMailbox
from .supervision.supervisor import Supervisor

__all__ = ("DeadLetterOffice",)

log = logging.getLogger(__name__)

PAUSE = 1.0
"""Seconds until a mailbox is tried again that could not be closed."""

LATE = 1.0
"""Seconds after a death in which senders may still tell of what they sent before; they gather what they tell."""


class DeadLetterOffice:
    """Closes the mailboxes of a fleet's dead, and knows what became of their mail.

    Each method may be called in any loop; what closes mailboxes by itself belongs to the loop it was made in.
    """

    def __init__(self, supervisor: Supervisor, journal: FleetLog | None, clock: Clock) -> None:
        """Begin, in the running loop. `journal`: None: there is none, and mail is gone with its agent's process."""
        self._supervisor = supervisor
        self._journal = journal
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._news.set()  # an earlier Supervisor may have left some open
        self._given_up: set[OpenMailbox] = set()
        self._unsubscribe = supervisor.feed.subscribe(self._wake)
        self._closing = StandingWork(self._work(), "nobody closes the mailboxes of dead agents any more")

    async def aclose(self) -> None:
        """Close no more mailboxes: whoever opens the fleet again does."""
        self._unsubscribe()
        await self._closing.aclose()

    async def close(self, agents: Iterable[AgentId]) -> None:
        """Close the mailboxes of those of the agents that are dead for good, before they are admitted again.

        Raises:
            Fenced: Another process has gone on with the fleet.
            JournalUnavailable: The journal cannot be reached.
            RecordInvalid: What is written of one of them cannot be read.
        """
        names = frozenset(agents)
        for box in self._supervisor.unclosed:
            if box.agent in names:
                await self._close(box)

    async def receipt(self, agent: AgentId, message: MessageId) -> Receipt | None:
        """What became of a message that was sent to an agent which has no process now; None where nobody knows.

        Raises:
            AgentUnknown: There is no such agent.
            JournalUnavailable: The journal cannot be reached.
            RecordInvalid: What is written of the agent cannot be read.
        """
        row = self._supervisor.find(agent)
        if self._journal is None:
            lost = Receipt(message, agent, ReceiptState.DEAD, Refusal.LOST) if row.phase == DEAD else None
            return end_told(self._notices, agent, message) or lost
        lives, mails = await self._journal.left(agent)
        return left_mail(self._journal, agent, lives, mails).mailbox.receipt(message)

    def _wake(self) -> None:
        if self._supervisor.unclosed and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._news.set)

    async def _work(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            for box in self._supervisor.unclosed:
                if box not in self._given_up:
                    await self._try(box)

    async def _try(self, box: OpenMailbox) -> None:
        try:
            await self._close(box)
        except JournalUnavailable as error:
            log.warning("the mailbox of %s waits to be closed: %s", box.agent, error)
            await self._clock.sleep(PAUSE)
            self._news.set()
        except FleetError:
            self._given_up.add(box)
            log.exception("the mailbox of %s is not closed", box.agent)

    async def _close(self, box: OpenMailbox) -> None:
        if self._journal is None:
            await self._clock.sleep(LATE)
            under, letters = box.incarnation, unread_told(self._notices, box)
        else:
            under = Incarnation(box.incarnation + 1)
            try:
                letters = await self._declared(self._journal, box, under)
            except JournalConflict:  # somebody has just done the same, and gave another reason, which counts
                letters = await self._declared(self._journal, box, under)
            except Fenced:
                if box in self._supervisor.unclosed:
                    raise
                return  # it was closed meanwhile, and its agent lives again
        self._supervisor.close_mailbox(box.agent, box.incarnation, under, letters)

    async def _declared(self, journal: FleetLog, box: OpenMailbox, under: Incarnation) -> tuple[DeadLetter, ...]:
        """Write into the agent's record what is dead, unless it stands there; gives all of it."""
        record = journal.agent(box.agent, under, self._clock)
        lives = await record.open()
        mails = await journal.mail(box.agent, under, self._clock).open()
        left = left_mail(journal, box.agent, lives, mails, under)
        lost = tuple(Lost(each.id, box.refusal) for each in left.unread if each.id not in left.declared)
        if lost:
            await record.append(encode_record(Unread(lost)))
        why = {**left.declared, **dict(lost)}
        return tuple(DeadLetter(each.id, each.sender, why[each.id]) for each in left.unread)

    @property
    def _notices(self) -> tuple[Notice, ...]:
        """All that are remembered."""
        return self._supervisor.feed.read(0, 1 << 62)


def unread_told(notices: Iterable[Notice], box: OpenMailbox) -> tuple[DeadLetter, ...]:
    """The messages to an agent's last life of which notices tell that they were sent, and not what became of them."""
    sent, over = dict[str, AgentId](), set[str]()  # recipients may tell of a message before its sender does
    for notice in notices:
        kind = notice.type, notice.extra_type
        if kind == (NoticeType.MAIL, "sent") and notice.data["recipient"] == box.agent:
            sent[str(notice.data["id"])] = notice.agent
        elif kind == (NoticeType.AGENT, "admitted") and notice.agent == box.agent:
            sent = {}
        elif kind in ENDS and notice.agent == box.agent:
            over.add(str(notice.data["id"]))
    return tuple(DeadLetter(MessageId(id_), sender, Refusal.LOST) for id_, sender in sent.items() if id_ not in over)


ENDS = {(NoticeType.MAIL, "consumed"): ReceiptState.CONSUMED, (NoticeType.MAIL, "dead"): ReceiptState.DEAD}
"""What notices tell of the end of a message."""


def end_told(notices: Iterable[Notice], agent: AgentId, message: MessageId) -> Receipt | None:
    """The end of a message, if a notice tells of it."""
    for notice in notices:
        state = ENDS.get((notice.type, notice.extra_type))
        if state is None or notice.agent != agent or notice.data["id"] != message:
            continue
        if state is ReceiptState.DEAD:
            return Receipt(message, agent, state, Refusal(str(notice.data["refusal"])))
        return Receipt(message, agent, state, None, notice.run, notice.step)
    return None
