"""Who dies on Ray lives again, and goes on with what it was about."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, cast

import pytest
from anyio import Path as AsyncPath
from ray.util import list_named_actors

from amrita_fleet import Agent, ChannelClosed, Fleet, Notice, PeerUnreachable, tool
from amrita_fleet.protocols.checkin import AgentStatus
from amrita_fleet.protocols.codec import decode, decode_verdicts, encode_batch
from amrita_fleet.protocols.ids import SUPERVISOR, AgentId, Incarnation
from amrita_fleet.protocols.mail import ReceiptState, Refusal
from amrita_fleet.protocols.providers.scripted import call, say
from amrita_fleet.runtime.config import MailConfig
from amrita_fleet.runtime.journal.choose import open_journal
from amrita_fleet.runtime.journal.fleets import drop_fleet
from amrita_fleet.runtime.journal.sql import SqlJournal
from amrita_fleet.runtime.mail.outbox import Outbox
from amrita_fleet.runtime.supervision.command_log import CADENCE
from amrita_fleet.runtime.supervision.restart import USUAL

from ..contracts.gate import Gate
from .blocker import Blocker, actors_of, ended
from .steady import event, handle, journaled, kill, pid_of, steady, until

pytestmark = [pytest.mark.anyio, pytest.mark.ray, pytest.mark.slow, pytest.mark.usefixtures("ray_cluster")]


OWNER = Path(__file__).with_name("owner.py")
ENVIRONMENT = {"PYTHONPATH": str(Path(__file__).resolve().parents[2] / "src")}

LOST = {"num_failures": -1, "req_failure_prob": 15, "resp_failure_prob": 15, "in_flight_failure_prob": 0}
FAILURES = {"CoreWorkerService.grpc_client.PushTask": LOST}
"""Of calls between processes so many in a hundred never arrive, and of as many others the answer does not."""


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "journal.sqlite"


async def gone(namespace: str) -> None:
    """Wait until Ray has no actor of a fleet."""
    async with asyncio.timeout(30):
        while namespace in [each["namespace"] for each in cast("Any", list_named_actors)(all_namespaces=True)]:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


def consumed(notices: list[Notice]) -> list[str]:
    return [notice.text for notice in notices if notice.extra_type == "consumed"]


async def test_an_agent_that_is_killed_while_a_tool_runs_goes_on(journal: Path) -> None:
    async with Gate() as gate, journaled(journal) as fleet:
        model = steady(call("gate", name="one"), call("gate", name="two"), say("done"))
        (ana,) = await fleet.spawn(Agent(preset=model, tools=(gate.tool,)), ["ana"])
        run = await ana.start("go")
        await gate.begun("one")
        assert (await ana.send("hello")).state is ReceiptState.ACCEPTED
        waiting = asyncio.create_task(run.outcome())
        kill(fleet, "agent:ana")
        await gate.begun("two")
        gate.let("two")
        outcome = await waiting
        notices = [notice async for notice in run]
        assert (outcome.text, outcome.answered) == ("done", True)
        assert len(consumed(notices)) == 1
        assert [(row.incarnation, row.phase, row.consumed) for row in await fleet.statuses()] == [(2, "idle", 1)]


async def test_an_agent_whose_process_is_killed_while_its_model_is_asked_goes_on(journal: Path) -> None:
    async with Blocker() as blocker, journaled(journal) as fleet:
        blocked = blocker.blocked

        def before(number: int) -> None:
            if number == 1:
                blocked()

        model = steady(call("list_peers"), say("done"), before=before)
        (ana,) = await fleet.spawn(Agent(preset=model), ["ana"])
        run = await ana.start("go")
        await blocker.begun()
        (row,) = await fleet.statuses()
        os.kill(row.pid, signal.SIGKILL)
        await ended(row.pid)
        blocker.free()
        assert (await run.outcome()).text == "done"
        (row,) = await fleet.statuses()
        assert row.incarnation == 2


async def test_what_dies_again_and_again_stays_dead_and_the_run_is_told(journal: Path) -> None:
    async with journaled(journal) as fleet:

        def before(_: int) -> None:
            os._exit(1)

        (lead,) = await fleet.spawn(Agent(preset=steady(call("wait_for_messages", seconds=60), say("told"))), ["lead"])
        watch = await lead.start("watch over ana")
        (ana,) = await fleet.spawn(Agent(preset=steady(say("never"), before=before)), ["ana"], parent=lead)
        run = await ana.start("go")
        with pytest.raises(ChannelClosed, match="it died"):
            await run.outcome()
        notices = await until(fleet, event("ana", "quarantined"))
        restarts = [notice.data["restarts"] for notice in notices if notice.extra_type == "died"]
        assert restarts == [True] * USUAL.intensity + [False]
        assert (await watch.outcome()).text == "told"
        assert ["ana died" in text for text in consumed([notice async for notice in watch])] == [True]


async def test_a_temporary_agent_that_dies_is_not_restarted(journal: Path) -> None:
    async with journaled(journal) as fleet:
        (ana,) = await fleet.spawn(Agent(preset=steady(say("hi")), restart="temporary"), ["ana"])
        assert (await ana.run("?")).text == "hi"
        kill(fleet, "agent:ana")
        notices = await until(fleet, event("ana", "died"))
        assert notices[-1].data["restarts"] is False
        assert [row.phase for row in await fleet.statuses()] == ["dead"]
        assert actors_of(fleet) == ["journal", "supervisor"]


async def test_a_life_that_cannot_begin_is_given_up_once_for_each_try(journal: Path, tmp_path: Path) -> None:
    mark = tmp_path / "broken"

    def broken() -> bool:
        if mark.exists():
            os._exit(1)
        return True

    @tool(enable_if=broken)
    async def fragile() -> str:
        """Its agent cannot begin again."""
        return ""

    async with journaled(journal) as fleet:
        (ana,) = await fleet.spawn(Agent(preset=steady(say("hi")), tools=(fragile,)), ["ana"])
        assert (await ana.run("?")).text == "hi"
        await AsyncPath(mark).touch()
        kill(fleet, "agent:ana")
        notices = await until(fleet, event("ana", "quarantined"))
        assert [notice.data["incarnation"] for notice in notices if notice.extra_type == "died"] == [1, 2, 3, 4]
        assert actors_of(fleet) == ["journal", "supervisor"]


async def test_a_stopped_agent_stays_dead(journal: Path) -> None:
    async with Blocker() as blocker, journaled(journal) as fleet:
        model = steady(call("block"), say("never"))
        (ana,) = await fleet.spawn(Agent(preset=model, tools=(blocker.tool,)), ["ana"])
        run = await ana.start("go")
        await blocker.begun()
        stopping = asyncio.create_task(ana.stop())
        await until(fleet, event("ana", "stopped"))
        kill(fleet, "agent:ana")
        await stopping
        with pytest.raises(ChannelClosed, match="stopped by the user"):
            await run.outcome()
        assert [row.phase for row in await fleet.statuses()] == ["dead"]
        assert actors_of(fleet) == ["journal", "supervisor"]


@pytest.mark.parametrize("how", ["kill", "SIGKILL"])
async def test_a_run_does_not_notice_that_the_supervisor_and_the_journal_died(journal: Path, how: str) -> None:
    def crash(name: str) -> None:
        if how == "kill":
            kill(fleet, name)
        else:
            os.kill(pid_of(fleet, name), signal.SIGKILL)

    async with Gate() as gate, journaled(journal, limit=1_000_000) as fleet:
        names = ("one", "two", "three", "four", "five")
        model = steady(*(call("gate", name=name) for name in names), say("done"))
        (ana,) = await fleet.spawn(Agent(preset=model, tools=(gate.tool,)), ["ana"])
        run = await ana.start("go")
        for name, victim in zip(names, ("supervisor", "journal", "supervisor", "journal", ""), strict=True):
            await gate.begun(name)
            if victim:
                crash(victim)
            gate.let(name)
        outcome = await run.outcome()
        assert (outcome.text, outcome.rounds) == ("done", 6)
        notices = await until(fleet, event("ana", "finished"))
        assert [notice.number for notice in notices] == list(range(1, len(notices) + 1))
        assert [n.text for n in notices if (n.type, n.extra_type) == ("tool", "ended")] == ["gate: go"] * 5
        (account,) = [each for each in await fleet.accounts() if each.name == "ana"]
        assert (account.spent.tokens, account.reserved.tokens) == (outcome.tokens, 0)
        assert await fleet.spawn(Agent(preset=steady(say("hi"))), ["bob"])


async def test_a_supervisor_that_died_goes_on_from_a_snapshot_of_its_accounts(journal: Path) -> None:
    async with journaled(journal, limit=50_000) as fleet:
        (ana,) = await fleet.spawn(Agent(preset=steady(say("one"), say("two"))), ["ana"])
        assert (await ana.run("go")).text == "one"
        accounts, rows, life = await fleet.accounts(), await fleet.statuses(), 0
        while life <= CADENCE.commands:
            life, *_ = await asyncio.gather(*(handle(fleet, SUPERVISOR).admit_user.remote(1) for _ in range(50)))

        kill(fleet, SUPERVISOR)

        assert (await ana.run("again")).text == "two"
        after = await fleet.accounts()
        assert [account.limit for account in after] == [account.limit for account in accounts]
        assert all(now.settled.tokens > then.settled.tokens > 0 for now, then in zip(after, accounts, strict=True))
        assert [row.incarnation for row in await fleet.statuses()] == [row.incarnation for row in rows]
        stream = f"{fleet.name}/ledger"
    read = open_journal(journal)
    whole = [record for record in await read.read(stream) if record.snapshot]
    await read.aclose()
    assert [record.incarnation for record in whole] == [1], "it was written by the one that died"


async def test_a_message_to_an_agent_that_is_being_restarted_arrives_once(journal: Path) -> None:
    async with Gate() as gate, journaled(journal) as fleet:
        sends = [call("send_message", to="bob", body=f"letter {number}") for number in range(6)]
        bob_model = steady(call("gate", name="bob"), say("read"), say("read"), say("read"), say("read"), say("read"))
        await fleet.spawn(Agent(preset=bob_model, tools=(gate.tool,)), ["bob"])
        (ana,) = await fleet.spawn(Agent(preset=steady(*sends, say("sent"))), ["ana"])
        await fleet.start("bob", "wait at the gate")
        await gate.begun("bob")
        sending = await ana.start("write")
        await until(fleet, lambda notice: notice.extra_type == "sent" and "letter 1" in notice.text)
        kill(fleet, "agent:bob")
        assert (await sending.outcome()).answered
        gate.let("bob")
        seen = await until(fleet, lambda n: n.extra_type == "consumed" and "letter 5" in n.text)
        sent = [notice async for notice in sending if notice.extra_type == "sent"]
        assert len(sent) == 6
        texts = " ".join(consumed(seen))
        assert [texts.count(f"letter {number}") for number in range(6)] == [1] * 6


async def test_a_life_that_was_found_dead_but_lives_ends_itself_and_leaves_the_run_to_the_next(journal: Path) -> None:
    model = steady(call("gate", name="one"), call("gate", name="two"), say("done"))
    async with Gate() as gate, journaled(journal) as fleet:
        kind = Agent(preset=model, tools=(gate.tool,))
        (ana,) = await fleet.spawn(kind, ["ana"])
        run = await ana.start("go")
        await gate.begun("one")
        (row,) = await fleet.statuses()
        await handle(fleet, "supervisor").died.remote("ana", 1, "its node was cut off", False)  # noqa: FBT003
        gate.let("one")
        await ended(row.pid)
        async with asyncio.timeout(30):
            while actors_of(fleet) != ["journal", "supervisor"]:  # noqa: ASYNC110  it is Ray's to say
                await asyncio.sleep(0.05)
        await fleet.spawn(kind, ["ana"])
        gate.let("two")
        assert (await run.outcome()).text == "done"


async def test_a_fleet_whose_owner_was_killed_goes_on_in_another_process(journal: Path, ray_cluster: str) -> None:
    async with Gate() as gate:
        owner = await asyncio.create_subprocess_exec(
            sys.executable, str(OWNER), ray_cluster, str(journal), str(gate.port), env={**os.environ, **ENVIRONMENT}
        )
        try:
            await gate.begun("one")
        finally:
            owner.kill()
            await owner.wait()
        await gone("amrita-owned")
        async with journaled(journal, "owned") as fleet:
            model = steady(call("gate", name="one"), call("gate", name="two"), say("done"))
            (ana,) = await fleet.spawn(Agent(preset=model, tools=(gate.tool,)), ["ana"])
            await gate.begun("two")
            gate.let("two")
            seen = await until(fleet, event("ana", "finished"))
            assert seen[-1].data["outcome"] == "answered"
            assert [row.incarnation for row in await fleet.statuses()] == [2]
            assert ana.name == "ana"


async def test_a_fleet_that_was_deleted_while_it_ran_does_not_begin_again_with_empty_accounts(
    journal: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = steady(call("gate", name="one"), call("gate", name="two"), say("done"))
    async with Gate() as gate, journaled(journal, "deleted") as fleet:
        (ana,) = await fleet.spawn(Agent(preset=model, tools=(gate.tool,)), ["ana"])
        run = await ana.start("go")
        await gate.begun("one")
        kept = SqlJournal(journal)
        assert await drop_fleet(kept, "deleted")
        gate.let("one")
        with pytest.raises(ChannelClosed):
            await run.outcome()
        with pytest.raises(ChannelClosed):
            await fleet.spawn(Agent(preset=model), ["bob"])
        assert await kept.streams() == ()
        await kept.aclose()
    assert "the fleet was deleted while it ran" in caplog.text


async def test_a_stop_overtakes_deliveries_that_wait_for_the_journal(journal: Path) -> None:
    async with journaled(journal) as fleet:
        await fleet.spawn(Agent(preset=steady(say("hi"))), ["ana"])
        stands = pid_of(fleet, "journal")
        os.kill(stands, signal.SIGSTOP)
        try:
            ana = handle(fleet, "agent:ana")
            sending: list[asyncio.Future[bytes]] = []
            for number in range(16):
                one = Outbox(AgentId(f"peer-{number}"), Incarnation(1)).put(AgentId("ana"), "hello", now=0.0)[0]
                sending.append(asyncio.ensure_future(ana.deliver.remote(encode_batch((one,)))))
            async with asyncio.timeout(30):
                await ana.stop.remote("enough")
                status = decode(await ana.status.remote(), AgentStatus)
            assert (status.phase, status.note) == ("stopped", "enough")
            assert not any(each.done() for each in sending)
        finally:
            os.kill(stands, signal.SIGCONT)
        verdicts = [decode_verdicts(await each) for each in sending]
        assert {verdict for (verdict,) in verdicts} <= {None, Refusal.STOPPED}


async def test_a_run_waits_while_its_journal_is_away_although_the_journals_actor_dies_meanwhile(journal: Path) -> None:
    async with Gate() as gate, journaled(journal) as fleet:
        model = steady(call("gate", name="one"), say("done"))
        (ana,) = await fleet.spawn(Agent(preset=model, tools=(gate.tool,)), ["ana"])
        run = await ana.start("go")
        await gate.begun("one")
        beside = [path for path in journal.parent.iterdir() if path.name.startswith(journal.name)]
        away = journal.parent / "away"
        away.mkdir()
        for path in beside:
            path.rename(away / path.name)
        pid = pid_of(fleet, "journal")
        os.kill(pid, signal.SIGKILL)
        await ended(pid)
        gate.let("one")
        waiting = asyncio.create_task(run.outcome())
        async with asyncio.timeout(60):
            while "journal" not in (await fleet.statuses())[0].note:  # noqa: ASYNC110  what waits can send no notice
                await asyncio.sleep(0.1)
        assert not waiting.done()
        for path in beside:
            (away / path.name).rename(path)
        assert (await waiting).text == "done"


async def ask_for_ever(fleet: Fleet) -> None:
    """Until there is no Supervisor any more."""
    while True:
        await fleet.send("ana", "anybody there?")
        await fleet.statuses()


async def test_of_two_processes_that_open_a_fleet_the_newer_one_goes_on_and_the_older_one_ends(journal: Path) -> None:
    async with Gate() as gate, journaled(journal, "taken") as old:
        held = steady(call("gate", name="old"), say("never"))
        (ana,) = await old.spawn(Agent(preset=held, tools=(gate.tool,)), ["ana"])
        await ana.start("go")
        await gate.begun("old")
        async with Fleet("taken", system="local", journal=journal) as new:
            model = steady(say("new"), say("still new"))
            (bob,) = await new.spawn(Agent(preset=model), ["bob"])
            assert (await bob.run("?")).text == "new"
            gate.let("old")  # its next model call asks a Supervisor that may answer nobody
            with pytest.raises((ChannelClosed, PeerUnreachable)):
                await ask_for_ever(old)
            assert (await bob.run("?")).text == "still new"
            assert [row.agent for row in await new.statuses() if row.phase == "idle"] == ["bob"]


@pytest.mark.timeout(400)
def test_no_message_or_notice_is_lost_doubled_or_reordered_while_calls_get_lost(tmp_path: Path) -> None:
    count = 834  # to each of three, by each of four
    assert 3 * count > MailConfig().mailbox_messages, "mailboxes run full, and senders ask again"
    # For each call that gets lost Ray waits whether its process has died, for a second where nobody says else: most of
    # the time that this takes.
    failing = {
        "RAY_testing_rpc_failure": json.dumps(FAILURES),
        "RAY_timeout_ms_task_wait_for_death_info": "100",
    }
    found = other_cluster("chaos", str(tmp_path / "journal.sqlite"), str(count), **failing)
    letters = [f"letter {number}" for number in range(count)]
    assert found["consumed"] == dict.fromkeys(("ana", "bob", "cyd", "dan"), 3 * count)
    assert all(heard == letters for senders in found["heard"].values() for heard in senders.values())
    assert [len(senders) for senders in found["heard"].values()] == [3] * 4
    assert found["told_again"], "no answer was lost: the failures were not injected"
    assert found["again"] == 0


@pytest.mark.parametrize("fleet", ["owned", "service"])
@pytest.mark.parametrize("how", ["removed", "stopped"])
def test_an_agent_whose_node_is_lost_goes_on_elsewhere_and_what_is_left_of_it_ends(
    tmp_path: Path, how: str, fleet: str
) -> None:
    found = other_cluster("node_loss", str(tmp_path / "journal.sqlite"), how, fleet)
    assert found == {
        "accepted": True,
        "moved": True,
        "text": "done",
        "finished": 1,
        "consumed": ["from user: hello"],
        "lives": [2],
    }


def other_cluster(script: str, *arguments: str, **environment: str) -> dict[str, Any]:
    """Run a script with a cluster of its own, and give what it prints."""
    root = Path(__file__).resolve().parents[2]
    paths = os.pathsep.join(map(str, (root / "src", root)))
    with tempfile.TemporaryDirectory(prefix="r", dir="/tmp", ignore_cleanup_errors=True) as folder:
        Path(folder, "ray").mkdir()
        done = subprocess.run(
            [sys.executable, "-m", f"tests.actors.{script}", *arguments],
            env={**os.environ, "PYTHONPATH": paths, "RAY_TMPDIR": folder, **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=350,
        )
    assert done.returncode == 0, done.stderr
    (facts,) = [line for line in done.stdout.splitlines() if line.startswith("{")]  # Ray says things too
    return cast("dict[str, Any]", json.loads(facts))
