"""Folders that censuses count."""

from pathlib import Path

import pytest

TEXTS = {
    "a.txt": "the cat and the dog\nthe end\n",
    "b.txt": "no newline at the end",
    "deep/c.txt": "The Cat\n\nsnake_case and x and 42\n",
    "deep/d.txt": "",
    "deep/e.txt": "the\n" * 100,
}


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Five text files, beside some that do not count."""
    root = tmp_path / "folder"
    for name, text in TEXTS.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (root / ".hidden").write_text("the")
    (root / "picture.bin").write_bytes(b"the\0the")
    (root / "__pycache__").mkdir()
    (root / "__pycache__" / "a.pyc").write_text("the")
    (root / "link.txt").symlink_to(root / "a.txt")
    return root
