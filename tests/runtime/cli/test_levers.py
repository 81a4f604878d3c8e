"""`pause`, `resume`, `limit`, `watch`, `show` and `dead-letters`: what they do to a fleet, and what they tell of it."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

import pytest

from amrita_fleet import Agent, Fleet
from amrita_fleet.protocols.limits import Limits
from amrita_fleet.protocols.notices import Notice
from amrita_fleet.protocols.providers.scripted import call, say, scripted
from amrita_fleet.runtime.cli import app
from amrita_fleet.runtime.cli.dead_letters import letters, letters_table, shown
from amrita_fleet.runtime.cli.errors import InputInvalid
from amrita_fleet.runtime.cli.limit import Change, told
from amrita_fleet.runtime.cli.past import past
from amrita_fleet.runtime.cli.pause import paused
from amrita_fleet.runtime.cli.resume import resumed
from amrita_fleet.runtime.cli.show import ending, events, timeline
from amrita_fleet.runtime.cli.status import Status
from amrita_fleet.runtime.cli.watch import follow
from amrita_fleet.runtime.errors import AgentUnknown

SPEAKER = Agent(preset=scripted(say("one"), say("two"), say("three")))


async def happened(fleet: Fleet, event: str) -> Notice:
    async for notice in fleet.notices():
        if f"{notice.type}.{notice.extra_type}" == event:
            return notice
    raise AssertionError


@pytest.mark.anyio
async def test_paused_agents_stand_still_until_they_are_resumed() -> None:
    async with Fleet("t", system="local") as fleet, asyncio.timeout(10):
        ana, _ = await fleet.spawn(SPEAKER, ["ana", "bob"])
        await paused(fleet, ("ana", "bob"), "lunch")
        run = await ana.start("?")
        assert "lunch" in (await happened(fleet, "agent.paused")).text
        await resumed(fleet, ("ana", "bob"))
        assert (await run.outcome()).text == "one"


@pytest.mark.anyio
@pytest.mark.parametrize("lever", [partial(paused, reason="lunch"), resumed])
async def test_nobody_is_told_anything_if_one_of_them_is_not_there(
    lever: Callable[[Fleet, tuple[str, ...]], Awaitable[None]],
) -> None:
    async with Fleet("t", system="local") as fleet, asyncio.timeout(10):
        ana, *_ = await fleet.spawn(SPEAKER, ["ana", "bob"])
        with pytest.raises(AgentUnknown, match="Did you mean bob"):
            await lever(fleet, ("ana", "bobb"))
        assert (await ana.run("?")).text == "one"  # it was not paused


@pytest.mark.anyio
async def test_a_run_is_shown_from_its_start_to_its_outcome() -> None:
    async with Fleet("t", system="local") as fleet, asyncio.timeout(10):
        ana, bob = await fleet.spawn(SPEAKER, ["ana", "bob"])
        run = await ana.start("?")
        for each in (run, await bob.start("?")):
            async for _notice in each:  # until it has told its end
                pass
        found = await events(fleet, run.id)
        assert {notice.agent for notice in found} == {"ana"}
        assert (found[0].extra_type, timeline(found).row_count) == ("started", len(found))
        end = ending(found)
        assert end is not None
        assert end.data["outcome"] == "answered"
        with pytest.raises(InputInvalid, match=r"no notice of a run 'nothing'\. The last runs are"):
            await events(fleet, "nothing")


@pytest.mark.anyio
async def test_dead_letters_say_from_whom_to_whom_and_why() -> None:
    writer = Agent(preset=scripted(call("send_message", to="ana", body="Are you there?"), say("done")))
    async with Fleet("t", system="local") as fleet, asyncio.timeout(10):
        await fleet.spawn(SPEAKER, ["ana", "eve"])
        (bob,) = await fleet.spawn(writer, ["bob"])
        assert await letters(fleet) == ()
        await fleet.pause("ana")
        async for _notice in await bob.start("Write to ana."):
            pass
        await fleet.stop("ana")
        await happened(fleet, "mail.dead")
        (letter,) = await letters(fleet)
        assert await letters(fleet, "eve") == ()
        with pytest.raises(AgentUnknown):
            await letters(fleet, "nobody")
    told = shown(letter)
    assert (told["sender"], told["recipient"], told["refusal"]) == ("bob", "ana", "stopped")
    assert told["body"] == "Are you there?"
    assert letters_table([letter]).row_count == 1


@pytest.mark.anyio
async def test_the_past_of_a_fleet_without_agents_is_empty_and_asking_for_it_ends() -> None:
    async with Fleet("t", system="local") as fleet, asyncio.timeout(10):
        assert await past(fleet) == ()
        await fleet.spawn(SPEAKER, ["ana"])
        everything = await past(fleet)
        assert [notice.number for notice in everything] == list(range(1, len(everything) + 1))
        assert await past(fleet, after=-1) == everything[-1:]
        assert await past(fleet, after=len(everything)) == ()


@pytest.mark.anyio
async def test_only_those_who_are_named_are_watched() -> None:
    seen: list[Notice] = []
    async with Fleet("t", system="local") as fleet, asyncio.timeout(10):
        ana, bob = await fleet.spawn(SPEAKER, ["ana", "bob"])
        for each in (ana, bob):
            await each.run("?")
        ended = asyncio.Event()

        def tell(notice: Notice) -> None:
            seen.append(notice)
            if notice.extra_type == "finished":
                ended.set()

        watching = asyncio.create_task(follow(fleet, ("bob",), 0, tell))
        await ended.wait()
        watching.cancel()
    assert {notice.agent for notice in seen} == {"bob"}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (Change("", Limits(tokens=5_000, dollars=2)), "the fleet may spend 5,000 tokens, $2.00"),
        (Change("ana", None), "ana has no limit of its own"),
        (Change("ana", None, no_more=True), "ana is granted no more: who needs more gives a last answer"),
    ],
)
def test_a_new_limit_is_told(change: Change, sentence: str) -> None:
    assert told(change) == sentence


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "Say what the limit is"),
        (["--lift", "--no-more"], "Say what the limit is"),
        (["--tokens", "5", "--lift"], "Say what the limit is"),
        (["--lift", "--carved"], "give one"),
        (["--tokens", "0"], "must be at least 1"),
        (["--dollars", "nan"], "dollars must be"),
    ],
)
def test_a_limit_that_is_none_is_refused_before_any_fleet_is_looked_for(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.run_command(["limit", *arguments]) == Status.BAD_INPUT
    assert sentence in capsys.readouterr().err
