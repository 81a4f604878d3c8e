"""`amrita-fleet grafana`: the dashboard for Grafana, as a file."""

from pathlib import Path
from typing import Annotated

import typer

from .errors import InputInvalid

__all__ = ("EPILOG", "grafana")

EPILOG = """\
Example: amrita-fleet grafana dashboards

Exit status: 0 it is there, 2 bad input: that includes a folder that cannot be written to, and another file of that
name."""


def grafana(
    folder: Annotated[Path, typer.Argument(help="Where to; it is made if it is not there.", show_default=False)],
    *,
    force: Annotated[bool, typer.Option("--force", help="Replace what another file of that name says.")] = False,
) -> None:
    """Write the dashboard of a fleet's metrics for Grafana, which imports it or reads it from a folder of dashboards.

    It needs no fleet. The metrics come from Ray: see docs/metrics.md.
    """
    from ..metrics.grafana import FILE_NAME
    from .console import say

    path = folder / FILE_NAME
    write(path, force=force)
    say(f"written: {path}")


def write(path: Path, *, force: bool) -> None:
    """Write the file, with the folders above it.

    Raises:
        InputInvalid: It cannot be written, or it is there and says something else.
    """
    from ..metrics.grafana import shipped_dashboard

    text = shipped_dashboard()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        other = path.exists() and not force and path.read_bytes() != text.encode()
        if not other:
            path.write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:  # a path with a null character is a ValueError
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputInvalid(reason=f"The file {str(path)!r} cannot be written: {reason}.") from None
    if other:
        raise InputInvalid(reason=f"The file {str(path)!r} says something else: --force replaces it.")
