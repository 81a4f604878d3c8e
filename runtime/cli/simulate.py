"""`amrita-fleet simulate`: the simulated provider, for one's own tests."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ("EPILOG", "simulate")

EPILOG = """\
Example: amrita-fleet simulate --port 8123

Exit status: 0 it was interrupted after it had served, 1 the port is taken, 2 bad input."""


def simulate(
    host: Annotated[str, typer.Option(help="Where it listens.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes any that is free.")] = 0,
    scenario: Annotated[
        list[Path] | None,
        typer.Option(help="A file with rules for further models; can be given again.", show_default=False),
    ] = None,
) -> None:
    """Run a provider that speaks OpenAI's chat completions and says what scenario files tell it to.

    The first line it prints is the base URL for presets. It serves until it is interrupted.
    """
    from ..simulator.server import serve

    serve(host=host, port=port, scenario_files=scenario or ())
