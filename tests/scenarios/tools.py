"""The tools and output types that scenarios name.

They are made inside functions, for one agent each, so that they go to its process by value.
"""

import asyncio
from collections.abc import Mapping, Sequence

from pydantic import BaseModel

from amrita_fleet import Tool, tool

from ..contracts.gate import Gate

__all__ = ("outputs", "toolset")


def toolset(names: Sequence[str], gate: Gate) -> tuple[Tool, ...]:
    """The tools of these names; `gate` is the one that the person opens.

    Raises:
        KeyError: There is no such tool.
    """
    known = {each.name: each for each in (*plain(), *moody(), *slow(), gate.tool)}
    return tuple(known[name] for name in names)


def plain() -> tuple[Tool, ...]:
    """Tools that do what they are told."""

    @tool
    async def echo(text: str) -> str:
        """Say it again."""
        return text

    @tool
    async def double(number: int) -> int:
        """Give the number twice."""
        return 2 * number

    @tool(approval=True)
    async def delete(path: str) -> str:
        """Delete a file, if a person lets it."""
        return f"{path} is gone"

    @tool
    async def long(size: int) -> str:
        """Give a text of so many bytes."""
        return "x" * size

    return echo, double, delete, long


def moody() -> tuple[Tool, ...]:
    """Tools whose results differ from call to call."""
    flaky_calls: list[str] = []
    poll_calls: list[str] = []

    @tool
    async def flaky(text: str) -> str:
        """Fail the first time."""
        flaky_calls.append(text)
        if len(flaky_calls) == 1:
            raise ConnectionError("the line is down")
        return f"{text} is read"

    @tool
    async def broken(text: str) -> str:
        """Fail each time, by the convention that tools tell models."""
        return f"ERROR: no {text} can be made here"

    @tool(polling=True)
    async def job_status(job: str) -> str:
        """Say how far a job is: a little further with each call."""
        poll_calls.append(job)
        return f"{job} is at {len(poll_calls)} of 7"

    @tool(polling=True)
    async def stuck_status(job: str) -> str:
        """Say how far a job is that does not move."""
        return f"{job} is at 1 of 7"

    return flaky, broken, job_status, stuck_status


def slow() -> tuple[Tool, ...]:
    """Tools that would take for ever."""

    @tool
    async def forever() -> str:
        """Never end."""
        await asyncio.Event().wait()
        return "over"

    @tool(timeout=0.01)
    async def late() -> str:
        """Take longer than it may."""
        await asyncio.Event().wait()
        return "over"

    return forever, late


def outputs() -> Mapping[str, type[BaseModel]]:
    """The output types, by name."""

    class Verdict(BaseModel):
        """Whether two files are the same."""

        same: bool
        differences: int

    return {"Verdict": Verdict}
