"""A fleet that outlives the process that began it."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import cast
from uuid import uuid4

import pytest

from amrita_fleet import (
    Agent,
    AgentRef,
    ChannelClosed,
    Fleet,
    FleetError,
    PeerUnreachable,
    SystemUnavailable,
    collect_garbage,
)
from amrita_fleet.protocols.mail import ReceiptState
from amrita_fleet.protocols.providers.scripted import say
from amrita_fleet.protocols.restarts import RestartPolicy

from ..contracts.gate import Gate
from .blocker import actors_of, ended
from .steady import event, kill, pid_of, steady, until

pytestmark = [pytest.mark.anyio, pytest.mark.ray, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "journal.sqlite"


@pytest.fixture
def name() -> str:
    return f"service-{uuid4().hex[:6]}"


@asynccontextmanager
async def attached(name: str, address: str) -> AsyncGenerator[Fleet, None]:
    """The fleet of that name, which ends with this context."""
    async with Fleet.attach(name, address=address) as fleet:
        try:
            yield fleet
        finally:
            if actors_of(fleet):
                await collect_garbage(name, address=address)


async def run_once_reached(agent: AgentRef) -> None:
    """Run; Ray may have started a process once more that has yet to end itself."""
    while True:
        with suppress(PeerUnreachable):
            await agent.run("?")
            return
        await asyncio.sleep(0.1)


async def begin_elsewhere(address: str, name: str, journal: Path, gate: Gate) -> None:
    """Have another process begin a fleet, and die while its agent waits at the gate."""
    paths = os.pathsep.join(map(str, (ROOT / "src", ROOT)))
    owner = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "tests.actors.service_owner", address, name, str(journal), str(gate.port)),
        env={**os.environ, "PYTHONPATH": paths},
    )
    try:
        await gate.begun("one")
    finally:
        owner.kill()
        await owner.wait()


async def test_a_fleet_goes_on_after_the_process_that_began_it_was_killed(
    ray_cluster: str, journal: Path, name: str
) -> None:
    async with Gate() as gate:
        await begin_elsewhere(ray_cluster, name, journal, gate)
        async with attached(name, ray_cluster) as fleet:
            (row,) = await fleet.statuses()
            assert (row.agent, row.incarnation, row.phase) == ("ana", 1, "acting")
            run = fleet.find_run("ana", row.run or "")
            assert (await fleet.send("ana", "hello")).state is ReceiptState.ACCEPTED
            gate.let("one")
            gate.let("two")
            outcome = await run.outcome()
            assert (outcome.text, outcome.answered) == ("done", True)
            seen = [notice async for notice in run]
            assert [notice.text for notice in seen if notice.extra_type == "consumed"] == ["from user: hello"]
            pids = [row.pid, *(pid_of(fleet, actor) for actor in ("supervisor", "journal"))]
            await fleet.end()
            assert actors_of(fleet) == []
            for pid in pids:
                await ended(pid)


async def test_every_process_of_a_service_may_die_and_the_run_goes_on(
    ray_cluster: str, journal: Path, name: str
) -> None:
    async with Gate() as gate:
        await begin_elsewhere(ray_cluster, name, journal, gate)
        async with attached(name, ray_cluster) as fleet:
            (row,) = await fleet.statuses()
            run = fleet.find_run("ana", row.run or "")
            for actor in ("journal", "supervisor"):
                os.kill(pid_of(fleet, actor), signal.SIGKILL)
            os.kill(row.pid, signal.SIGKILL)
            await ended(row.pid)
            await gate.begun("two")
            gate.let("two")
            outcome = await run.outcome()
            assert (outcome.text, outcome.answered) == ("done", True)
            notices = await until(fleet, event("ana", "finished"))
            assert [notice.number for notice in notices] == list(range(1, len(notices) + 1))
            (died,) = [notice for notice in notices if notice.extra_type == "died"]
            assert (died.text, died.data["restarts"]) == ("its process died", True)
            (row,) = await fleet.statuses()
            assert (row.incarnation, row.phase) == (2, "idle")
            (account,) = [each for each in await fleet.accounts() if each.name == "ana"]
            assert (account.spent.tokens, account.reserved.tokens) == (outcome.tokens, 0)


async def test_an_agent_that_dies_too_often_ends_for_good(ray_cluster: str, journal: Path, name: str) -> None:
    def before(_: int) -> None:
        os._exit(1)

    async with Fleet(name, address=ray_cluster, journal=journal, service=True) as fleet:
        try:
            (ana,) = await fleet.spawn(Agent(preset=steady(say("never"), before=before)), ["ana"])
            run = await ana.start("go")
            await until(fleet, event("ana", "quarantined"))
            with pytest.raises(
                ChannelClosed,
                match="it died: quarantined: it died 4 times within 60 seconds, the last",
            ):
                await run.outcome()
            assert actors_of(fleet) == ["journal", "supervisor"]
        finally:
            await fleet.end()
    assert actors_of(fleet) == []


async def test_a_supervisor_that_follows_one_that_died_restarts_as_often_as_that_one_would(
    ray_cluster: str, journal: Path, name: str
) -> None:
    policy = RestartPolicy(intensity=1, period=600)
    async with Fleet(name, address=ray_cluster, journal=journal, service=True, restarts=policy) as fleet:
        try:
            (ana,) = await fleet.spawn(Agent(preset=steady(say("one"), say("two"))), ["ana"])
            await fleet.spawn(Agent(preset=steady(say("hi")), restart="temporary"), ["bob"])
            assert (await ana.run("?")).text == "one"
            os.kill(pid_of(fleet, "agent:ana"), signal.SIGKILL)
            await until(fleet, event("ana", "revived"))
            os.kill(pid_of(fleet, "supervisor"), signal.SIGKILL)
            os.kill(pid_of(fleet, "agent:ana"), signal.SIGKILL)
            os.kill(pid_of(fleet, "agent:bob"), signal.SIGKILL)
            notices = await until(fleet, event("ana", "quarantined"))
            deaths = cast("list[dict[str, object]]", notices[-1].data["deaths"])
            assert [death["reason"] for death in deaths] == ["its process died"] * 2
            died = await until(fleet, event("bob", "died"))
            assert died[-1].data["restarts"] is False
            with pytest.raises(ChannelClosed):
                await run_once_reached(ana)
        finally:
            await fleet.end()


async def test_who_is_attached_to_a_service_spawns_into_it(ray_cluster: str, journal: Path, name: str) -> None:
    agent = Agent(preset=steady(say("hi")))
    async with Fleet(name, address=ray_cluster, journal=journal, service=True) as fleet:
        await fleet.spawn(agent, ["ana"])
        with pytest.raises(SystemUnavailable, match="runs there already: join it with"):
            await Fleet(name, address=ray_cluster, journal=journal, service=True).__aenter__()
    assert actors_of(fleet) == ["agent:ana", "journal", "supervisor"]
    async with attached(name, ray_cluster) as visit:
        (bob,) = await visit.spawn(agent, ["bob"])
        assert [(await each.run("?")).text for each in (visit.agent("ana"), bob)] == ["hi", "hi"]


async def test_what_is_left_of_dead_fleets_is_collected_and_nothing_else(
    ray_cluster: str, journal: Path, name: str
) -> None:
    agent = Agent(preset=steady(say("hi")))
    async with Fleet() as owned:
        await owned.spawn(agent, ["ana"])
        await owned.stop_all()
        async with Fleet(name, address=ray_cluster, journal=journal, service=True) as fleet:
            await fleet.spawn(agent, ["ana"])
        assert await collect_garbage(address=ray_cluster) == ()
        async with Fleet.attach(name, address=ray_cluster) as visit:
            await visit.stop_all("enough")
        (found,) = await collect_garbage(address=ray_cluster, remove=False)
        assert (found.name, found.reason) == (name, "it was stopped: enough")
        assert await collect_garbage(address=ray_cluster) == (found,)
        assert actors_of(fleet) == []
        assert actors_of(owned) == ["agent:ana", "supervisor"]
        with pytest.raises(SystemUnavailable, match="nothing is left of a fleet named"):
            await collect_garbage(name, address=ray_cluster)


async def test_fleets_that_are_being_opened_or_mended_are_left_alone(
    ray_cluster: str, tmp_path: Path, name: str
) -> None:
    agent = Agent(preset=steady(say("hi")))
    async with Fleet(journal=tmp_path / "owned.sqlite") as owned:
        (ana,) = await owned.spawn(agent, ["ana"])
        kill(owned, "supervisor")
        assert await collect_garbage(address=ray_cluster) == ()
        opening = Fleet(name, address=ray_cluster, journal=tmp_path / "service.sqlite", service=True)
        begun = asyncio.create_task(opening.__aenter__())
        while not begun.done():
            assert await collect_garbage(address=ray_cluster) == ()
        fleet = await begun
        await fleet.spawn(agent, ["ana"])
        await fleet.end()
        assert (await ana.run("?")).text == "hi"


async def test_a_service_that_is_cancelled_while_it_begins_leaves_nothing(
    ray_cluster: str, journal: Path, name: str
) -> None:
    fleet = Fleet(name, address=ray_cluster, journal=journal, service=True)
    begun = asyncio.create_task(fleet.__aenter__())
    while not actors_of(fleet):  # noqa: ASYNC110  it is Ray's to say
        await asyncio.sleep(0.01)
    begun.cancel()
    with pytest.raises(asyncio.CancelledError):
        await begun
    assert actors_of(fleet) == []


async def test_an_end_that_is_cancelled_ends_the_fleet_all_the_same(ray_cluster: str, journal: Path, name: str) -> None:
    async with Gate() as gate:
        await begin_elsewhere(ray_cluster, name, journal, gate)
        fleet = await Fleet.attach(name, address=ray_cluster).__aenter__()
        ending = asyncio.create_task(fleet.end(grace=60))
        await asyncio.sleep(0)  # it has begun, and nothing more
        while not ending.done():
            ending.cancel()
            await asyncio.wait({ending}, timeout=1)
        assert actors_of(fleet) == []


async def test_a_stopped_service_is_opened_again_with_its_journal(ray_cluster: str, journal: Path, name: str) -> None:
    for life in (1, 2):
        async with Fleet(name, address=ray_cluster, journal=journal, service=True) as fleet:
            (ana,) = await fleet.spawn(Agent(preset=steady(say("one"), say("two"))), ["ana"])
            assert (await ana.run("?")).text == ("one", "two")[life - 1]
            assert [row.incarnation for row in await fleet.statuses()] == [life]
            kill(fleet, "agent:ana")
            await fleet.end()


@pytest.mark.parametrize(
    ("system", "why"),
    [("ray", "a service outlives processes, its Supervisor's as well, so it needs a journal"), ("local", "outlive it")],
)
def test_a_service_that_could_not_go_on_is_refused(system: str, why: str) -> None:
    with pytest.raises(SystemUnavailable, match=why):
        Fleet(system=system, service=True)  # type: ignore[arg-type]


async def test_the_fleet_of_another_process_is_not_ended(ray_cluster: str) -> None:
    async with Fleet() as fleet, Fleet.attach(fleet.name, address=ray_cluster) as visit:
        with pytest.raises(FleetError, match="only the process that opened a fleet"):
            await visit.end()


def typed(*arguments: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-m", "amrita_fleet", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)


async def test_another_terminal_attaches_to_a_service_and_collects_it(
    ray_cluster: str, journal: Path, name: str
) -> None:
    async with Gate() as gate:
        await begin_elsewhere(ray_cluster, name, journal, gate)
        where = ("--fleet", name, "--address", ray_cluster)
        attaching = asyncio.create_task(asyncio.to_thread(typed, "attach", "--until-idle", *where))
        gate.let("one")
        gate.let("two")
        attached = await attaching
        assert (attached.returncode, attached.stderr) == (0, "")
        assert attached.stdout.startswith(f"fleet {name}: 1 agent\n")
        assert attached.stdout.rstrip().splitlines()[-1].split() == ["ana", "run.finished", "answered:", "done"]
        nothing = await asyncio.to_thread(typed, "gc", "--dry-run", "--address", ray_cluster)
        assert (nothing.returncode, nothing.stdout) == (0, "no dead fleet\n")
        stopped = await asyncio.to_thread(typed, "stop", "--all", *where)
        assert stopped.returncode == 0
        collected = await asyncio.to_thread(typed, "gc", "--json", "--address", ray_cluster)
        (dead,) = json.loads(collected.stdout)["dead"]
        assert (dead["name"], dead["reason"]) == (name, "it was stopped: stopped from the command line")
        again = await asyncio.to_thread(typed, "gc", "--fleet", name, "--yes", "--address", ray_cluster)
        assert (again.returncode, again.stdout) == (1, "")
        assert f"nothing is left of a fleet named '{name}'" in again.stderr
