"""Fleet files that tests write, and what is said of them."""

import tempfile
from pathlib import Path

from amrita_fleet import FleetFile, FleetFileInvalid
from amrita_fleet.runtime.fleet_file.errors import Problem

WHOLE = """\
presets:
  cheap: {base_url: "http://127.0.0.1:9/v1", model: qwen3, api_key: {env: WRITTEN_KEY}}
agents:
  ana: {preset: cheap}
tasks:
  - {agent: ana, task: Count.}
"""

ENVIRON = {"WRITTEN_KEY": "sk-planted"}

TOOLS = """
from amrita_fleet import Hooks, tool

@tool
def word_count(path: str) -> int:
    "Count the words of a text file."
    return 5

def plain(path: str) -> int:
    "No tool."
    return 5

class Careful(Hooks):
    "Decides nothing."

class Broken(Hooks):
    "Cannot be made."
    def __init__(self) -> None:
        raise RuntimeError("no luck")
"""


def read(text: str | bytes) -> FleetFile:
    """What a file with this text describes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "fleet.yaml")
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return FleetFile.read(path, environ=ENVIRON)


def refusal(text: str | bytes) -> tuple[Problem, ...]:
    """What is wrong with a file; nothing where it is right."""
    try:
        read(text)
    except FleetFileInvalid as error:
        return error.problems
    return ()


def problems(text: str | bytes) -> list[str]:
    """What is wrong with a file as it is told, without the file's name."""
    return [problem.told("").removeprefix(":") for problem in refusal(text)]
