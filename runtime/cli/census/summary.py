"""What came of a census, for a person and for a program."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..summary import agents_table, letters_table, plain_table, spent, troubles
from .figures import Figures
from .work import Census

__all__ = ("as_json", "show", "verdict")


def show(console: Console, census: Census, simulated: int | None) -> None:
    """Print the summary; `simulated` are the tokens that the simulator counted itself."""
    console.print(Group(*parts(census, simulated)))


def parts(census: Census, simulated: int | None) -> Iterator[RenderableType]:
    """The summary's parts from top to bottom."""
    yield from headed("Agents", agents_table(census.rows, census.tally))
    yield from headed("Messages, and the Steps at which they were sent and consumed", letters_table(census.tally))
    yield from headed("Stalls and limits", Text("\n".join(troubles(census.tally)) or "none"))
    yield from headed("Tokens", Text(token_line(census, simulated)))
    yield from headed("Census", figures_table(census))
    if census.agrees:
        yield Text(verdict(census), style="bold green")


def headed(heading: str, part: RenderableType) -> tuple[RenderableType, ...]:
    """A part under its heading."""
    return Text(f"\n{heading}", style="bold"), part


def token_line(census: Census, simulated: int | None) -> str:
    """What was spent, by the fleet's books and by the provider's."""
    used, limit = spent(census.accounts)
    books = f"The fleet spent {used:,} of its {limit:,} tokens" if limit else f"The fleet spent {used:,} tokens"
    if assumed := census.accounts[0].unknown.tokens:
        books += f" ({assumed:,} assumed for calls that were cut off)"
    if simulated is None:
        return f"{books}."
    same = "the same" if simulated == used else f"{simulated:,}"
    return f"{books}; the provider counted {same}."


def figures_table(census: Census) -> Table:
    """The fleet's figures and the direct ones side by side."""
    table = plain_table("", "the fleet", "direct count")
    told, direct = census.told, census.direct
    table.add_row("files", f"{told.files:,}" if told else "none", f"{direct.files:,}")
    table.add_row("lines", f"{told.lines:,}" if told else "none", f"{direct.lines:,}")
    for word, count in direct.words.items():
        table.add_row(word, certain(word, told), f"{count:,}")
    return table


def certain(word: str, told: Figures | None) -> str:
    """What the fleet says of a word."""
    if told is None:
        return "none"
    return f"{told.words[word]:,}" if word in told.words else "not certain"


def verdict(census: Census) -> str:
    """One sentence on whether the figures agree."""
    if not census.answer.answered:
        return f"The lead did not answer: {census.answer.outcome}. {census.answer.reason}".rstrip()
    if census.told is None:
        return "The lead's answer has no figures."
    if not census.agrees:
        return "The figures do not agree."
    known, wanted = len(census.told.words), len(census.direct.words)
    but = "" if known == wanted else f" Of the {wanted} words, {known} are certain from the reports."
    return f"The figures agree.{but} The fleet took {census.seconds:.1f} s."


def as_json(census: Census, simulated: int | None) -> dict[str, Any]:
    """All of it as JSON."""
    used, limit = spent(census.accounts)
    return {
        "agree": census.agrees,
        "verdict": verdict(census),
        "seconds": round(census.seconds, 3),
        "fleet": census.told.shown() if census.told else None,
        "direct": census.direct.shown(),
        "answer": census.answer.text,
        "agents": [asdict(row) for row in census.rows],
        "runs": [asdict(end) for end in census.tally.ends.values()],
        "messages": [asdict(letter) for letter in census.tally.letters.values()],
        "troubles": list(troubles(census.tally)),
        "tokens": {"spent": used, "limit": limit, "simulator": simulated},
    }
