"""A Ray of this machine for the length of a benchmark, started as the product starts one."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from _measure import SOURCE

from amrita_fleet.actors.connection import LOCAL, connection

__all__ = ("local_ray",)


@contextmanager
def local_ray() -> Iterator[None]:
    """Fleets made meanwhile use this Ray too."""
    os.environ.pop("RAY_ADDRESS", None)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # each worker would compile the product anew
    os.environ["PYTHONPATH"] = SOURCE  # the workers import what is here, installed or not
    # Sockets lie in there, and their paths may have no more than 107 characters.
    with tempfile.TemporaryDirectory(prefix="r", dir="/tmp", ignore_cleanup_errors=True) as folder:
        Path(folder, "ray").mkdir()
        os.environ["RAY_TMPDIR"] = folder
        connection().join(LOCAL)
        try:
            yield
        finally:
            connection().leave()
