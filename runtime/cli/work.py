"""Tasks for one's own agents, from the first to the last outcome; or what another process has left of them."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from rich.console import Console
from rich.text import Text

from ...protocols.checkin import DEAD
from ...protocols.ids import AgentId, RunId
from ...protocols.outcome import Ending
from ..errors import ChannelClosed, RunUnknown
from ..fleet import Fleet
from ..journal.fleets import KeptFleet
from ..supervision.account import Account
from .console import complain, print_json, stdout
from .crews import Crew
from .documents import entry
from .errors import SUSPECTS, InputInvalid
from .fleet_journal import FleetJournal
from .follow import Followed, follow
from .past import past
from .screen import Screen, open_screen
from .starting import started
from .status import NAME, Status
from .summary import agents_table, spent
from .table import tokens
from .tally import RunEnd, Tally
from .wording import plural

__all__ = ("Work", "do")


@dataclass(frozen=True)
class Work:
    """What is to be done.

    Attributes:
        crew: By whom, and what.
        journal: The fleet's name, and where is written what it does.
        resume: Nothing new is begun, only what is unfinished goes on.
    """

    crew: Crew
    journal: FleetJournal
    resume: bool = False


class Unfinished(NamedTuple):
    """A run of an earlier process that goes on in this one."""

    id: RunId
    agent: AgentId


class Done(NamedTuple):
    """What came of the work: how runs ended, oldest first, the table of agents, and the accounts."""

    ends: tuple[RunEnd, ...]
    table: Any
    accounts: tuple[Account, ...]


async def do(work: Work, *, as_json: bool) -> Status:
    """Do the work and print what came of it; gives how the command ends.

    Raises:
        FleetError: The system could not be started, or failed.
    """
    console, tally = stdout(), Tally()
    kept = await work.journal.look(create=not work.resume)
    before = known_before(work, kept)
    if work.resume and kept is not None and kept.ended:
        return nothing_left(work, as_json=as_json)
    with open_screen(console, silent=as_json, live=False) as screen:
        done = await in_fleet(work, before, tally, screen)
    finished = not tally.open and all(end.outcome != DIED for end in done.ends)
    if finished:
        await work.journal.end()
    if as_json:
        print_json(named(work) | shown(done.ends, done.accounts))
    else:
        console.print(done.table)
        show(console, done.ends, done.accounts)
    for end in done.ends:
        if not end.answered:
            see = f"{NAME} explain {end.error}" if end.outcome == Ending.FAILED and entry(end.error) else ""
            complain(f"{end.agent} did not answer: {end.outcome}. {end.reason}", see)
    if not finished and work.journal.url is not None:
        complain(f"The fleet can go on: {work.crew.resuming(work.journal).rstrip(',')}.")
    return status_of_ends(done.ends)


DIED = "died"
"""The outcome of a run whose agent died and did not come back."""


async def in_fleet(work: Work, before: tuple[str, ...], tally: Tally, screen: Screen) -> Done:
    """Do the work in a fleet of its own, which ends with it; `before` are the agents of earlier processes."""
    journal, crew = work.journal, work.crew
    fleet = crew.fleet(journal)
    async with started(fleet, crew.system, screen):
        screen.say(f"Fleet {fleet.name}" + (f", written down in {journal.where}" if journal.url else ""))
        after = await take_in(fleet, tally) if before else 0
        cut_off = tuple(end for end in tally.ends.values() if end.outcome == DIED)
        await crew.spawn(fleet, before)
        old = await unfinished(fleet, cut_off, tally) if before else ()
        if before:
            screen.say(f"It goes on; {plural(len(old), 'run')} of an earlier process had not ended.")
        new = () if work.resume else await crew.start(fleet)
        runs: tuple[Followed, ...] = (*old, *new)
        await follow(fleet, runs, tally, screen, after)
        rows, accounts = await fleet.statuses(), await fleet.accounts()
    ends = tuple(end_of(run, tally) for run in runs)
    if work.resume:
        ends = (*earlier(ends, before, tally), *ends)
    return Done(ends, agents_table(rows, tally), accounts)


def known_before(work: Work, kept: KeptFleet | None) -> tuple[str, ...]:
    """The agents that the fleet had in earlier processes.

    Raises:
        InputInvalid: They are not this command's, or there are none to go on with.
    """
    agents = () if kept is None else tuple(sorted(kept.agents, key=lambda agent: (len(agent), agent)))
    name = work.journal.fleet
    if stranger := work.crew.stranger(agents):
        begun = f"`{work.crew.command}` (it has {stranger!r})"
        reason = f"The fleet {name!r} was not begun by {begun}: choose another --name."
        raise InputInvalid(reason=reason)
    if work.resume and not agents:
        reason = f"There is no fleet {name!r} to go on with: `{NAME} journal` lists those there are."
        raise InputInvalid(reason=reason)
    return agents


async def take_in(fleet: Fleet, tally: Tally) -> int:
    """Take in what happened in earlier processes, which nobody is shown; gives the number of the last notice."""
    told = await past(fleet)
    for notice in told:
        tally.add(notice)
    return told[-1].number if told else 0


async def unfinished(fleet: Fleet, cut_off: Iterable[RunEnd], tally: Tally) -> tuple[Unfinished, ...]:
    """The runs of earlier processes that go on, those that have come to their end meanwhile first.

    Args:
        fleet: Its agents are spawned.
        cut_off: Runs that were under way when their agent's last process ended.
        tally: Gets the ends of those that have come to one.
    """
    rows = [row for row in await fleet.statuses() if row.phase != DEAD]
    found = tuple(Unfinished(run, row.agent) for row in rows for run in row.runs)
    for run in found:
        tally.goes_on(run.id, run.agent)
    under_way, living = {run.id for run in found}, {row.agent for row in rows}
    over = [end for end in cut_off if end.run not in under_way and end.agent in living]
    ended = tuple([Unfinished(end.run, end.agent) for end in over if await came_to_an_end(fleet, end, tally)])
    return (*ended, *found)


async def came_to_an_end(fleet: Fleet, cut_off: RunEnd, tally: Tally) -> bool:
    """Take in how a run ended that its agent is done with; whether it did end, and was not given up."""
    try:
        outcome = await fleet.find_run(cut_off.agent, cut_off.run).outcome()
    except (RunUnknown, ChannelClosed):
        return False
    ending = (str(outcome), outcome.text, outcome.reason, outcome.tokens, outcome.rounds)
    tally.ends[cut_off.run] = RunEnd(cut_off.run, cut_off.agent, *ending, error=outcome.error)
    return True


def earlier(ends: Sequence[RunEnd], agents: Iterable[str], tally: Tally) -> tuple[RunEnd, ...]:
    """How the last run ended of each agent that had nothing left to do: an earlier process may not have said so."""
    told = {end.agent for end in ends}
    return tuple(end for agent in agents if agent not in told for end in tally.ends_of(AgentId(agent))[-1:])


def nothing_left(work: Work, *, as_json: bool) -> Status:
    """Say that the fleet is finished business."""
    if as_json:
        print_json(named(work) | {"runs": []})
    else:
        stdout().print(f"All runs of {work.journal.fleet} have ended: nothing is left to do.", highlight=False)
    return Status.OK


def named(work: Work) -> dict[str, Any]:
    """The fleet and its journal as JSON."""
    return {"fleet": work.journal.fleet, "journal": work.journal.where}


def status_of_ends(ends: Sequence[RunEnd]) -> Status:
    """How a command ends whose runs ended so."""
    if all(end.answered for end in ends):
        return Status.OK
    return Status.BAD_INPUT if all(map(never_heard, ends)) else Status.FAILED


def never_heard(end: RunEnd) -> bool:
    """The model answered nothing, not even once, and what it was named by is to blame."""
    return end.outcome == "failed" and not end.rounds and end.error in SUSPECTS


def end_of(run: Followed, tally: Tally) -> RunEnd:
    """How a run ended; if its agent died before it began, that it died."""
    return tally.ends.get(run.id, RunEnd(run.id, run.agent, DIED, reason=tally.gone.get(run.agent, "")))


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
