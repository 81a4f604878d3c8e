"""What `import amrita_fleet` offers, and what it does not load."""

import inspect
import subprocess
import sys
from pathlib import Path

import amrita_fleet

SOURCE = Path(__file__).resolve().parent.parent / "src"
HEAVY = ("ray", "httpx", "sqlalchemy", "fastapi", "starlette", "uvicorn", "typer", "rich")


def test_importing_the_package_loads_neither_ray_nor_httpx() -> None:
    script = "import sys, amrita_fleet; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) & set(HEAVY) == set()


def test_the_public_names_are_a_sorted_tuple_without_repeats_constants_first() -> None:
    names = amrita_fleet.__all__
    assert isinstance(names, tuple)
    assert list(names) == sorted(set(names), key=lambda name: (not name.isupper(), name))


def test_every_public_name_resolves() -> None:
    missing = [name for name in amrita_fleet.__all__ if not hasattr(amrita_fleet, name)]
    assert missing == []


def test_every_public_name_is_listed_by_dir() -> None:
    assert set(amrita_fleet.__all__) <= set(dir(amrita_fleet))


def test_every_public_class_and_function_has_a_docstring_of_its_own() -> None:
    # A dataclass without one gets its signature as docstring; an inherited one speaks of another class.
    bare: list[str] = []
    for name in amrita_fleet.__all__:
        thing: object = getattr(amrita_fleet, name)
        own = vars(thing).get("__doc__") if inspect.isclass(thing) else inspect.getdoc(thing)
        if not own or own.startswith(f"{name}("):
            bare.append(name)
    assert bare == []
