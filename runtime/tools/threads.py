"""Threads for one agent's sync tools: whatever one of them does, the others get their turn and the program can end."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from contextvars import copy_context
from functools import partial
from typing import TypeVar

from ..leash import Gave, Raised

__all__ = ("Threads", "name_of")

R = TypeVar("R")


class Threads:
    """Runs functions in threads of their own.

    A thread cannot be stopped. So nobody waits for one that does not end: a call holds its turn for `patience` seconds
    at most, one whose caller has gone is left behind, and no thread keeps the process alive.
    """

    def __init__(self, *, at_once: int = 16, patience: float = 10.0, most: int = 256) -> None:
        """Make one, for one event loop.

        Args:
            at_once: Calls that run together, those that take longer than `patience` not counted.
            patience: Seconds.
            most: Threads that may be there, those left behind counted.
        """
        self._turns = asyncio.Semaphore(at_once)
        self._patience = patience
        self._most = most
        self._running: set[threading.Thread] = set()

    @property
    def spent(self) -> bool:
        """There are as many threads as there may be: most of them never end."""
        self._running = {each for each in self._running if each.is_alive()}
        return len(self._running) >= self._most

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[None]:
        """Wait until a call may begin."""
        await self._turns.acquire()
        held = True

        def give_back() -> None:
            nonlocal held
            if held:
                held = False
                self._turns.release()

        timer = asyncio.get_running_loop().call_later(self._patience, give_back)
        try:
            yield
        finally:
            timer.cancel()
            give_back()

    async def run(self, function: Callable[[], R], name: str = "") -> R:
        """What the function gives, or raises. When the caller is cancelled, the thread is left behind.

        Args:
            function: What to call.
            name: What the thread is called, so that one that hangs can be told in a dump of them; empty: as the
                function is.
        """
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[Gave[R] | Raised] = loop.create_future()
        context = copy_context()

        def tell(end: Gave[R] | Raised) -> None:
            if not ended.done():
                ended.set_result(end)

        def work() -> None:
            end: Gave[R] | Raised
            try:
                end = Gave(context.run(function))
            except BaseException as error:  # noqa: BLE001  it is raised where the call is awaited
                end = Raised(error)
            with suppress(RuntimeError):  # the loop has ended, and with it whoever waited
                loop.call_soon_threadsafe(tell, end)

        thread = threading.Thread(target=work, name=name or name_of(function), daemon=True)
        thread.start()
        self._running.add(thread)
        end = await ended
        if isinstance(end, Raised):
            raise end.error
        return end.value


def name_of(function: Callable[..., object]) -> str:
    """What a function is called in the program; of a partial call, the function that is called."""
    called = function.func if isinstance(function, partial) else function
    return getattr(called, "__qualname__", type(called).__qualname__)
