"""`--tools module:name`."""

import json
import sys
from pathlib import Path

import pytest

from amrita_fleet import ToolInvalid
from amrita_fleet.runtime.cli.app import run_command
from amrita_fleet.runtime.cli.errors import ToolsMissing
from amrita_fleet.runtime.cli.status import Status
from amrita_fleet.runtime.cli.tools import tools_named

MODULE = """
from amrita_fleet import tool

def plain(text: str) -> str:
    "Say it again."
    return text

@tool(name="decorated")
def other(number: int) -> int:
    "Count on."
    return number + 1

BOTH = [plain, other]
NOTHING = []

def unfit(anything):
    return anything
"""

LOUD = """
presets: {p: {base_url: "http://127.0.0.1:9/v1", model: m}}
agents: {ana: {preset: p, tools: ["loud_tools:other"]}}
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module of the user's in the current folder, from which Python does not import by itself."""
    (tmp_path / "own_tools.py").write_text(MODULE)
    (tmp_path / "broken_tools.py").write_text("raise RuntimeError('no luck')")
    (tmp_path / "leaving_tools.py").write_text("import sys\nsys.exit(0)")
    (tmp_path / "cancelled_tools.py").write_text("import asyncio\nraise asyncio.CancelledError")
    (tmp_path / "mute_tools.py").write_text(
        "class Mute(Exception):\n    def __str__(self): raise ValueError\nraise Mute"
    )
    (tmp_path / "loud_tools.py").write_text(f"print('imported')\n{MODULE}")
    (tmp_path / "loud.yaml").write_text(LOUD)
    monkeypatch.delitem(sys.modules, "loud_tools", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*__import__("sys").path])


def test_functions_tools_and_lists_of_them_become_tools() -> None:
    assert [tool.name for tool in tools_named(["own_tools:plain"])] == ["plain"]
    assert [tool.name for tool in tools_named(["own_tools:other", "own_tools:BOTH"])] == [
        "decorated",
        "plain",
        "decorated",
    ]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("own_tools", "module:attribute"),
        (":plain", "module:attribute"),
        ("no_such_module:plain", "No module named 'no_such_module'"),
        ("own_tools:nothing", "has no attribute 'nothing'"),
        ("own_tools:NOTHING", "neither a function nor a list of functions"),
        ("own_tools:MODULE", "has no attribute"),
        ("own_tools:__name__", "neither a function nor a list of functions"),
        ("broken_tools:plain", "RuntimeError: no luck"),
        ("leaving_tools:plain", "SystemExit: 0"),
        ("cancelled_tools:plain", "CancelledError"),
        ("mute_tools:plain", "its message cannot be shown"),
    ],
)
def test_a_name_without_tools_is_refused_with_the_reason(name: str, reason: str) -> None:
    with pytest.raises(ToolsMissing, match=reason):
        tools_named([name])


def test_a_function_that_can_be_no_tool_is_refused() -> None:
    with pytest.raises(ToolInvalid, match="'anything' has no annotation"):
        tools_named(["own_tools:unfit"])


def test_what_a_module_prints_is_no_part_of_what_a_program_reads(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["check", "loud.yaml", "--json"]) == Status.OK
    told = capsys.readouterr()
    assert json.loads(told.out)["agents"][0]["names"] == ["ana"]
    assert told.err == "imported\n"


def test_what_a_module_of_tools_prints_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    tools_named(["loud_tools:other"])
    assert capsys.readouterr() == ("", "imported\n")
