"""The post office of a fleet on Ray, where Ray knows no actor of the recipient's name."""

from typing import Any, cast

import pytest
import ray

from amrita_fleet import ChannelClosed, PeerUnreachable
from amrita_fleet.actors.channel import INLINE, RayPost
from amrita_fleet.protocols.checkin import DEAD, ENDED, AgentStatus
from amrita_fleet.protocols.ids import AgentId, Incarnation, MessageId
from amrita_fleet.protocols.mail import Receipt, ReceiptState, Refusal

pytestmark = [pytest.mark.anyio, pytest.mark.ray, pytest.mark.usefixtures("ray_cluster")]

ANA = AgentId("ana")


def post(note: str) -> RayPost:
    """One that is told that ana is dead, and why, and what became of her mail."""

    async def find(agent: AgentId) -> AgentStatus:
        return AgentStatus(agent, Incarnation(1), DEAD, 0.0, note=note)

    async def left(agent: AgentId, message: MessageId) -> Receipt | None:
        return Receipt(message, agent, ReceiptState.DEAD, Refusal.DIED)

    return RayPost("amrita-nobody", find, left)


async def test_mail_for_one_who_is_not_spawned_again_yet_may_be_sent_again() -> None:
    with pytest.raises(PeerUnreachable, match="not spawned again yet"):
        await post(ENDED).deliver(ANA, b"")


async def test_whoever_asks_such_a_one_for_something_else_hears_at_once_why_it_cannot_answer() -> None:
    with pytest.raises(ChannelClosed, match="it is not spawned again yet"):
        await post(ENDED).ask(ANA, lambda handle: handle.receipt.remote(MessageId("m")))


@pytest.mark.parametrize("note", [ENDED, "it crashed"])
async def test_whoever_asks_what_became_of_a_message_to_a_dead_one_is_told(note: str) -> None:
    told = Receipt(MessageId("m"), ANA, ReceiptState.DEAD, Refusal.DIED)
    assert await post(note).receipt(ANA, told.id) == told


async def test_a_closed_post_office_asks_nobody() -> None:
    closed = post("it crashed")
    closed.close()
    with pytest.raises(ChannelClosed, match="the fleet is closed"):
        await closed.receipt(ANA, MessageId("m"))


async def test_mail_for_one_who_died_otherwise_has_nobody_to_go_to() -> None:
    with pytest.raises(ChannelClosed, match="it died: it crashed"):
        await post("it crashed").deliver(ANA, b"")


class Copier:
    """Answers with how many bytes came in how many pieces, and the last one."""

    def deliver(self, *pieces: bytes) -> bytes:
        return b"%d %d %c" % (len(b"".join(pieces)), len(pieces), pieces[-1][-1])


@pytest.mark.parametrize(
    ("size", "told"),
    [(0, b"1 1 !"), (INLINE - 1, b"98304 1 !"), (INLINE, b"98305 2 !"), (5 * INLINE, b"491521 6 !")],
)
async def test_a_batch_of_any_size_arrives_whole_within_its_call(size: int, told: bytes) -> None:
    copier = cast("Any", ray.remote)(num_cpus=0)(Copier).remote()
    office = post("unknown")
    office.keep(ANA, copier)
    assert await office.deliver(ANA, b"x" * size + b"!") == told
    ray.kill(copier)
