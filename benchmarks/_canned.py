"""Starts the canned provider in a process of its own."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ("canned_server",)


@contextmanager
def canned_server(rounds: int) -> Iterator[str]:
    """A server whose every `rounds`-th answer is a text, the others calls of `double`; gives its base URL."""
    script = Path(__file__).with_name("_canned_server.py")
    process = subprocess.Popen([sys.executable, str(script), str(rounds)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
    finally:
        process.kill()
        process.wait()
