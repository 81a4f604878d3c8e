"""`record`: a fleet's notices go into a file as they come, and nothing that was told is left out when it ends."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from amrita_fleet import Agent, Fleet
from amrita_fleet.protocols.notices import Notice
from amrita_fleet.protocols.providers.script import say
from amrita_fleet.protocols.providers.scripted import scripted
from amrita_fleet.runtime.cli.errors import InputInvalid
from amrita_fleet.runtime.cli.record import written
from amrita_fleet.runtime.gateway.recording import Recording

pytestmark = pytest.mark.anyio


async def test_a_fleet_is_recorded_as_it_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "file"
    async with Fleet("house", system="local") as fleet, asyncio.timeout(30):
        recording = asyncio.create_task(written(fleet, path))
        await fleet.spawn(Agent(preset=scripted(say("Good."))), ["ana"])
        await (await fleet.start("ana", "How is it?")).outcome()
        while True:
            if path.exists() and '"finished"' in path.read_text():
                break
            await asyncio.sleep(0.02)
        recording.cancel()
        await asyncio.gather(recording, return_exceptions=True)
        found = Recording.read(path)
        assert found.fleet == "house"
        assert [each.number for each in found.notices] == list(range(1, len(found.notices) + 1))
        with pytest.raises(InputInvalid, match="cannot be made"):
            await written(fleet, path)


class Late(Fleet):
    """A fleet of whose notices one reader gets the first two, and would wait for the others."""

    read = False

    def notices(self, after: int = 0) -> AsyncIterator[Notice]:
        return super().notices(after) if after else self._first_two()

    async def _first_two(self) -> AsyncIterator[Notice]:
        async for notice in super().notices():
            yield notice
            if notice.number == 2:
                self.read = True
                await asyncio.Event().wait()


async def test_who_is_interrupted_has_what_was_told_until_then(tmp_path: Path) -> None:
    path = tmp_path / "file"
    async with Late("house", system="local") as fleet, asyncio.timeout(30):
        await fleet.spawn(Agent(preset=scripted(say("Good."))), ["ana", "bob"])
        newest = (await anext(fleet.notices(-1))).number
        assert newest > 2
        recording = asyncio.create_task(written(fleet, path))
        while True:
            if fleet.read:
                break
            await asyncio.sleep(0)
        recording.cancel()
        with pytest.raises(asyncio.CancelledError):
            await recording
        assert [each.number for each in Recording.read(path).notices] == list(range(1, newest + 1))


class Forgetful(Fleet):
    """A fleet that has forgotten what it told when somebody reads it from the beginning, which sets `begun`."""

    def __init__(self) -> None:
        super().__init__("house", system="local")
        self.begun = asyncio.Event()
        self.forgotten = 0

    def notices(self, after: int = 0) -> AsyncIterator[Notice]:
        if after == 0:
            self.begun.set()
        return super().notices(after or self.forgotten)


async def test_a_recording_is_said_to_go_on_although_the_newest_notice_was_forgotten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "file"
    async with Forgetful() as fleet, asyncio.timeout(30):
        await fleet.spawn(Agent(preset=scripted(say("Good."))), ["ana"])
        fleet.forgotten = (await anext(fleet.notices(-1))).number
        recording = asyncio.create_task(written(fleet, path))
        await fleet.begun.wait()
        await fleet.spawn(Agent(preset=scripted(say("Good."))), ["bob"])
        said = ""
        while not said:
            await asyncio.sleep(0)
            said = capsys.readouterr().out
        assert said == f"fleet house: recorded in {path}\n"
        recording.cancel()
        await asyncio.gather(recording, return_exceptions=True)


FULL = """
import asyncio, resource, sys
from pathlib import Path
from amrita_fleet import Agent, Fleet
from amrita_fleet.protocols.providers.scripted import say, scripted
from amrita_fleet.runtime.cli.errors import RecordingCut
from amrita_fleet.runtime.cli.record import written

async def main() -> None:
    async with Fleet("house", system="local") as fleet:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, 1_000))
        recording = asyncio.create_task(written(fleet, Path(sys.argv[1])))
        await fleet.spawn(Agent(preset=scripted(say("Good."))), ["ana", "bob", "eve", "dora"])
        try:
            await recording
        except RecordingCut as error:
            print(error, error.last)

asyncio.run(main())
"""


def test_a_disk_that_is_full_is_told_in_a_sentence_and_what_is_recorded_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    ran = subprocess.run([sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, check=True)
    last = Recording.read(path).notices[-1].number
    assert last > 1
    told = f"The recording '{path}' can be written no further: File too large; it is whole up to notice {last}."
    assert ran.stdout.splitlines()[-1].startswith(told)
