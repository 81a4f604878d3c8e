"""What tests of the runtime share."""

import pytest

from amrita_fleet.runtime.supervision.command_log import Cadence


@pytest.fixture
def snapshots_come_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a short life has some."""
    monkeypatch.setattr("amrita_fleet.runtime.supervision.command_log.CADENCE", Cadence(commands=5, growth=0.0))
    monkeypatch.setattr("amrita_fleet.runtime.mail_log.SNAPSHOT_RECORDS", 3)
    monkeypatch.setattr("amrita_fleet.runtime.recorder.SNAPSHOT_STEPS", 2)
