"""One task for one's own agents, from the first to the last outcome."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from rich.console import Console
from rich.text import Text

from ...protocols.outcome import Ending
from ..agent import Agent, TokenLimit
from ..fleet import Fleet
from ..run import Run
from ..supervision.account import Account
from .console import complain, print_json, stdout
from .documents import entry
from .errors import SUSPECTS
from .follow import follow
from .screen import open_screen
from .starting import started
from .status import NAME, Status
from .summary import agents_table, spent
from .table import tokens
from .tally import RunEnd, Tally

__all__ = ("Work", "do")


@dataclass(frozen=True)
class Work:
    """A task that each of the named agents gets; `limit` is the fleet's."""

    task: str
    agent: Agent
    names: tuple[str, ...]
    limit: TokenLimit | None
    system: Literal["ray", "local"]


async def do(work: Work, *, as_json: bool) -> Status:
    """Do the work and print what came of it; gives how the command ends.

    Raises:
        FleetError: The system could not be started, or failed.
    """
    console, tally = stdout(), Tally()
    with open_screen(console, silent=as_json, live=False) as screen:
        async with started(Fleet(system=work.system, limit=work.limit), work.system, screen) as fleet:
            refs = await fleet.spawn(work.agent, work.names)
            runs = tuple([await ref.start(work.task) for ref in refs])
            await follow(fleet, runs, tally, screen)
            rows, accounts = await fleet.statuses(), await fleet.accounts()
    ends = tuple(end_of(run, tally) for run in runs)
    if as_json:
        print_json(shown(ends, accounts))
    else:
        console.print(agents_table(rows, tally))
        show(console, ends, accounts)
    for end in ends:
        if not end.answered:
            see = f"{NAME} explain {end.error}" if end.outcome == Ending.FAILED and entry(end.error) else ""
            complain(f"{end.agent} did not answer: {end.outcome}. {end.reason}", see)
    return status_of_ends(ends)


def status_of_ends(ends: Sequence[RunEnd]) -> Status:
    """How a command ends whose runs ended so."""
    if all(end.answered for end in ends):
        return Status.OK
    return Status.BAD_INPUT if all(map(never_heard, ends)) else Status.FAILED


def never_heard(end: RunEnd) -> bool:
    """The model answered nothing, not even once, and what it was named by is to blame."""
    return end.outcome == "failed" and not end.rounds and end.error in SUSPECTS


def end_of(run: Run, tally: Tally) -> RunEnd:
    """How a run ended; if its agent died before it began, that it died."""
    return tally.ends.get(run.id, RunEnd(run.id, run.agent, "died", reason=tally.gone.get(run.agent, "")))


def show(console: Console, ends: Iterable[RunEnd], accounts: Iterable[Account]) -> None:
    """Print every answer."""
    for end in ends:
        console.print(Text(f"\n{end.agent}: {end.outcome}", style="bold green" if end.answered else "bold red"))
        if end.text:
            console.print(Text(end.text))
    console.print(f"\nTokens spent: {tokens(*spent(accounts))}", highlight=False)


def shown(ends: Iterable[RunEnd], accounts: Iterable[Account]) -> dict[str, Any]:
    """The same as JSON."""
    used, limit = spent(accounts)
    return {"runs": [asdict(end) for end in ends], "tokens": {"spent": used, "limit": limit}}
