"""The files that a census counts."""

import os
import stat
import sysconfig
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from ..errors import FolderUnusable

__all__ = ("Folder", "read_folder", "standard_library")

HEAD = 8192
"""Bytes at the beginning of a file, one of which is NUL in a binary file."""

NOT_PYTHONS = frozenset({"site-packages", "dist-packages"})
CACHE = "__pycache__"


@dataclass(frozen=True, slots=True)
class Folder:
    """Files under a folder, numbered from 0.

    They are sorted by a digest of their path, so that every range of numbers is a fair sample of the folder: ranges of
    equal length mean about equal work, and the frequent words of the folder are frequent in each.

    Attributes:
        root: The folder, as an absolute path; on a cluster every node must have it there.
        files: Their paths from there.
    """

    root: str
    files: tuple[str, ...]

    def contents(self, first: int, last: int) -> Iterator[bytes]:
        """What stands in the files numbered `first` to `last`, both included.

        Raises:
            ValueError: There are no such files.
            FolderUnusable: A file cannot be read any more.
        """
        if not 0 <= first <= last < len(self.files):
            raise ValueError(f"there are no files {first} to {last}: the numbers go from 0 to {len(self.files) - 1}")
        return map(self._read, self.files[first : last + 1])

    def _read(self, name: str) -> bytes:
        try:
            return Path(self.root, name).read_bytes()
        except OSError as error:
            raise FolderUnusable(path=self.root, reason=f"its file {name} is lost: {error.strerror}") from None

    def size(self) -> int:
        """Bytes of all files together."""
        return sum(Path(self.root, name).stat().st_size for name in self.files)


def standard_library() -> Folder:
    """The `.py` files of Python's standard library, without what was installed beside it.

    Raises:
        FolderUnusable: This Python came without them.
    """
    root = Path(sysconfig.get_path("stdlib"))
    return numbered(root, lambda path: path.suffix == ".py")


def read_folder(path: Path) -> Folder:
    """The text files under a folder; hidden ones, caches and links are left out.

    Raises:
        FolderUnusable: It does not exist, is no folder, or holds no text file.
    """
    try:
        mode = path.stat().st_mode
    except OSError as error:
        missing = isinstance(error, FileNotFoundError | NotADirectoryError)
        raise FolderUnusable(path=str(path), reason="it does not exist" if missing else f"{error.strerror}") from None
    if not stat.S_ISDIR(mode):
        raise FolderUnusable(path=str(path), reason="it is no folder")
    return numbered(path.resolve(), is_text)


def numbered(root: Path, wanted: Callable[[Path], bool]) -> Folder:
    """The files under `root` that are wanted and can be read.

    Raises:
        FolderUnusable: There are none.
    """
    names = sorted((str(path.relative_to(root)) for path in walk(root) if wanted(path)), key=mixed)
    if not names:
        raise FolderUnusable(path=str(root), reason="there are no files in it that could be counted")
    return Folder(str(root), tuple(names))


def walk(root: Path) -> Iterator[Path]:
    """Regular files below `root` that can be read, hidden and cached ones left out."""
    for place, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not (name.startswith(".") or name == CACHE or name in NOT_PYTHONS)]
        for name in files:
            path = Path(place, name)
            if not name.startswith(".") and os.access(path, os.R_OK) and path.is_file() and not path.is_symlink():
                yield path


def is_text(path: Path) -> bool:
    """Whether a file looks like text, as version control judges it."""
    with path.open("rb") as file:
        return b"\0" not in file.read(HEAD)


def mixed(name: str) -> bytes:
    """A sort key that is the same everywhere and has nothing to do with where a file lies."""
    return sha256(os.fsencode(name)).digest()
