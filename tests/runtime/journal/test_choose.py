"""Which journal a URL means, and where the one is that nobody named."""

from pathlib import Path
from urllib.parse import quote

import pytest

from amrita_fleet.runtime.journal.choose import default_path, open_journal
from amrita_fleet.runtime.journal.memory import MemoryJournal
from amrita_fleet.runtime.journal_errors import JournalInvalid

pytestmark = pytest.mark.slow

HOME = Path("/home/ana")


def test_without_a_url_a_journal_is_in_memory() -> None:
    assert isinstance(open_journal(None), MemoryJournal)


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_path_a_text_and_a_url_may_name_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "a b%20.sqlite"
    for url in (file, str(file), file.name, f"sqlite:///{quote(str(file))}", f"sqlite:///{quote(file.name)}"):
        journal = open_journal(url)
        await journal.open(f"opened by {url!r}", 1)
        assert repr(journal) == f"SqlJournal({str(file)!r})"
        await journal.aclose()

    journal = open_journal(file)
    assert len(await journal.streams("opened by ")) == 5
    await journal.aclose()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("mysql://ana:planted@host/fleet", "not mysql"),
        ("sqlite://", "sqlite:///path"),
        ("sqlite:///:memory:", "sqlite:///path"),
        ("sqlite:///file?password=planted", "sqlite:///path"),
        ("://planted", "not nothing"),
        ("postgresql://ana:planted@host:port/fleet", "cannot be read"),
        ("postgresql://ana:pl@planted@host/fleet", "is written %40"),
        ("postgresql://ana:planted%00@host/fleet", "a null character"),
        ("sqlite:////planted%00", "a null character"),
        ("planted\0", "a null character"),
    ],
)
def test_a_url_of_something_else_is_refused_without_repeating_it(url: str, reason: str) -> None:
    with pytest.raises(JournalInvalid, match=reason) as caught:
        open_journal(url)
    assert "planted" not in str(caught.value)


def test_a_fleets_journal_is_in_the_users_state_folder() -> None:
    default = HOME / ".local/state/amrita-fleet/census.sqlite"
    assert default_path("census", environ={}, home=HOME) == default
    assert default_path("census", environ={"XDG_STATE_HOME": "relative"}, home=HOME) == default
    named = default_path("census", environ={"XDG_STATE_HOME": "/var/state"}, home=HOME)
    assert named == Path("/var/state/amrita-fleet/census.sqlite")


@pytest.mark.parametrize("fleet", ["", ".", "..", "a/b", "a\0"])
def test_a_fleet_whose_name_is_no_file_name_needs_a_path(fleet: str) -> None:
    with pytest.raises(ValueError, match="give the journal a path"):
        default_path(fleet, environ={}, home=HOME)
