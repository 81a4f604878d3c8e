"""The import contracts of `pyproject.toml`, checked as `make layers` checks them."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LINT = "from importlinter.cli import lint_imports_command as main; main()"
PARTS = ("pyproject.toml", "src", "actors", "runtime", "protocols")


def lint_imports(root: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", LINT, "--no-logo", "--no-cache"]
    env = {**os.environ, "PYTHONPATH": str(root / "src")}
    return subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, check=False)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the packages, links included."""
    for name in PARTS:
        source = ROOT / name
        if source.is_dir():
            ignore = shutil.ignore_patterns("__pycache__", "*.egg-info")
            shutil.copytree(source, tmp_path / name, symlinks=True, ignore=ignore)
        else:
            shutil.copy(source, tmp_path / name)
    return tmp_path


def test_every_import_contract_is_kept() -> None:
    done = lint_imports(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("protocols/errors.py", "from ..runtime import step", "Actors stand on runtime, runtime on protocols"),
        ("runtime/step/__init__.py", "import ray", "Ray stays in actors"),
        ("protocols/codec.py", "import httpx", "One sender: httpx only in providers/http"),
        ("runtime/step/__init__.py", "import time", "The pure core does no I/O and reads no clock"),
        ("actors/link.py", "from ..runtime.supervision import supervisor", "An agent's process loads neither"),
    ],
    ids=["upward", "ray", "httpx", "clock", "agent"],
)
def test_an_import_that_breaks_a_contract_is_found(tree: Path, module: str, line: str, contract: str) -> None:
    path = tree / module
    path.write_text(f"{path.read_text(encoding='utf-8')}\n{line}\n", encoding="utf-8")
    done = lint_imports(tree)
    assert done.returncode == 1
    assert re.search(f"{re.escape(contract)}.* BROKEN", done.stdout)
