"""The gateway's token: made once, kept from others."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from amrita_fleet import SystemUnavailable
from amrita_fleet.runtime.gateway.token_file import token_file, token_in


def test_it_is_made_once_and_only_its_owner_may_read_it(tmp_path: Path) -> None:
    path = token_file(environ={"XDG_STATE_HOME": str(tmp_path / "state")}, home=tmp_path)
    token = token_in(path)
    assert token_in(path) == token
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_two_users_folders_have_two_tokens(tmp_path: Path) -> None:
    assert token_in(tmp_path / "a" / "token") != token_in(tmp_path / "b" / "token")


def test_who_make_it_at_once_get_the_same(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        tokens = set(pool.map(token_in, [tmp_path / "token"] * 8))
    assert len(tokens) == 1


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_one_that_others_may_use_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "token"
    token_in(path)
    path.chmod(mode)
    with pytest.raises(SystemUnavailable, match="others than its user may use"):
        token_in(path)


@pytest.mark.parametrize("text", ["", "short", "x" * 20 + " " + "x" * 20, "ü" * 40])
def test_a_file_without_a_token_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "token"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(SystemUnavailable, match="holds no token"):
        token_in(path)


def test_a_link_to_somewhere_else_is_not_followed(tmp_path: Path) -> None:
    token_in(tmp_path / "real")
    (tmp_path / "token").symlink_to(tmp_path / "real")
    with pytest.raises(SystemUnavailable, match="cannot be kept"):
        token_in(tmp_path / "token")


def test_where_nothing_can_be_written_the_sentence_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemUnavailable, match="cannot be kept"):
        token_in(tmp_path / "file" / "token")
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]
