"""The systems the contract is held against."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from amrita_fleet import Fleet, Limits


@pytest.fixture(params=["local", pytest.param("ray", marks=pytest.mark.ray)])
def make_fleet(request: pytest.FixtureRequest) -> Callable[..., Fleet]:
    """Makes fleets on one of the systems."""
    system = request.param
    if system == "ray":
        request.getfixturevalue("ray_cluster")

    def make(limit: Limits | int | None = None, **more: Any) -> Fleet:  # noqa: ANN401  what Fleet takes
        return Fleet(system=system, limit=limit, **more)

    return make


@pytest.fixture(params=["local", pytest.param("ray", marks=[pytest.mark.ray, pytest.mark.slow])])
def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Fleet]:
    """Gives the same fleet again and again, as a new process would."""
    system = request.param
    if system == "ray":
        request.getfixturevalue("ray_cluster")
    return lambda: Fleet("lasting", system=system, journal=tmp_path / "journal.sqlite", limit=100_000)
