"""How an actor ends."""

import logging
from typing import Any, cast

import pytest
import ray
from ray.exceptions import ActorDiedError

from amrita_fleet.actors.lifecycle import end

pytestmark = [pytest.mark.anyio, pytest.mark.ray, pytest.mark.usefixtures("ray_cluster")]


async def test_what_an_actor_fails_with_while_it_closes_is_logged_and_it_ends_all_the_same(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Stubborn:
        async def close(self) -> None:
            raise OSError("the disk is full")

        async def ping(self) -> None:
            pass

    actor = cast("Any", ray.remote)(num_cpus=0)(Stubborn).remote()
    with caplog.at_level(logging.WARNING, "amrita_fleet.actors.lifecycle"):
        await end(actor)
    assert [record.getMessage() for record in caplog.records] == [
        "an actor could not close and is killed: the disk is full"
    ]
    with pytest.raises(ActorDiedError):
        await actor.ping.remote()
