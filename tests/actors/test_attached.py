"""A fleet steered from a process that does not own it."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from amrita_fleet import Agent, AgentUnknown, ChannelClosed, Fleet, SystemUnavailable
from amrita_fleet.protocols.mail import ReceiptState
from amrita_fleet.protocols.providers.scripted import repeat, say, scripted

from .blocker import actors_of

SOURCE = Path(__file__).resolve().parents[2] / "src"

pytestmark = [pytest.mark.anyio, pytest.mark.ray]


def agent(text: str) -> Agent:
    return Agent(preset=scripted(repeat(say(text))))


async def test_a_visitor_sees_and_steers_and_ends_nothing(ray_cluster: str) -> None:
    async with Fleet() as fleet:
        await fleet.spawn(agent("hi"), ["ana", "bob"])
        async with Fleet.attach(fleet.name, address=ray_cluster) as visit:
            assert [row.agent for row in await visit.statuses()] == ["ana", "bob"]
            assert (await visit.agent("ana").run("?")).text == "hi"
            assert (await visit.send("bob", "hello")).state is ReceiptState.ACCEPTED
            assert [account.name for account in await visit.accounts()] == [fleet.name, "ana", "bob"]
            await visit.pause("ana")
            await visit.resume("ana")
            assert (await visit.stop("bob")).acknowledged == ("bob",)
            with pytest.raises(AgentUnknown):
                await visit.send("anna", "hello")
            with pytest.raises(SystemUnavailable, match="only the process that opened a fleet"):
                await visit.spawn(agent("x"), ["cy"])
        assert actors_of(fleet) == ["agent:ana", "agent:bob", "supervisor"]
        assert (await fleet.agent("ana").run("?")).text == "hi"


async def test_the_only_fleet_needs_no_name_and_unknown_ones_are_answered_with_those_there_are(
    ray_cluster: str,
) -> None:
    async with Fleet() as one:
        async with Fleet.attach(address=ray_cluster) as visit:
            assert visit.name == one.name
        with pytest.raises(SystemUnavailable, match=f"no fleet named 'nix': there are {one.name}"):
            await Fleet.attach("nix", address=ray_cluster).__aenter__()
    with pytest.raises(SystemUnavailable, match="no single fleet to choose: no fleet runs there"):
        await Fleet.attach(address=ray_cluster).__aenter__()


async def test_a_visitor_whose_fleet_has_ended_is_told(ray_cluster: str) -> None:
    fleet = Fleet()
    async with fleet, Fleet.attach(fleet.name, address=ray_cluster) as visit:
        await fleet.close()
        with pytest.raises(ChannelClosed, match="supervisor"):
            await visit.statuses()


async def test_another_terminal_can_do_it(ray_cluster: str) -> None:
    script = """
        import asyncio, sys
        from amrita_fleet import Fleet

        async def main() -> None:
            async with Fleet.attach(sys.argv[1], address=sys.argv[2]) as fleet:
                print([row.agent for row in await fleet.statuses()], (await fleet.agent("ana").run("?")).text)

        asyncio.run(main())
    """
    async with Fleet() as fleet:
        await fleet.spawn(agent("hi"), ["ana"])
        done = await run(textwrap.dedent(script), fleet.name, ray_cluster)
        assert (done.stdout, done.returncode) == ("['ana'] hi\n", 0), done.stderr
        assert (await fleet.agent("ana").run("?")).text == "hi"


async def run(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a script as another process, while this one's event loop goes on."""
    from anyio import to_thread

    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(SOURCE)!r})\n{script}", *arguments]
    return await to_thread.run_sync(lambda: subprocess.run(command, capture_output=True, text=True, check=False))
