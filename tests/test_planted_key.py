"""A planted key is found nowhere but in the request that needs it."""

import logging
import pickle

import pytest

from amrita_fleet import Agent, Fleet, Outcome, Secret, create_agent
from amrita_fleet.protocols.codec import encode
from amrita_fleet.protocols.errors import SecretRefused
from amrita_fleet.protocols.notices import Notice
from amrita_fleet.runtime.simulator.server import Simulator

KEY = "sk-planted-5b1e0c7f"


async def run_once(agent: Agent) -> tuple[Outcome, list[Notice], list[bytes]]:
    """A run's outcome, its notices, and what was encoded on the way."""
    async with Fleet(system="local") as fleet:
        (ref,) = await fleet.spawn(agent, ["ana"])
        run = await ref.start("hello")
        notices = [notice async for notice in run]
        outcome = await run.outcome()
        written = [encode(outcome), *(encode(notice) for notice in notices)]
        written += [encode(status) for status in await fleet.statuses()]
    return outcome, notices, written


@pytest.mark.anyio
@pytest.mark.parametrize("accepted", [True, False], ids=["accepted", "refused"])
async def test_a_key_is_in_no_notice_log_repr_error_or_bytes(accepted: bool, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with Simulator(key=KEY if accepted else "another") as simulator:
        agent = create_agent(base_url=simulator.base_url, model="simulated-census", api_key=KEY)
        outcome, notices, written = await run_once(agent)
    assert str(outcome) == "failed"
    assert ("no rule" in outcome.reason.lower()) is accepted, outcome.reason
    shown = [
        repr(agent),
        str(agent),
        repr(outcome),
        *map(repr, notices),
        *(record.getMessage() for record in caplog.records),
    ]
    assert not [text for text in shown if KEY in text]
    assert not [data for data in written if KEY.encode() in data]


def test_the_codec_refuses_a_key_and_names_where_it_is() -> None:
    agent = create_agent(base_url="http://127.0.0.1:9/v1", model="m", api_key=KEY)
    with pytest.raises(SecretRefused) as caught:
        encode(agent.preset)
    assert caught.value.where == "value.api_key"
    assert KEY not in str(caught.value)
    assert KEY not in repr(pickle.loads(pickle.dumps(caught.value)))


def test_a_key_of_the_environment_is_looked_up_where_the_call_is_made() -> None:
    secret = Secret.read("env:AMRITA_TEST_KEY")
    assert KEY not in repr(pickle.loads(pickle.dumps(secret)))
    assert secret.reveal({"AMRITA_TEST_KEY": KEY}) == KEY
