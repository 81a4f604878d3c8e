"""The tools of the census as an agent calls them, in another process too."""

import json
import pickle
from pathlib import Path

import pytest

from amrita_fleet import Tool, ToolContext
from amrita_fleet.runtime.cli.census.figures import count_directly
from amrita_fleet.runtime.cli.census.folder import read_folder
from amrita_fleet.runtime.cli.census.tools import counting_tools, merge_reports
from amrita_fleet.runtime.tools.executor import Executor

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

NOWHERE: ToolContext = None  # type: ignore[assignment]  # none of these tools asks for one


async def called(tool: Tool, **arguments: object) -> str:
    """What a model reads after it called the tool."""
    return (await Executor().run(tool, json.dumps(arguments), NOWHERE)).content


async def reported(tools: tuple[Tool, ...], first: int, last: int) -> str:
    """The report of a range, made as a worker makes it."""
    outputs = [json.loads(await called(tool, first=first, last=last)) for tool in tools]
    return json.dumps({key: value for output in outputs for key, value in output.items()})


async def test_reports_of_ranges_merge_to_what_a_direct_count_gives(folder: Path) -> None:
    counted = read_folder(folder)
    tools = pickle.loads(pickle.dumps(counting_tools(counted)))
    reports = [await reported(tools, 0, 1), await reported(tools, 2, 4)]
    assert json.loads(await called(merge_reports, reports=reports)) == count_directly(counted).shown()


async def test_a_range_that_does_not_exist_is_an_error_the_model_can_read(folder: Path) -> None:
    count_files, *_ = counting_tools(read_folder(folder))
    assert (await called(count_files, first=0, last=99)).startswith("ERROR: ValueError: there are no files 0 to 99")


async def test_a_report_that_is_none_is_an_error_the_model_can_read() -> None:
    assert (await called(merge_reports, reports=["{}"])).startswith("ERROR: ValueError: a report has files")


def test_the_tools_are_described_to_the_model(folder: Path) -> None:
    schemas = [tool.schema for tool in (*counting_tools(read_folder(folder)), merge_reports)]
    assert [schema.name for schema in schemas] == ["count_files", "count_lines", "top_words", "merge_reports"]
    assert all(schema.description for schema in schemas)
    assert "Number of the first file" in json.dumps(schemas[0].parameters)
