"""What the runtime needs from outside: time, other agents, the Supervisor, a journal. Each is one role.

`LocalSystem` and `RaySystem` give their own; tests give a virtual clock or a transport that loses things.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from ..protocols.checkin import AgentStatus, CheckIn, Directive, Settlement
from ..protocols.ids import AgentId, Incarnation, MessageId
from ..protocols.mail import Kind, Receipt
from ..protocols.notices import Notice
from ..protocols.spawning import SpawnAnswer, SpawnRequest, StopAnswer, StopRequest
from ..protocols.waits import WaitRefusal, WaitRequest

__all__ = ("Channel", "Children", "Clock", "Journal", "PostOffice", "Record", "Stored", "SupervisorLink", "Transport")


class Clock(Protocol):
    """Time and waiting."""

    def now(self) -> float:
        """Unix seconds, for what people read."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back, for deadlines."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class Transport(Protocol):
    """Carries batches of mail to mailboxes. It may lose, repeat or reorder calls; it never changes bytes."""

    async def deliver(self, recipient: AgentId, batch: bytes) -> bytes:
        """Hand over `codec.encode_batch(...)` and give back `codec.encode_verdicts(...)`.

        An agent that has stopped still answers: its verdicts are refusals.

        Raises:
            AgentUnknown: There is no such agent, with near names.
            ChannelClosed: It is dead, or does not live yet.
            PeerUnreachable: The outcome is unknown; the same batch may be sent again.
        """
        ...


class PostOffice(Transport, Protocol):
    """A transport that can also be asked what became of a message."""

    async def receipt(self, recipient: AgentId, message: MessageId) -> Receipt | None:
        """What the recipient's mailbox remembers of the message; None when it does not.

        Raises:
            AgentUnknown: There is no such agent.
            ChannelClosed: It is dead, or does not live yet.
            PeerUnreachable: It does not answer now.
        """
        ...


class SupervisorLink(Protocol):
    """An agent's way to the Supervisor. A call that fails is an error; nothing is assumed."""

    async def check_in(self, asked: CheckIn) -> Directive:
        """Ask for leave to make one attempt of a model call."""
        ...

    async def settle(self, settlement: Settlement) -> None:
        """Say what an attempt came to."""
        ...

    async def report(self, status: AgentStatus, notices: tuple[Notice, ...]) -> None:
        """Tell how the agent is and what happened, in order; after an error again, with the same numbers."""
        ...

    async def wait(self, asked: WaitRequest) -> WaitRefusal | None:
        """Say that a wait for mail begins; gives why it would never end, if that is so."""
        ...

    async def renew(self, agent: AgentId, incarnation: Incarnation) -> bool:
        """Whether this life is still the agent's latest, and not known to be over; asked in turns, from its lease."""
        ...

    async def peers(self, agent: AgentId, incarnation: Incarnation) -> tuple[AgentStatus, ...]:
        """The other agents of the fleet."""
        ...


class Children(Protocol):
    """An agent's way to those that it may spawn."""

    async def spawn(self, request: SpawnRequest) -> SpawnAnswer:
        """Have a child come to life; asked for again by the same call, it is the same one.

        Raises:
            FleetError: It cannot be asked, or does not answer: whether there is a child is unknown.
        """
        ...

    async def stop_child(self, request: StopRequest) -> StopAnswer:
        """Stop one below an agent, and all under that; it may be asked for again.

        Raises:
            FleetError: It cannot be asked, or does not answer.
        """
        ...


class Channel(Protocol):
    """An agent's way to its peers, as its tools see it."""

    async def send(
        self,
        recipient: AgentId,
        body: str,
        reply_to: str = "",
        message: MessageId | None = None,
        kind: Kind = Kind.PEER,
    ) -> Receipt:
        """Send one message and wait until it is accepted or refused.

        Args:
            recipient: Whom it is for.
            body: The text.
            reply_to: Id of the message it answers, or empty.
            message: Its id where it may be sent again, as by a tool that runs again after a crash
                (`ToolContext.message_to`); None: one is made.
            kind: Whether somebody waits for the answer.

        Raises:
            AgentUnknown: There is no such agent, with near names.
            ChannelClosed: The recipient is dead; one that has stopped refuses.
        """
        ...

    async def receipt(self, message: MessageId) -> Receipt | None:
        """What became of a message sent from here; None when it is not known here."""
        ...

    async def peers(self) -> tuple[AgentStatus, ...]:
        """The other agents of the fleet."""
        ...


class Record(NamedTuple):
    """One entry of a stream. One that is a `snapshot` stands for all before it."""

    number: int
    incarnation: int
    data: bytes
    snapshot: bool = False


class Stored(NamedTuple):
    """What a journal holds of one stream, for those who tidy up.

    Attributes:
        stream: Its name.
        records: How many there are.
        size: Their bytes.
        written: Unix seconds when it was last opened or written to.
    """

    stream: str
    records: int
    size: int
    written: float


class Journal(Protocol):
    """Streams of records that outlive every process: only added to, by one life of their owner at a time.

    Records of a stream are numbered from 1 without gaps, and whoever adds one says its number. So an `append` whose
    outcome is unknown is simply asked for again. A stream's name is printable text, up to 300 characters.
    """

    async def claim(self, stream: str) -> int:
        """Claim the stream for a life newer than all before, and give its number. From now on older ones are refused.

        For an owner whose lives nobody numbers. Two who claim at once get different numbers, and only the higher one
        may write. Who claims again, because no answer came, gets another number and forgets about the first.

        Raises:
            JournalUnavailable: It cannot be asked now; whether the claim was heard is unknown. Ask again.
            JournalInvalid: This is no journal, or not one for us.
        """
        ...

    async def open(self, stream: str, incarnation: int) -> tuple[Record, ...]:
        """Claim the stream for this life of its owner, and read it. From now on older lives are refused.

        Returns:
            The newest snapshot, if there is one, and all records after it. Nobody else adds to them.

        Raises:
            Fenced: A newer life has it.
            JournalUnavailable: It cannot be asked now; whether the claim was heard is unknown. Ask again.
            JournalInvalid: This is no journal, or not one for us.
        """
        ...

    async def append(
        self, stream: str, incarnation: int, first: int, records: tuple[bytes, ...], *, snapshot: bool = False
    ) -> None:
        """Add records, all or none; when this returns they are there for good.

        What is there already, byte for byte, is not added again. Of numbers so old that retention deleted them, the
        bytes cannot be compared, and nothing is changed.

        Args:
            stream: Its name.
            incarnation: The life that opened it.
            first: The number of the first record; the others follow it.
            records: Their bytes.
            snapshot: Whether the one record stands for all before it, which may be deleted then.

        Raises:
            Fenced: A newer life has it, or this one never opened it.
            JournalConflict: Something else has such a number, or a number before `first` is missing.
            JournalUnavailable: It cannot be asked now; whether the records were written is unknown. Ask again.
            JournalInvalid: This is no journal, or not one for us.
        """
        ...

    async def read(self, stream: str, after: int = 0) -> tuple[Record, ...]:
        """All records that are still there with numbers above `after`; of an unknown stream, none.

        Raises:
            JournalUnavailable: It cannot be asked now.
            JournalInvalid: This is no journal, or not one for us.
        """
        ...

    async def streams(self, prefix: str = "") -> tuple[str, ...]:
        """The names, in order, of all streams that were ever opened and not dropped since.

        Raises:
            JournalUnavailable: It cannot be asked now.
            JournalInvalid: This is no journal, or not one for us.
        """
        ...

    async def stored(self, prefix: str = "") -> tuple[Stored, ...]:
        """What there is of each stream that `streams` names, in the same order. It looks at every record.

        Raises:
            JournalUnavailable: It cannot be asked now.
            JournalInvalid: This is no journal, or not one for us.
        """
        ...

    async def drop(self, stream: str) -> None:
        """Forget a stream: its records, and whose it is. Nobody can add to it before it is opened again.

        Raises:
            JournalUnavailable: It cannot be asked now; whether the stream was dropped is unknown. Ask again.
            JournalInvalid: This is no journal, or not one for us.
        """
        ...

    async def drop_all(self, prefix: str, *, before: float | None = None) -> int:
        """Forget all streams whose names begin so, or none; nobody opens or writes one of them meanwhile.

        Args:
            prefix: How their names begin.
            before: Unix seconds: only if none of them was opened or written to since then. None: whenever that was.

        Returns:
            How many there were that are forgotten now.

        Raises:
            JournalUnavailable: It cannot be asked now; whether they were dropped is unknown. Ask again.
            JournalInvalid: This is no journal, or not one for us.
        """
        ...

    async def aclose(self) -> None:
        """Finish what was asked for, and let go of the file or the connection."""
        ...


Wake = Callable[[], None]
"""Called from any thread when there is something new."""
