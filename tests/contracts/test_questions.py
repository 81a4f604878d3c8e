"""A question is answered, whether the one who is asked thinks of that or not."""

from collections.abc import Callable

import pytest

from amrita_fleet import Agent, Fleet
from amrita_fleet.protocols.providers.script import call, say
from amrita_fleet.protocols.providers.scripted import scripted

MakeFleet = Callable[..., Fleet]

pytestmark = pytest.mark.anyio

ASKS = scripted(call("ask_peer", to="bob", question="How many?", seconds=60), say("Bob says three."))


async def test_the_final_text_of_a_run_answers_a_question_that_it_left_open(make_fleet: MakeFleet) -> None:
    async with make_fleet() as fleet:
        await fleet.spawn(Agent(preset=scripted(say("There are three."))), ["bob"])
        (ana,) = await fleet.spawn(Agent(preset=ASKS), ["ana"])
        run = await ana.start("Ask bob.")
        consumed = [notice async for notice in run if (notice.type, notice.extra_type) == ("mail", "consumed")]

    assert [notice.text for notice in consumed] == ["from bob: There are three."]
