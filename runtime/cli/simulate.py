"""`amrita-fleet simulate`: the simulated provider, for one's own tests."""

from pathlib import Path
from typing import Annotated

import typer

from ..simulator.modes import HEADER, MODES, Mode

__all__ = ("EPILOG", "simulate")


def line(name: str, mode: Mode) -> str:
    """What a fault does, in one line."""
    default = "" if mode.default is None else f", {mode.default:g} if left out"
    value = f" ({mode.value}{default})" if mode.value else ""
    return f"{name}{'=N' if mode.value else ''}: {mode.about}{value}"


FAULTS = "\n\n".join(line(name, mode) for name, mode in MODES.items())

EPILOG = f"""\
Faults on request: after the model's name, as in simulated-census+429=2*1, or in the header {HEADER}, as in
latency=0.5+crlf. A fault is NAME or NAME=N; *K after it keeps it to the first K requests that ask with these words, so
that trying again succeeds; + joins several.

{FAULTS}

Example: amrita-fleet simulate --port 8123

Exit status: 0 it was interrupted after it had served, 1 the port is taken, 2 bad input, 143 ended by SIGTERM."""


def simulate(
    host: Annotated[str, typer.Option(help="Where it listens.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes any that is free.")] = 0,
    scenario: Annotated[
        list[Path] | None,
        typer.Option(help="A file with rules for further models; can be given again.", show_default=False),
    ] = None,
) -> None:
    """Run a provider that speaks OpenAI's chat completions and Anthropic's Messages, strictly, and fails on request.

    Its models say what scenario files tell them to. The first line it prints is the base URL for presets: below it are
    /chat/completions and /messages. It serves until it is interrupted.
    """
    from ..simulator.server import serve

    serve(host=host, port=port, scenario_files=scenario or ())
