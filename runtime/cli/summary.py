"""What came of a fleet's work, in parts that several commands print."""

from collections.abc import Iterable, Iterator

from rich.table import Table
from rich.text import Text

from ...protocols.checkin import AgentStatus
from ..supervision.account import Account
from .table import one_line, spending
from .tally import Letter, Tally

__all__ = ("agents_table", "letters_table", "plain_table", "spent", "troubles")


def plain_table(*headings: str) -> Table:
    """A table whose first column is a name and whose others are numbers."""
    table = Table()
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="right" if place else "left", no_wrap=True, style="" if place else "bold")
    return table


def agents_table(rows: Iterable[AgentStatus], tally: Tally) -> Table:
    """How each agent's runs ended, what it sent and consumed, and what it spent."""
    table = plain_table("agent", "Steps", "sent", "consumed", "tokens")
    table.add_column("outcome of its runs")
    for row in rows:
        counts = (f"{count:,}" for count in (row.step, row.sent, row.consumed))
        outcomes = ", ".join(end.outcome for end in tally.ends_of(row.agent)) or "no run"
        table.add_row(row.agent, *counts, spending(row), Text(outcomes))
    return table


def letters_table(tally: Tally) -> Table:
    """Every message with the Steps, of its sender's and of its recipient's life, at which it was sent and consumed."""
    table = Table()
    for heading in ("from", "at Step", "to", "at its Step"):
        table.add_column(heading, no_wrap=True)
    table.add_column("message")
    for letter in tally.letters.values():
        sent = "" if letter.sent is None else str(letter.sent)
        table.add_row(letter.sender, sent, letter.recipient, consumed(letter), one_line(letter.body))
    return table


def consumed(letter: Letter) -> str:
    """Where a message was consumed, or what became of it instead."""
    if letter.consumed is not None:
        return str(letter.consumed)
    return f"never: {letter.lost}" if letter.lost else "not yet"


def troubles(tally: Tally) -> Iterator[str]:
    """A line for each agent that stalled, reached a limit, died, or ended a run without an answer."""
    for notice in tally.stalls:
        yield f"{notice.agent} stalled: {notice.text}."
    for notice in tally.limits:
        yield f"{notice.agent} was told to come to an end: {notice.text}"
    for agent, reason in tally.gone.items():
        yield f"{agent} is lost: {reason}"
    told = {notice.agent for notice in (*tally.stalls, *tally.limits)}
    for end in tally.ends.values():
        if not end.answered and end.agent not in told | tally.gone.keys():
            yield f"{end.agent} ended a run: {end.outcome}. {end.reason}".rstrip()


def spent(accounts: Iterable[Account]) -> tuple[int, int | None]:
    """Tokens that the fleet spent, and its limit."""
    fleet = next(account for account in accounts if len(account.path) == 1)
    return fleet.spent.tokens, None if fleet.limit is None else fleet.limit.tokens
