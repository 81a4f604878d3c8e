"""Waiting for whichever comes first."""

import asyncio
from collections.abc import Coroutine
from typing import Any

__all__ = ("first_of",)


async def first_of(*waits: Coroutine[Any, Any, object]) -> None:
    """Wait until one of these is over; the others are given up."""
    tasks = [asyncio.ensure_future(each) for each in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
