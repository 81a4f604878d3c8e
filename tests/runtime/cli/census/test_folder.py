"""Which files a census counts, and how they are numbered."""

import pickle
from itertools import pairwise
from pathlib import Path

import pytest

from amrita_fleet.runtime.cli.census.folder import Folder, read_folder, standard_library
from amrita_fleet.runtime.cli.errors import FolderUnusable

pytestmark = pytest.mark.slow


def test_text_files_count_and_hidden_cached_binary_and_linked_ones_do_not(folder: Path) -> None:
    names = {"a.txt", "b.txt", "deep/c.txt", "deep/d.txt", "deep/e.txt"}
    assert set(read_folder(folder).files) == names


def test_the_numbers_depend_on_the_paths_alone(folder: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere"
    before = read_folder(folder).files
    folder.rename(moved)
    assert read_folder(moved).files == before


def test_a_range_has_both_its_ends(folder: Path) -> None:
    counted = read_folder(folder)
    assert list(counted.contents(1, 2)) == [(folder / counted.files[number]).read_bytes() for number in (1, 2)]


@pytest.mark.parametrize(("first", "last"), [(-1, 2), (0, 5), (3, 2)])
def test_a_range_that_does_not_exist_is_refused_with_the_numbers_that_do(folder: Path, first: int, last: int) -> None:
    with pytest.raises(ValueError, match="the numbers go from 0 to 4"):
        read_folder(folder).contents(first, last)


def test_a_folder_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FolderUnusable, match="it does not exist"):
        read_folder(tmp_path / "nowhere")


def test_a_file_is_no_folder(folder: Path) -> None:
    with pytest.raises(FolderUnusable, match="it is no folder"):
        read_folder(folder / "a.txt")


def test_a_file_that_is_lost_meanwhile_is_named(folder: Path) -> None:
    counted = read_folder(folder)
    (folder / "deep" / "c.txt").unlink()
    with pytest.raises(FolderUnusable, match=r"its file deep/c\.txt is lost"):
        list(counted.contents(0, 4))


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FolderUnusable, match="no files in it that could be counted"):
        read_folder(tmp_path)


def test_the_standard_library_is_its_modules_without_caches_and_what_was_installed() -> None:
    files = standard_library().files
    assert len(files) > 500
    assert {Path(name).suffix for name in files} == {".py"}
    parts = {part for name in files for part in Path(name).parts}
    assert not parts & {"site-packages", "dist-packages", "__pycache__"}


@pytest.mark.slow
def test_ranges_of_the_standard_library_are_fair_samples() -> None:
    folder = standard_library()
    edges = [len(folder.files) * part // 4 for part in range(5)]
    sizes = [Folder(folder.root, folder.files[first:after]).size() for first, after in pairwise(edges)]
    assert max(sizes) < 2 * min(sizes)


def test_a_folder_goes_to_another_process(folder: Path) -> None:
    counted = read_folder(folder)
    assert pickle.loads(pickle.dumps(counted)) == counted
