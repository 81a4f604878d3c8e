"""The wheel holds what the checkout holds; a clone without symbolic links would build one that does not."""

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("actors", "runtime", "protocols")
PARTS = ("pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "src", "docs", *FOLDERS)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the packages built from a copy, so that the checkout gets no build folder."""
    copy = tmp_path_factory.mktemp("copy")
    ignore = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in PARTS:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, symlinks=True, ignore=ignore)
        else:
            shutil.copy(source, copy / name)
    command = [sys.executable, "-m", "build", "--wheel", "--sdist", "--no-isolation", "--outdir", "dist", "."]
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return copy / "dist"


@pytest.fixture(scope="module")
def wheel(built: Path) -> frozenset[str]:
    """Names of the files in the wheel."""
    (archive,) = built.glob("amrita_fleet-*.whl")
    with zipfile.ZipFile(archive) as opened:
        return frozenset(opened.namelist())


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_source_tree_links_each_folder_by_a_relative_path(folder: str) -> None:
    link = ROOT / "src" / "amrita_fleet" / folder
    assert link.is_symlink()
    assert link.readlink() == Path("..", "..", folder)


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_wheel_holds_every_module_of_each_folder(wheel: frozenset[str], folder: str) -> None:
    modules = {f"amrita_fleet/{path.relative_to(ROOT)}" for path in (ROOT / folder).rglob("*.py")}
    assert f"amrita_fleet/{folder}/__init__.py" in wheel
    assert sorted(modules - wheel) == []


def test_the_wheel_says_that_it_is_typed(wheel: frozenset[str]) -> None:
    assert "amrita_fleet/py.typed" in wheel


def test_the_wheel_holds_every_scenario_of_the_simulator(wheel: frozenset[str]) -> None:
    scenarios = {f"amrita_fleet/{path.relative_to(ROOT)}" for path in ROOT.glob("runtime/simulator/scenarios/*.yaml")}
    assert scenarios
    assert sorted(scenarios - wheel) == []


def test_the_wheel_holds_the_schema_of_fleet_files(wheel: frozenset[str]) -> None:
    assert "amrita_fleet/runtime/fleet_file/fleet-file.schema.json" in wheel


def test_the_wheel_holds_the_documents_that_the_command_explains_from(wheel: frozenset[str]) -> None:
    link = ROOT / "src" / "amrita_fleet" / "docs"
    assert link.is_symlink() and link.readlink() == Path("..", "..", "docs")
    documents = {f"amrita_fleet/docs/{path.name}" for path in ROOT.glob("docs/*.md")}
    assert documents
    assert sorted(documents - wheel) == []


def test_the_wheel_brings_the_command_and_the_licence(wheel: frozenset[str]) -> None:
    endings = ("dist-info/entry_points.txt", "dist-info/licenses/LICENSE")
    assert all(any(name.endswith(ending) for name in wheel) for ending in endings)


def test_the_source_distribution_brings_the_documents(built: Path) -> None:
    (archive,) = built.glob("amrita_fleet-*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    documents = {str(path.relative_to(ROOT)) for path in ROOT.glob("docs/*.md")}
    assert documents
    assert sorted(documents - names) == []
