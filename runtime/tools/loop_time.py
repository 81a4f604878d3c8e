"""How long a coroutine holds the event loop: one that blocks stops everything else its agent does."""

from collections.abc import Awaitable, Callable, Generator
from time import perf_counter
from types import coroutine
from typing import Any

__all__ = ("timed",)


@coroutine
def timed(work: Awaitable[Any], held: Callable[[float], None]) -> Generator[Any, Any, Any]:
    """Await `work`; `held` is told after each of its steps how many seconds the step took."""
    steps = work.__await__()
    value: Any = None
    error: BaseException | None = None
    while True:
        begun = perf_counter()
        try:
            awaited = steps.send(value) if error is None else steps.throw(error)
        except StopIteration as end:
            return end.value
        finally:
            held(perf_counter() - begun)
        value = error = None
        try:
            value = yield awaited
        except GeneratorExit:
            steps.close()
            raise
        except BaseException as thrown:  # noqa: BLE001  it goes on into the coroutine
            error = thrown
