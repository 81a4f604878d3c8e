"""Running the work of a command."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from ..termination import Termination
from .errors import Interrupted, Terminated

__all__ = ("carry_out",)

T = TypeVar("T")


def carry_out(work: Coroutine[Any, Any, T], left: str = "nothing was changed") -> T:
    """Do the work and give what it comes to.

    Args:
        work: It cleans up after itself when it is cancelled.
        left: What is true after that, for the sentence that tells of it.

    Raises:
        Interrupted: A person pressed Ctrl-C.
        Terminated: SIGTERM came.
    """
    termination = Termination()
    try:
        return asyncio.run(terminable(work, termination))
    except KeyboardInterrupt:
        raise Interrupted(left=left) from None
    except asyncio.CancelledError:
        if not termination.received:
            raise
        raise Terminated(left=left) from None


async def terminable(work: Coroutine[Any, Any, T], termination: Termination) -> T:
    """Do the work, which SIGTERM cancels as Ctrl-C does."""
    task = termination.watch()
    try:
        return await work
    finally:
        termination.release(task)
