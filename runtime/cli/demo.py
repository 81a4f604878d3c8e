"""`amrita-fleet demo`: a fleet takes the census of a folder, and is checked."""

from pathlib import Path
from typing import Annotated

import typer

from .errors import InputInvalid
from .options import AsJson, JournalUrl, Key, Name, NoJournal, SystemName, Where
from .status import Status

__all__ = ("EPILOG", "demo")

EPILOG = """\
Example: amrita-fleet demo ~/notes --agents 6

Exit status: 0 the fleet's figures are those of a direct count, 1 they are not or the fleet failed, 2 bad input,
130 interrupted, 143 ended by SIGTERM."""


Slow = Annotated[
    float,
    typer.Option(
        metavar="SECONDS",
        min=0.0,
        help="How long the simulated provider takes for each answer: time to try ps and send in a second shell.",
    ),
]


def demo(  # noqa: PLR0913  one parameter for each option
    path: Annotated[
        Path | None,
        typer.Argument(help="The folder to count; Python's standard library if left out.", show_default=False),
    ] = None,
    *,
    agents: Annotated[int, typer.Option(help="How many workers the lead has.")] = 4,
    system: Where = SystemName.RAY,
    base_url: Annotated[
        str,
        typer.Option(help="Where a real model is, as in http://localhost:11434/v1; with --model.", show_default=False),
    ] = "",
    model: Annotated[str, typer.Option(help="The real model's name; with --base-url.", show_default=False)] = "",
    api_key: Key = "",
    slow: Slow = 0.0,
    name: Name = "",
    journal: JournalUrl = "",
    no_journal: NoJournal = False,
    as_json: AsJson = False,
) -> None:
    """Have a fleet count the files, lines and words of a folder, and check its figures.

    A lead splits the folder among workers by mail; they count with real tools and report by mail; the lead adds up.
    One worker is planted stuck and one has too few tokens: the fleet ends both, and the others take over. It needs no
    key and no network: a simulated provider on loopback plays the model, unless --base-url and --model name a real one.
    """
    from .carry_out import carry_out
    from .census.demonstration import Order, demonstrate
    from .census.folder import read_folder, standard_library
    from .fleet_journal import fleet_journal
    from .model import preset_of

    if agents < 1:
        raise InputInvalid(reason=f"--agents must be at least 1, not {agents}.")
    if bool(base_url) != bool(model):
        raise InputInvalid(reason="--base-url and --model belong together: a real model needs both.")
    if slow and model:
        raise InputInvalid(reason="--slow is for the simulated provider, not for a real model.")
    preset = preset_of(base_url=base_url, model=model, api_key=api_key) if model else None
    kept = fleet_journal(name, journal, none=no_journal)
    order = Order(read_folder(path) if path else standard_library(), agents, system.value, kept, preset, slow)
    agrees = carry_out(demonstrate(order, as_json=as_json), "the fleet and what was started for it have ended")
    raise typer.Exit(Status.OK if agrees else Status.FAILED)
