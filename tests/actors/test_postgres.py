"""A fleet on Ray whose journal is in PostgreSQL: processes die, the server goes away, and runs go on."""

import asyncio

import pytest

from amrita_fleet import Agent, Fleet
from amrita_fleet.protocols.mail import ReceiptState
from amrita_fleet.protocols.providers.scripted import call, say
from amrita_fleet.runtime.journal_errors import JournalInvalid, JournalUnavailable

from ..contracts.gate import Gate
from ..runtime.journal.server import IN_URL, Server, free_port
from .steady import event, kill, steady, until

pytestmark = [pytest.mark.anyio, pytest.mark.ray, pytest.mark.slow, pytest.mark.usefixtures("ray_cluster")]


async def test_a_run_goes_on_when_its_agent_and_the_journals_actor_are_killed(server: Server, schema: str) -> None:
    names = ("one", "two", "three", "four")
    async with Gate() as gate, Fleet("books", journal=server.url(schema), limit=1_000_000) as fleet:
        # A call that was under way when its process died is not made again, so each kill costs one.
        model = steady(*(call("gate", name=name) for name in names), say("done"))
        (ana,) = await fleet.spawn(Agent(preset=model, tools=(gate.tool,)), ["ana"])
        run = await ana.start("go")
        await gate.begun("one")
        assert (await ana.send("hello")).state is ReceiptState.ACCEPTED
        kill(fleet, "agent:ana")
        await gate.begun("two")
        kill(fleet, "journal")
        gate.let("two")
        await gate.begun("three")
        kill(fleet, "supervisor")
        kill(fleet, "journal")
        gate.let("three")
        await gate.begun("four")
        gate.let("four")
        outcome = await run.outcome()
        assert (outcome.text, outcome.answered) == ("done", True)
        seen = await until(fleet, event("ana", "finished"))
        assert [notice.text for notice in seen if notice.extra_type == "consumed"] == ["from user: hello"]
        assert [notice.number for notice in seen] == list(range(1, len(seen) + 1))
        spent = (await fleet.accounts())[0].spent.tokens
    async with Fleet("books", journal=server.url(schema), limit=1_000_000) as again:
        assert [(row.agent, row.incarnation) for row in await again.statuses()] == [("ana", 2)]
        assert (await again.accounts())[0].spent.tokens == spent > 0


async def test_while_the_server_is_away_a_run_stands_and_says_so_and_then_goes_on(server: Server, schema: str) -> None:
    async with Gate() as gate, Fleet("away", journal=server.url(schema)) as fleet:
        model = steady(call("gate", name="one"), call("gate", name="two"), say("done"))
        (ana,) = await fleet.spawn(Agent(preset=model, tools=(gate.tool,)), ["ana"])
        run = await ana.start("go")
        await gate.begun("one")
        server.stop()
        try:
            gate.let("one")
            async with asyncio.timeout(60):
                while "waits for its journal" not in (row := (await fleet.statuses())[0]).note:  # noqa: ASYNC110
                    await asyncio.sleep(0.1)
            assert f"postgresql://127.0.0.1:{server.port}/postgres" in row.note
            assert "planted" not in row.note
            assert not gate.has_begun("two")
        finally:
            server.start()
        await gate.begun("two")
        gate.let("two")
        assert (await run.outcome()).text == "done"
        assert [(row.incarnation, row.note) for row in await fleet.statuses()] == [(1, "")]


@pytest.mark.parametrize(
    ("good", "bad", "reason"),
    [
        (IN_URL, "planted-wrong", "password authentication failed"),
        ("/postgres?", "/nowhere?", '"nowhere" does not exist'),
    ],
    ids=["a wrong password", "an unknown database"],
)
async def test_what_the_server_refuses_is_said_when_the_fleet_is_opened(
    server: Server, good: str, bad: str, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(JournalInvalid, match=reason) as caught:
        await Fleet(journal=server.url().replace(good, bad)).__aenter__()
    assert "planted" not in f"{caught.value!r} {vars(caught.value)} {caplog.text}"


async def test_a_server_that_is_not_there_is_said_when_the_fleet_is_opened(server: Server) -> None:
    nowhere = server.url().replace(f":{server.port}/", f":{free_port()}/")
    with pytest.raises(JournalUnavailable, match="refused"):
        await Fleet(journal=nowhere).__aenter__()
