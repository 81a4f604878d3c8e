"""What all tests share: the event loop's kind, one small Ray and one PostgreSQL for those that need them."""

import gc
import itertools
import logging
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from .runtime.journal.server import Server

# Property tests are short by default, so that they are run often; `make check` and CI ask for the long ones. Machines
# that run tests are busy: how long an example takes says nothing.
settings.register_profile("short", max_examples=5, deadline=None)
settings.register_profile("long", max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("short")

# Ray reads these when it is imported. Its workers must run the code that is tested here, not a copy of it.
os.environ["RAY_ENABLE_UV_RUN_RUNTIME_ENV"] = "0"
os.environ["RAY_AUTH_MODE"] = "token"
os.environ.setdefault("RAY_AUTH_TOKEN", os.urandom(32).hex())
os.environ.pop("RAY_ADDRESS", None)

# Commands keep their journals in the user's folder: here in one that goes with the tests.
STATE = tempfile.TemporaryDirectory(prefix="amrita-state-")
os.environ["XDG_STATE_HOME"] = STATE.name


def pytest_unconfigure() -> None:
    """Leave no journal."""
    STATE.cleanup()


def pytest_collection_finish() -> None:
    """What was imported stays until the end: the garbage collector need not look through it again and again."""
    gc.freeze()
    gc.set_threshold(50_000)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The one event loop that Ray and the product use."""
    return "asyncio"


@pytest.fixture(scope="session")
def server() -> Iterator["Server"]:
    """A PostgreSQL of its own for the whole session."""
    from .runtime.journal.server import running, tools

    where = tools()
    if where is None:
        pytest.skip("PostgreSQL is not installed: the package is named postgresql")
    with running(where) as made:
        yield made


@pytest.fixture
def schema(server: "Server", counter: Iterator[int]) -> str:
    """The name of an empty schema of this test alone."""
    name = f"journal_{next(counter)}"
    server.execute(f"CREATE SCHEMA {name}")
    return name


@pytest.fixture(scope="session")
def counter() -> Iterator[int]:
    return itertools.count()


@pytest.fixture(scope="session")
def ray_cluster() -> Iterator[str]:
    """A Ray of two CPUs for the whole session, to which this process is connected; gives its address."""
    import ray

    # Sockets lie in there, and their paths may have no more than 107 characters.
    with tempfile.TemporaryDirectory(prefix="r", dir="/tmp", ignore_cleanup_errors=True) as folder:
        Path(folder, "ray").mkdir()
        ray.init(
            "local",
            num_cpus=2,
            include_dashboard=False,
            object_store_memory=100 * 2**20,
            log_to_driver=False,
            logging_level=logging.ERROR,
            _temp_dir=f"{folder}/ray",
        )
        yield ray.get_runtime_context().gcs_address
        ray.shutdown()
