"""The systems the contract is held against."""

from collections.abc import Callable

import pytest

from amrita_fleet import Fleet


@pytest.fixture(params=["local", pytest.param("ray", marks=pytest.mark.ray)])
def make_fleet(request: pytest.FixtureRequest) -> Callable[..., Fleet]:
    """Makes fleets on one of the systems."""
    system = request.param
    if system == "ray":
        request.getfixturevalue("ray_cluster")

    def make(limit: int | None = None) -> Fleet:
        return Fleet(system=system, limit=limit)

    return make
