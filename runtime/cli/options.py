"""Options that several commands take, with one wording."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

__all__ = (
    "Address",
    "AsJson",
    "BaseUrl",
    "FleetName",
    "JournalUrl",
    "Key",
    "Model",
    "Name",
    "NoJournal",
    "PresetFile",
    "ProfileName",
    "ProtocolName",
    "SystemName",
    "Where",
)


class SystemName(StrEnum):
    """What agents run on."""

    RAY = "ray"
    LOCAL = "local"


Where = Annotated[
    SystemName,
    typer.Option("--system", help="Where the agents live: in a Ray cluster, or all in this process."),
]

AsJson = Annotated[
    bool,
    typer.Option(
        "--json", help='Print one JSON object and nothing else; where that fails, {"error": SENTENCE, "status": N}.'
    ),
]

BaseUrl = Annotated[str, typer.Option(help="Where the model is, as in http://localhost:11434/v1.", show_default=False)]

Model = Annotated[str, typer.Option(help="The model's name.", show_default=False)]

ProtocolName = Annotated[
    str, typer.Option(help="How the provider is spoken to: openai if left out, or anthropic.", show_default=False)
]

ProfileName = Annotated[
    str,
    typer.Option(help="The provider's family; known by address and model if left out.", show_default=False),
]

PresetFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="A YAML file with fields of ModelPreset; other options stand instead of its fields.",
        show_default=False,
    ),
]

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

Name = Annotated[
    str,
    typer.Option("--name", metavar="NAME", help="The fleet's name; a new one if left out.", show_default=False),
]

JournalUrl = Annotated[
    str,
    typer.Option(
        "--journal",
        metavar="PATH|URL",
        help="Where it is written down what the fleet does: a SQLite file, or postgresql://...; env:NAME reads that"
        " from the environment. If left out, a file in the user's folder for what programs keep.",
        show_default=False,
    ),
]

NoJournal = Annotated[bool, typer.Option("--no-journal", help="Write nothing down: no process can go on with it.")]

Address = Annotated[
    str, typer.Option(help="Where Ray runs, as host:port; auto: where RAY_ADDRESS says, else on this machine.")
]
