"""What tests of the Supervisor share."""

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture
def eager_threads() -> Iterator[None]:
    """Threads that take turns as often as they can, so that a missing lock shows."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)
