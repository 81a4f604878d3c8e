"""`amrita-fleet dead-letters`: the messages that were accepted and that nobody will read."""

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from ...protocols.notices import Notice, NoticeType
from ..helm import Helm
from .console import say
from .options import Address, AsJson, FleetName
from .visible import harmless
from .wording import plural

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ("EPILOG", "Dead", "dead_letters", "letters", "letters_table")

EPILOG = """\
Example: amrita-fleet dead-letters --of ana

Exit status: 0 the fleet answered, 1 no fleet runs there, 2 bad input."""


def dead_letters(
    *,
    of: Annotated[
        str, typer.Option(metavar="AGENT", help="Only mail that was for this agent.", show_default=False)
    ] = "",
    fleet: FleetName = "",
    address: Address = "auto",
    as_json: AsJson = False,
) -> None:
    """List the messages that were accepted and that nobody will read: who wrote them, to whom, and why they ended so.

    What a fleet keeps of its news is what there is to list: the newest 10,000 notices, with a journal or without.
    """
    from .carry_out import carry_out

    carry_out(listed(of, fleet, address, as_json=as_json))


async def listed(of: str, name: str, address: str, *, as_json: bool) -> None:
    """Print the table of one fleet."""
    from .console import print_json, stdout
    from .joining import running

    async with running(name, address) as fleet:
        found = await letters(fleet, of)
    if as_json:
        print_json({"fleet": fleet.name, "dead_letters": [shown(letter) for letter in found]})
        return
    say(f"fleet {fleet.name}: {plural(len(found), 'dead letter')}")
    if found:
        stdout().print(letters_table(found))


class Dead(NamedTuple):
    """A dead letter: the notice of it, and what it said; empty where no notice has that, as of what a person wrote."""

    notice: Notice
    body: str


async def letters(fleet: Helm, of: str = "") -> tuple[Dead, ...]:
    """The dead letters, oldest first.

    Args:
        fleet: Whose.
        of: The recipient; empty: all.

    Raises:
        AgentUnknown: There is no such recipient.
    """
    from .named import check_named
    from .past import past
    from .tally import Tally

    await check_named(fleet, (of,) if of else ())
    tally, found = Tally(), list[Notice]()
    for notice in await past(fleet):
        tally.add(notice)
        if (notice.type, notice.extra_type) == (NoticeType.MAIL, "dead") and of in {"", notice.agent}:
            found.append(notice)
    return tuple(Dead(notice, tally.letters[str(notice.data["id"])].body) for notice in found)


def shown(letter: Dead) -> dict[str, object]:
    """A dead letter as JSON."""
    notice = letter.notice
    return {**notice.data, "recipient": notice.agent, "at": notice.at, "number": notice.number, "body": letter.body}


def letters_table(found: Iterable[Dead]) -> "Table":
    """A table of dead letters; nothing of them is cut."""
    from rich.table import Table
    from rich.text import Text

    table = Table()
    for heading in ("when", "id", "from", "to", "why"):
        table.add_column(heading, no_wrap=True)
    table.add_column("message", overflow="fold")
    for notice, body in found:
        when = time.strftime("%H:%M:%S", time.localtime(notice.at))
        facts = (str(notice.data.get(name, "")) for name in ("id", "sender"))
        cells = (*facts, notice.agent, str(notice.data.get("refusal", "")), " ".join(body.split()))
        table.add_row(when, *map(Text, map(harmless, cells)))
    return table
