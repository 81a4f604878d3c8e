"""Acknowledged peer messages a second, beside bare Ray actor calls of the same payload at the same concurrency.

One actor calls another. On both sides N coroutines of the caller send and wait for the answer, again and again. Ours
goes through the whole channel: outbox, batches, Ray, mailbox, verdicts, receipts; the receiver consumes what came. Once
without a journal, and once with one in a SQLite file, behind an actor of its own: then what was accepted is on the disk
before its sender is told. Bare is one Ray call a message, whose answer is one byte. Relayed, the one who is called
makes such a call itself, to a third actor, before it answers, as one with a journal must.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

from _measure import SOURCE, arguments, finish, median, shown, table

sys.path.insert(0, SOURCE)

import amrita_fleet.actors  # noqa: F401, I001  sets what Ray reads when it is imported
import ray
from _cluster import local_ray

from amrita_fleet.actors.channel import MAIL, RayPost, actor_name, namespace
from amrita_fleet.actors.journal import JournalActor, RayJournal, journal_place
from amrita_fleet.actors.lifecycle import create_journal
from amrita_fleet.protocols.checkin import AgentStatus
from amrita_fleet.protocols.ids import AgentId, Incarnation, MessageId, RunId
from amrita_fleet.protocols.mail import Receipt, ReceiptState
from amrita_fleet.runtime.clock import SystemClock
from amrita_fleet.runtime.config import MailConfig
from amrita_fleet.runtime.errors import AgentUnknown
from amrita_fleet.runtime.inbox import Inbox
from amrita_fleet.runtime.journal.fleet_log import FleetLog
from amrita_fleet.runtime.mail_log import MailLog
from amrita_fleet.runtime.records import Taken
from amrita_fleet.runtime.sender import Sender

FLEET = "benchmark"
NAMESPACE = namespace(FLEET)
RECEIVER, JOURNALED = AgentId("receiver"), AgentId("journaled")
RUN = RunId("run")
BODY = "An ordinary message between two peers, about as long as most of them are. " * 4
CONCURRENCY = (1, 16, 256)


class Pace(NamedTuple):
    """Acts a second of all together, and the median seconds of one."""

    per_second: float
    took: float


class Receiver:
    """The receiving end of the channel, as in an agent's actor, and one that consumes what came on its work loop."""

    def __init__(self) -> None:
        self._inbox = Inbox(RECEIVER, MailConfig(), SystemClock(), self._wake)
        self._loop: asyncio.AbstractEventLoop | None = None

    async def open(self) -> None:
        self._loop = asyncio.get_running_loop()

    @ray.method(concurrency_group=MAIL)
    async def deliver(self, *pieces: bytes) -> bytes:
        return self._inbox.deliver(b"".join(pieces))

    def _wake(self) -> None:
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._consume)

    def _consume(self) -> None:
        while taken := self._inbox.take(1 << 20):
            self._inbox.consume(tuple(envelope.id for envelope in taken), RUN, 1)


class JournaledReceiver:
    """The same in a fleet with a journal: what is accepted is written down before its sender is told."""

    def __init__(self, journal: type[JournalActor]) -> None:
        clock = SystemClock()
        log = FleetLog(RayJournal(journal, FLEET), FLEET)
        self._inbox = Inbox(JOURNALED, MailConfig(), clock, self._wake)
        self._log = MailLog(self._inbox, log.mail(JOURNALED, Incarnation(1), clock))
        self._loop: asyncio.AbstractEventLoop | None = None

    async def open(self) -> None:
        self._loop = asyncio.get_running_loop()
        await self._log.open(())

    @ray.method(concurrency_group=MAIL)
    async def deliver(self, *pieces: bytes) -> bytes:
        return await self._log.deliver(b"".join(pieces))

    def _wake(self) -> None:
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._consume)

    def _consume(self) -> None:
        while taken := self._inbox.take(1 << 20):
            ids = tuple(envelope.id for envelope in taken)
            self._inbox.consume(ids, RUN, 1)
            self._log.ended([Taken(message, RUN, 1) for message in ids])


class Bare:
    """What a bare Ray actor does with the same payload: it answers, or asks the next one first."""

    def __init__(self, following: Any = None) -> None:  # noqa: ANN401  Ray's handle
        self._following = following

    @ray.method(concurrency_group=MAIL)
    async def deliver(self, payload: bytes) -> bytes:
        return payload[:1] if self._following is None else await self._following.deliver.remote(payload)


class Caller:
    """Sends, one way or the other."""

    def __init__(self, bare: Any, relay: Any) -> None:  # noqa: ANN401  Ray's handles
        self._bare = bare
        self._relay = relay
        self._sender: Sender | None = None

    async def ours(self, senders: int, seconds: float, receiver: AgentId) -> Pace:
        """Send messages."""
        self._sender = self._sender or Sender(
            AgentId("sender"), Incarnation(1), RayPost(NAMESPACE, nobody, nothing), SystemClock()
        )
        return await crowd(senders, seconds, partial(send, self._sender, receiver))

    async def calls(self, senders: int, seconds: float, *, relayed: bool = False) -> Pace:
        """Make bare calls."""
        payload, called = BODY.encode(), self._relay if relayed else self._bare

        async def call() -> None:
            await called.deliver.remote(payload)

        return await crowd(senders, seconds, call)


async def nobody(agent: AgentId) -> AgentStatus:
    """The row of an agent that Ray does not know."""
    raise AgentUnknown(name=agent)


async def nothing(agent: AgentId, _: MessageId) -> Receipt | None:
    """What is left of the mail of an agent that Ray does not know."""
    raise AgentUnknown(name=agent)


async def send(sender: Sender, receiver: AgentId) -> None:
    """One message, acknowledged."""
    receipt = await sender.send(receiver, BODY)
    assert receipt.state is ReceiptState.ACCEPTED, receipt


async def crowd(senders: int, seconds: float, act: Callable[[], Awaitable[None]]) -> Pace:
    """Have so many act again and again until the time is over."""
    took: list[float] = []
    began = time.perf_counter()

    async def one() -> None:
        before = time.perf_counter()
        while before < began + seconds:
            await act()
            after = time.perf_counter()
            took.append(after - before)
            before = after

    await asyncio.gather(*(one() for _ in range(senders)))
    return Pace(len(took) / (time.perf_counter() - began), median(took))


class Turn(NamedTuple):
    """One after the other: messages, messages with a journal, bare calls, relayed ones."""

    messages: Pace
    journaled: Pace
    calls: Pace
    relayed: Pace


NAMES = ("messages", "messages, journal in SQLite", "bare calls", "bare calls, relayed")


async def measure(repeats: int, seconds: float, folder: Path) -> dict[int, list[Turn]]:
    """At each concurrency so many turns."""
    groups = {"concurrency_groups": {MAIL: 64}, "num_cpus": 0, "enable_task_events": False}
    named = {"namespace": NAMESPACE}
    journal = create_journal(FLEET, journal_place(folder / "journal.sqlite"), create=True)
    await journal.begin.remote()
    receiver = ray.remote(**groups)(Receiver).options(name=actor_name(RECEIVER), **named).remote()
    journaled = ray.remote(**groups)(JournaledReceiver).options(name=actor_name(JOURNALED), **named).remote(journal)
    bare = ray.remote(**groups)(Bare).remote()
    caller = ray.remote(num_cpus=0)(Caller).remote(bare, ray.remote(**groups)(Bare).remote(bare))
    await asyncio.gather(receiver.open.remote(), journaled.open.remote())
    found: dict[int, list[Turn]] = {senders: [] for senders in CONCURRENCY}
    for number in range(repeats + 1):
        for senders, turns in found.items():
            turn = Turn(
                await caller.ours.remote(senders, seconds, RECEIVER),
                await caller.ours.remote(senders, seconds, JOURNALED),
                await caller.calls.remote(senders, seconds),
                await caller.calls.remote(senders, seconds, relayed=True),
            )
            if number:  # the first one only warms up
                turns.append(turn)
    return found


def told(found: dict[int, list[Turn]]) -> dict[str, object]:
    """What programs read."""

    def each(of: Callable[[Turn], float], places: int) -> dict[str, float]:
        return {str(senders): round(median([of(turn) for turn in turns]), places) for senders, turns in found.items()}

    lone = found[1]
    return {
        "ratio": each(lambda turn: turn.messages.per_second / turn.calls.per_second, 2),
        "ratio_sqlite": each(lambda turn: turn.journaled.per_second / turn.calls.per_second, 2),
        "latency_ratio": round(median([turn.messages.took / turn.calls.took for turn in lone]), 3),
        "latency_ratio_sqlite": round(median([turn.journaled.took / turn.calls.took for turn in lone]), 3),
        "latency_ratio_relayed": round(median([turn.relayed.took / turn.calls.took for turn in lone]), 3),
        "per_second": each(lambda turn: turn.messages.per_second, 0),
        "per_second_sqlite": each(lambda turn: turn.journaled.per_second, 0),
    }


def main() -> None:
    """Print the table, and the ratios."""
    args = arguments(__doc__)
    with local_ray(), tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(measure(*((9, 0.1) if args.quick else (50, 0.15)), Path(folder)))
    rows = [
        [
            senders,
            name,
            shown([turn[side].per_second for turn in turns]),
            shown([turn[side].took for turn in turns], 1e3),
        ]
        for senders, turns in found.items()
        for side, name in enumerate(NAMES)
    ]
    table(["senders at once", "what", "a second: median (range)", "ms each: median (range)"], rows)
    result = told(found)
    for kind, name in (("", "messages"), ("_sqlite", "messages with a journal in SQLite")):
        ratio = cast("dict[str, float]", result[f"ratio{kind}"])
        times = ", ".join(f"{times:.1f} times at {senders}" for senders, times in ratio.items())
        print(f"\n{name} / bare calls: {times}; a lone one takes {result[f'latency_ratio{kind}']} times as long")
    finish(result, as_json=args.json)


if __name__ == "__main__":
    main()
