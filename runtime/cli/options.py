"""Options that several commands take, with one wording."""

from enum import StrEnum
from typing import Annotated

import typer

__all__ = ("Address", "AsJson", "FleetName", "Key", "SystemName", "Where")


class SystemName(StrEnum):
    """What agents run on."""

    RAY = "ray"
    LOCAL = "local"


Where = Annotated[
    SystemName,
    typer.Option("--system", help="Where the agents live: in a Ray cluster, or all in this process."),
]

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]

Key = Annotated[
    str,
    typer.Option(
        "--api-key",
        metavar="KEY",
        help="The API key. env:NAME reads it from the environment, where no list of processes shows it.",
        show_default=False,
    ),
]

FleetName = Annotated[
    str,
    typer.Option("--fleet", metavar="NAME", help="Which fleet; the only running one if left out.", show_default=False),
]

Address = Annotated[
    str, typer.Option(help="Where Ray runs, as host:port; auto: where RAY_ADDRESS says, else on this machine.")
]
