"""Acknowledged peer messages a second, beside bare Ray actor calls of the same payload at the same concurrency.

One actor calls another. On both sides N coroutines of the caller send and wait for the answer, again and again. Ours
goes through the whole channel: outbox, batches, Ray, mailbox, verdicts, receipts; the receiver consumes what came. Bare
is one Ray call a message, whose answer is one byte.
"""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, NamedTuple

from _measure import SOURCE, arguments, finish, median, shown, table

sys.path.insert(0, SOURCE)

import amrita_fleet.actors  # noqa: F401, I001  sets what Ray reads when it is imported
import ray
from _cluster import local_ray

from amrita_fleet.actors.channel import MAIL, RayPost, actor_name
from amrita_fleet.protocols.checkin import AgentStatus
from amrita_fleet.protocols.ids import AgentId, Incarnation, RunId
from amrita_fleet.protocols.mail import ReceiptState
from amrita_fleet.runtime.clock import SystemClock
from amrita_fleet.runtime.config import MailConfig
from amrita_fleet.runtime.errors import AgentUnknown
from amrita_fleet.runtime.inbox import Inbox
from amrita_fleet.runtime.sender import Sender

NAMESPACE = "amrita-benchmark"
RECEIVER = AgentId("receiver")
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
    async def deliver(self, batch: bytes) -> bytes:
        return self._inbox.deliver(batch)

    def _wake(self) -> None:
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._consume)

    def _consume(self) -> None:
        while taken := self._inbox.take(1 << 20):
            self._inbox.consume(tuple(envelope.id for envelope in taken), RunId("run"), 1)


class Bare:
    """What a bare Ray actor does with the same payload: it answers."""

    @ray.method(concurrency_group=MAIL)
    async def deliver(self, payload: bytes) -> bytes:
        return payload[:1]


class Caller:
    """Sends, one way or the other."""

    def __init__(self, bare: Any) -> None:  # noqa: ANN401  Ray's handle
        self._bare = bare
        self._sender: Sender | None = None

    async def ours(self, senders: int, seconds: float) -> Pace:
        """Send messages."""
        self._sender = self._sender or Sender(
            AgentId("sender"), Incarnation(1), RayPost(NAMESPACE, nobody), SystemClock()
        )
        return await crowd(senders, seconds, partial(send, self._sender))

    async def calls(self, senders: int, seconds: float) -> Pace:
        """Make bare calls."""
        payload = BODY.encode()

        async def call() -> None:
            await self._bare.deliver.remote(payload)

        return await crowd(senders, seconds, call)


async def nobody(agent: AgentId) -> AgentStatus:
    """The row of an agent that Ray does not know."""
    raise AgentUnknown(name=agent)


async def send(sender: Sender) -> None:
    """One message, acknowledged."""
    receipt = await sender.send(RECEIVER, BODY)
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


async def measure(repeats: int, seconds: float) -> dict[int, list[tuple[Pace, Pace]]]:
    """At each concurrency pairs of turns, ours and then bare calls."""
    groups = {"concurrency_groups": {MAIL: 64}, "num_cpus": 0, "enable_task_events": False}
    receiver = ray.remote(**groups)(Receiver).options(name=actor_name(RECEIVER), namespace=NAMESPACE).remote()
    bare = ray.remote(**groups)(Bare).remote()
    caller = ray.remote(num_cpus=0)(Caller).remote(bare)
    await receiver.open.remote()
    found: dict[int, list[tuple[Pace, Pace]]] = {senders: [] for senders in CONCURRENCY}
    for turn in range(repeats + 1):
        for senders, pairs in found.items():
            pair = (await caller.ours.remote(senders, seconds), await caller.calls.remote(senders, seconds))
            if turn:  # the first one only warms up
                pairs.append(pair)
    return found


def main() -> None:
    """Print the table, and the ratios."""
    args = arguments(__doc__)
    with local_ray():
        found = asyncio.run(measure(2, 0.3) if args.quick else measure(9, 1.0))
    rows = [
        [
            senders,
            name,
            shown([pair[side].per_second for pair in pairs]),
            shown([pair[side].took for pair in pairs], 1e3),
        ]
        for senders, pairs in found.items()
        for side, name in enumerate(("messages", "bare calls"))
    ]
    table(["senders at once", "what", "a second: median (range)", "ms each: median (range)"], rows)
    ratio = {
        str(senders): round(median([ours.per_second / bare.per_second for ours, bare in pairs]), 2)
        for senders, pairs in found.items()
    }
    per_second = {
        str(senders): round(median([ours.per_second for ours, _ in pairs])) for senders, pairs in found.items()
    }
    latency = round(median([ours.took / bare.took for ours, bare in found[1]]), 3)
    told = ", ".join(f"{times:.1f} times at {senders}" for senders, times in ratio.items())
    print(f"\nmessages / bare calls: {told}; a lone message takes {latency:.2f} times as long as a lone call")
    finish({"ratio": ratio, "latency_ratio": latency, "per_second": per_second}, as_json=args.json)


if __name__ == "__main__":
    main()
