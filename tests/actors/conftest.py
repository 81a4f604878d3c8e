"""All tests in here are marked `ray`. Importing Ray takes as long as a thousand tests: it is not done for nothing."""

import pytest


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """A run without Ray does not look in here."""
    return True if "not ray" in config.option.markexpr else None
