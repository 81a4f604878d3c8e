"""`amrita-fleet simulate` documents what it can do; that it serves is shown beside `run`."""

import pytest

from amrita_fleet.runtime.cli import app
from amrita_fleet.runtime.cli.status import Status
from amrita_fleet.runtime.simulator.modes import HEADER, MODES


def test_the_help_tells_every_fault_and_how_to_ask_for_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run_command(["simulate", "--help"]) == Status.OK
    shown = " ".join(capsys.readouterr().out.split())
    assert HEADER in shown
    assert [
        name for name, mode in MODES.items() if f"{name}{'=N' if mode.value else ''}: {mode.about}" not in shown
    ] == []
