"""What Ray must find in the environment when it is imported.

Ray reads these variables at its own import, never again. That is why something happens here at import: the package
calls `prepare` before any of its modules can import Ray.
"""

import os
import sys

__all__ = ("prepare",)


def prepare() -> None:
    """Set what is not set yet; child processes inherit it."""
    # Under `uv run` Ray would build an environment for its workers and run a copy of the project in it.
    os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
    # Whoever reaches a Ray port without a token can run any code. Once Ray is imported it is too late: its servers
    # would ask for a token that this process does not send. A local cluster then gets one by Ray's own default.
    if "ray" not in sys.modules:
        os.environ.setdefault("RAY_AUTH_MODE", "token")
