"""Recordings: written and read, folded into rows, played at a pace, and shown without a fleet."""

import asyncio
import json
import math
import os
import signal
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet import Agent, AgentStatus, Fleet, tool
from amrita_fleet.protocols.ids import AgentId, RunId
from amrita_fleet.protocols.notices import Notice, NoticeType
from amrita_fleet.protocols.providers.script import call, say
from amrita_fleet.protocols.providers.scripted import scripted
from amrita_fleet.runtime.cli.app import run_command
from amrita_fleet.runtime.cli.status import Status
from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.errors import NumberInvalid
from amrita_fleet.runtime.gateway.errors import RecordingInvalid
from amrita_fleet.runtime.gateway.fold import Folded, fold
from amrita_fleet.runtime.gateway.recorded import RecordedSource
from amrita_fleet.runtime.gateway.recording import Recording, recorded_line
from amrita_fleet.runtime.gateway.server import Gateway

pytestmark = pytest.mark.anyio

HEAD = '{"recording": 1, "fleet": "house"}'
LINE = (
    '{"type": "agent", "extra_type": "ready", "agent": "ana", "text": "", "run": null, "step": 0, "data": {},'
    ' "number": 1, "at": 1.0}'
)

facts = st.dictionaries(
    st.text(max_size=5), st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**63), st.text(), st.just([1]))
)
events = st.builds(
    Notice,
    st.sampled_from(NoticeType),
    st.sampled_from(["admitted", "died", "started", "finished", "sent", "replied", "ended", "intro", "odd"]),
    st.sampled_from([AgentId("ana"), AgentId("bob")]),
    st.text(),
    st.one_of(st.none(), st.just(RunId("ana.1.1"))),
    st.integers(0, 99),
    facts,
    st.just(0),
    st.floats(0, 2e9),
)


def changed(before: str, after: str) -> str:
    """A recording of one notice, in whose line something else stands."""
    assert before in LINE
    return f"{HEAD}\n{LINE.replace(before, after)}"


def numbered(notices: list[Notice]) -> tuple[Notice, ...]:
    return tuple(
        Notice(each.type, each.extra_type, each.agent, each.text, each.run, each.step, each.data, number, each.at)
        for number, each in enumerate(notices, start=1)
    )


def at(number: int, seconds: float) -> Notice:
    return Notice(NoticeType.AGENT, "ready", AgentId("ana"), "", number=number, at=seconds)


@given(st.lists(events, max_size=20))
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, notices: list[Notice]) -> None:
    path = tmp_path_factory.mktemp("recordings") / "file"
    recording = Recording('"fleet" ü', numbered(notices))
    recording.write(path)
    assert Recording.read(path) == recording


@given(events)
def test_a_line_of_it_is_what_watch_prints_as_json(notice: Notice) -> None:
    assert json.loads(recorded_line(notice)) == json.loads(json.dumps(asdict(notice)))


@given(st.lists(events, max_size=20), st.integers(0, 20))
def test_any_notices_fold_and_in_parts_as_in_one(notices: list[Notice], cut: int) -> None:
    whole = fold(Folded("house"), notices)
    parts = fold(fold(Folded("house"), notices[:cut]), notices[cut:])
    assert parts.rows == whole.rows
    assert sum(row.tokens for row in whole.rows.values()) == whole.accounts()[0].spent.tokens


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("", 1, "file of something else"),
        ("{}", 1, "file of something else"),
        (HEAD.replace("1", "2", 1), 1, "version 2"),
        (HEAD.replace("1", "true", 1), 1, "file of something else"),
        ("[1]", 1, "no JSON object"),
        ("\x00PNG", 1, "no JSON"),
        (f"{HEAD}\n{LINE[:-20]}", 2, "cut off"),
        (f"{HEAD}\n{LINE}\n\n", 3, "no JSON"),
        (f"{HEAD}\n{LINE}\n{LINE}", 3, "number 1 comes after 1"),
        (changed('"type": "agent"', '"type": "agents"'), 2, "no notices of the type 'agents'"),
        (changed('"step": 0', '"step": true'), 2, "its 'step'"),
        (changed('"text": "", ', ""), 2, "its 'text'"),
        *((changed('"at": 1.0', f'"at": {wrong}'), 2, "no Unix seconds") for wrong in ("-1", "9" * 19, "1e13")),
        *((changed('"at": 1.0', f'"at": {wrong}'), 2, "its 'at'") for wrong in ("NaN", "Infinity", "1e400")),
        *(
            (changed('"step": 0', f'"step": {wrong}'), 2, "more than 64 bits")
            for wrong in ("9" * 400, "9" * 5000, "18446744073709551616", "-9223372036854775809")
        ),
        (changed('"data": {}', f'"data": {{"prompt": {10**30}}}'), 2, "more than 64 bits"),
        (changed('"number": 1', '"number": 0'), 2, "from 1"),
        (f"{HEAD}\n{'[' * 100_000}", 2, "no JSON"),
    ],
)
def test_what_is_no_recording_is_refused_with_its_line(tmp_path: Path, text: str, line: int, says: str) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    with pytest.raises(RecordingInvalid, match=says) as raised:
        Recording.read(path)
    assert raised.value.line == line


def test_a_file_without_an_end_is_refused_at_its_first_line() -> None:
    with pytest.raises(RecordingInvalid, match="line 1 of /dev/zero: it has more than") as raised:
        Recording.read(Path("/dev/zero"))
    assert raised.value.line == 1


def test_what_utf8_cannot_carry_is_a_question_mark(tmp_path: Path) -> None:
    path = tmp_path / "file"
    half = changed('"text": ""', r'"text": "x\ud800y"').replace('"fleet": "house"', r'"fleet": "f\ud800"')
    path.write_text(half.replace('"data": {}', r'"data": {"\ud800": ["\ud83d\ude00"]}'))
    recording = Recording.read(path)
    (notice,) = recording.notices
    assert (recording.fleet, notice.text, notice.data) == ("f?", "x?y", {"?": ["😀"]})


def test_ctrl_c_ends_the_wait_for_a_file_that_nobody_writes(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen([sys.executable, "-c", WAITS, str(pipe)], stderr=subprocess.PIPE, text=True) as process:
        writer = os.open(pipe, os.O_WRONLY)  # waits until it is read
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        os.close(writer)
    assert process.returncode == Status.INTERRUPTED
    assert said.strip() == "amrita-fleet: Interrupted."


WAITS = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that runs this in the background has it ignored
from amrita_fleet.runtime.cli.app import main
sys.argv[1:] = ["replay", sys.argv[1]]
main()
"""


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecordingInvalid, match="No such file"):
        Recording.read(tmp_path / "missing")


def test_what_is_told_of_the_fleets_account_makes_nobody_an_agent() -> None:
    limited = Notice(NoticeType.BUDGET, "no_more", AgentId("house"), "house gets no more", number=1)
    assert fold(Folded("house"), (limited,)).rows == {}


def told_by_notices(row: AgentStatus) -> tuple[object, ...]:
    """What of a row notices tell."""
    mail = (row.waiting, row.sent, row.consumed)
    return (row.agent, row.incarnation, row.phase, row.run, row.step, row.tokens, row.tools, *mail)


async def lived() -> tuple[tuple[Notice, ...], tuple[AgentStatus, ...]]:
    """The notices of a fleet in which something happens, and its rows at the end."""

    @tool
    async def look(at: str) -> str:
        """Look."""
        return at

    ana = Agent(
        preset=scripted(call("look", at="it"), call("send_message", to="bob", body="Look."), say("Done.")),
        tools=(look,),
    )
    async with Fleet("house", system="local") as fleet, asyncio.timeout(30):
        await fleet.spawn(ana, ["ana"])
        await fleet.spawn(Agent(preset=scripted(say("Seen."))), ["bob", "cy"])
        await (await fleet.start("ana", "Look, and tell bob.")).outcome()
        await fleet.stop("cy")
        notices: list[Notice] = []
        over = {"ana.finished", "bob.finished", "cy.stopped"}
        async for notice in fleet.notices():
            notices.append(notice)
            over.discard(f"{notice.agent}.{notice.extra_type}")
            if not over:
                return tuple(notices), await fleet.statuses()
    raise AssertionError


async def test_rows_folded_from_notices_are_those_of_the_fleet_as_far_as_notices_tell() -> None:
    notices, rows = await lived()
    folded = fold(Folded("house"), notices)
    assert [told_by_notices(row) for row in folded.rows.values()] == [told_by_notices(row) for row in rows]
    assert folded.rows[AgentId("ana")].spent.model_calls == 3


def test_what_comes_late_of_one_that_is_over_does_not_bring_it_back() -> None:
    kinds = [(NoticeType.AGENT, "admitted"), (NoticeType.AGENT, "stopped"), (NoticeType.RUN, "finished")]
    notices = [Notice(kind, what, AgentId("ana"), "enough", data={"incarnation": 2}) for kind, what in kinds]
    row = fold(Folded("house"), notices).rows[AgentId("ana")]
    assert (row.phase, row.note) == ("stopped", "enough")
    row = fold(Folded("house"), [*notices, notices[0]]).rows[AgentId("ana")]
    assert (row.phase, row.note, row.incarnation) == ("idle", "", 2)


def test_after_the_last_of_its_tools_an_agent_thinks_again() -> None:
    started = [Notice(NoticeType.TOOL, "started", AgentId("ana"), "", data={"tool": name}) for name in "ab"]
    ended = [Notice(NoticeType.TOOL, "ended", AgentId("ana"), "", data={"tool": name}) for name in "ab"]
    folded = fold(Folded("house"), [*started, ended[0]])
    assert (folded.rows[AgentId("ana")].phase, folded.rows[AgentId("ana")].tools) == ("acting", ("b",))
    assert fold(folded, [ended[1]]).rows[AgentId("ana")].phase == "thinking"


async def test_it_is_played_at_its_pace() -> None:
    clock = VirtualClock()
    recording = Recording("house", (at(1, 100.0), at(2, 104.0), at(3, 103.0), at(4, 110.0)))
    source = RecordedSource(recording, clock, pace=2.0)
    assert [each.number for each in await source.notices(0, 0)] == [1]
    waiting = asyncio.ensure_future(source.notices(1, 60.0))
    await clock.advance(1.9)
    assert not waiting.done()
    await clock.advance(0.1)
    assert [each.number for each in await waiting] == [2, 3]
    late = asyncio.ensure_future(source.notices(3, 1.0))
    await clock.advance(1.0)
    assert await late == ()
    await clock.advance(60)
    assert [each.number for each in await source.notices(3, 0)] == [4]


@pytest.mark.parametrize("pace", [0, -1, math.nan])
def test_a_pace_that_is_none_is_refused(pace: float) -> None:
    with pytest.raises(NumberInvalid):
        RecordedSource(Recording("house", ()), VirtualClock(), pace)


async def test_a_gateway_shows_a_recording_as_a_fleet_and_has_no_levers() -> None:
    notices, rows = await lived()
    gateway = Gateway(RecordedSource(Recording("house", notices), VirtualClock()), "x" * 40)
    served = await gateway.open()
    headers = {"Authorization": f"Bearer {served.token}"}
    async with httpx.AsyncClient(base_url=served.url, headers=headers) as client:
        assert (await client.get("/api/fleet")).json()["agents"] == len(rows)
        assert len((await client.get("/api/notices", params={"limit": 1000})).json()["notices"]) == len(notices)
        for path, body in (
            ("/api/agents/ana/messages", {"body": "?"}),
            ("/api/agents/ana/pause", {}),
            ("/api/agents/ana/stop", {}),
            ("/api/limits", {"limit": None}),
            ("/api/approvals/ana.1.1.1", {"allow": True}),
        ):
            refused = await client.post(path, json=body)
            assert refused.status_code == httpx.codes.CONFLICT
            assert "cannot be changed" in refused.json()["error"]
        assert (await client.get("/api/receipts/ana/x")).status_code == httpx.codes.NOT_FOUND
    await gateway.aclose()


async def test_the_command_shows_what_happened_and_how_the_agents_were(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notices, _ = await lived()
    Recording("house", notices).write(tmp_path / "file")
    assert await asyncio.to_thread(run_command, ["replay", str(tmp_path / "file")]) == 0
    said = capsys.readouterr().out
    assert "run.finished" in said
    assert "fleet house: 3 agents" in said
    assert await asyncio.to_thread(run_command, ["replay", str(tmp_path / "missing")]) == 2
    assert "No such file" in capsys.readouterr().err
    (tmp_path / "cut").write_text(f"{HEAD}\n{json.dumps(1)}")
    assert await asyncio.to_thread(run_command, ["replay", str(tmp_path / "cut")]) == 2
    assert "line 2" in capsys.readouterr().err
