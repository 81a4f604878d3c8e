"""`amrita-fleet check`: whether a fleet file describes a fleet, and which."""

import sys
from contextlib import redirect_stdout
from typing import Annotated

import typer

from .errors import InputInvalid
from .options import AsJson

__all__ = ("EPILOG", "check")

EPILOG = """\
Example: amrita-fleet check fleet.yaml

An editor checks a file as it is written: `amrita-fleet check --schema > fleet.schema.json`, and as the file's first
line `# yaml-language-server: $schema=fleet.schema.json`.

Exit status: 0 it can be run, 2 it cannot: each problem is told with its line and column; 130 interrupted."""


def check(
    file: Annotated[str, typer.Argument(metavar="[FILE]", help="The fleet file.", show_default=False)] = "",
    *,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON Schema of fleet files, and look at no file.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Read a fleet file, and show which fleet it describes, or all that is wrong with it.

    It imports the tools that the file names, and looks whether the environment has the keys; it starts nothing and uses
    no network.
    """
    from .console import print_json, stdout

    if schema == bool(file):
        raise InputInvalid(reason="Name one fleet file, or give --schema.")
    if schema:
        from ..fleet_file.json_schema import shipped_schema

        stdout().file.write(shipped_schema())
        return
    from ..fleet_file.file import FleetFile
    from .described import shown, tables

    with redirect_stdout(sys.stderr):  # what imported modules print is no part of what was asked for
        read = FleetFile.read(file)
    if as_json:
        print_json(shown(read))
        return
    for part in tables(read):
        stdout().print(part, highlight=False)
