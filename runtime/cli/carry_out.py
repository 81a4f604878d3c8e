"""Running the work of a command."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from .errors import Interrupted

__all__ = ("carry_out",)

T = TypeVar("T")


def carry_out(work: Coroutine[Any, Any, T], left: str = "nothing was changed") -> T:
    """Do the work and give what it comes to.

    Args:
        work: It cleans up after itself when it is cancelled.
        left: What is true after that, for the sentence that tells of it.

    Raises:
        Interrupted: A person pressed Ctrl-C.
    """
    try:
        return asyncio.run(work)
    except KeyboardInterrupt:
        raise Interrupted(left=left) from None
