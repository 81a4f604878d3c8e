"""The post office of a fleet on Ray, where Ray knows no actor of the recipient's name."""

import pytest

from amrita_fleet import ChannelClosed, PeerUnreachable
from amrita_fleet.actors.channel import RayPost
from amrita_fleet.protocols.checkin import DEAD, ENDED, AgentStatus
from amrita_fleet.protocols.ids import AgentId, Incarnation, MessageId

pytestmark = [pytest.mark.anyio, pytest.mark.ray, pytest.mark.usefixtures("ray_cluster")]

ANA = AgentId("ana")


def post(note: str) -> RayPost:
    """One that is told that ana is dead, and why."""

    async def find(agent: AgentId) -> AgentStatus:
        return AgentStatus(agent, Incarnation(1), DEAD, 0.0, note=note)

    return RayPost("amrita-nobody", find)


async def test_mail_for_one_who_is_not_spawned_again_yet_may_be_sent_again() -> None:
    with pytest.raises(PeerUnreachable, match="not spawned again yet"):
        await post(ENDED).deliver(ANA, b"")


async def test_whoever_asks_such_a_one_for_something_else_hears_at_once_that_it_died() -> None:
    with pytest.raises(ChannelClosed, match="it died: its process ended"):
        await post(ENDED).receipt(ANA, MessageId("m"))


async def test_mail_for_one_who_died_otherwise_has_nobody_to_go_to() -> None:
    with pytest.raises(ChannelClosed, match="it died: it crashed"):
        await post("it crashed").deliver(ANA, b"")
