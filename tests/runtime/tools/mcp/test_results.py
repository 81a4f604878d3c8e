"""What a model reads of an MCP tool's result."""

from typing import Any

import pytest

from amrita_fleet import ToolOutput
from amrita_fleet.runtime.tools.mcp.results import output_of

pytestmark = pytest.mark.slow  # loading the SDK takes a second

TEXT = {"type": "text", "text": "Köln"}
LINK = {"type": "resource_link", "name": "log", "uri": "file:///log", "mimeType": "text/plain"}


def read(*content: dict[str, Any], **fields: object) -> ToolOutput:
    from mcp.types import CallToolResult

    return output_of(CallToolResult.model_validate({"content": content, **fields}))


def resource(**fields: str) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": "file:///a", **fields}}


@pytest.mark.parametrize(
    ("block", "told"),
    [
        (TEXT, "Köln"),
        ({"type": "image", "data": "AAAA", "mimeType": "image/png"}, "[left out: image, image/png, 3 bytes]"),
        ({"type": "audio", "data": "AA==", "mimeType": "audio/wav"}, "[left out: audio, audio/wav, 1 byte]"),
        (resource(text="its text"), "its text"),
        (resource(blob="AAA="), "[left out: resource, file:///a, 2 bytes]"),
        (LINK, "[left out: link to a resource, log, text/plain, file:///log]"),
    ],
)
def test_texts_are_read_and_what_is_none_is_said_to_be_left_out(block: dict[str, Any], told: str) -> None:
    assert read(block) == ToolOutput(told)
    assert read(TEXT, block).content == f"Köln\n{told}"


@pytest.mark.parametrize(
    ("text", "structured", "told"),
    [
        (None, {"a": [1, "ü"]}, '{"a":[1,"ü"]}'),
        ("It has one.", {"a": 1}, 'It has one.\n{"a":1}'),
        ('{ "a": 1 }', {"a": 1}, '{ "a": 1 }'),
        ("5", {"result": 5}, "5"),
        ("five", {"result": "five"}, "five"),
    ],
)
def test_structured_content_is_json_unless_a_text_says_it_already(
    text: str | None, structured: object, told: str
) -> None:
    blocks = [] if text is None else [{"type": "text", "text": text}]
    assert read(*blocks, structuredContent=structured).content == told


def test_an_error_is_a_failed_output_that_begins_as_one() -> None:
    assert read(TEXT, isError=True) == ToolOutput("ERROR: Köln", failed=True)


def test_nothing_is_said_to_be_nothing() -> None:
    assert read() == ToolOutput("(no output)")


def test_of_very_large_structured_content_only_a_part_is_written() -> None:
    content = read(structuredContent={"a": [[[1]]] * 500_000}).content
    assert content.startswith('{"a":[[[1]],[[1]]')
    assert content.endswith("[... the result goes on, call again for a smaller part to see what follows ...]")
    assert len(content) < 2_000_000
