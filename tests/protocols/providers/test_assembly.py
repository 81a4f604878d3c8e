import pytest

from amrita_fleet.protocols.messages import Json
from amrita_fleet.protocols.providers.assembly import CallAssembly
from amrita_fleet.protocols.providers.lenient import mapping, text

Piece = tuple[int | None, str | None, str | None, Json]


def assemble(*pieces: Piece) -> list[tuple[str, str, str]]:
    """Id, name and arguments of the calls that pieces of index, id, name and arguments make, one piece an event."""
    assembly = CallAssembly()
    for index, identifier, name, arguments in pieces:
        plain: dict[str, Json] = {"id": identifier, "function": {"name": name, "arguments": arguments}}
        assembly.add([plain if index is None else plain | {"index": index}])
    read: list[tuple[str, str, str]] = []
    for call in map(mapping, assembly.plain()):
        function = mapping(call["function"])
        read.append((text(call["id"]), text(function["name"]), text(function["arguments"])))
    return read


@pytest.mark.parametrize(
    ("pieces", "calls"),
    [
        pytest.param(
            [(0, "c1", "f", ""), (0, None, None, '{"a"'), (0, None, None, ":1}")], [("c1", "f", '{"a":1}')], id="plain"
        ),
        pytest.param(
            [(0, "c1", "f", '{"t":"a"}'), (0, "c2", "f", '{"t":"b"}')],
            [("c1", "f", '{"t":"a"}'), ("c2", "f", '{"t":"b"}')],
            id="parallel calls that all have index 0",
        ),
        pytest.param(
            [(0, "", "f", "{}"), (0, "", "g", ""), (0, "", None, "{}")],
            [("", "f", "{}"), ("", "g", "{}")],
            id="index 0 and no ids",
        ),
        pytest.param(
            [(0, "c", "f", '{"x":1}'), (0, "c", "f", '{"x":2}')],
            [("c", "f", '{"x":1}'), ("c", "f", '{"x":2}')],
            id="one id for two calls",
        ),
        pytest.param([(0, "c", "f", "{}"), (0, "c", "f", "{}")], [("c", "f", "{}")], id="a whole call said twice"),
        pytest.param(
            [(0, "c", "read", ""), (0, "c", "read", '{"p":'), (0, "c", "read", '"a"}'), (0, "c", "read", "")],
            [("c", "read", '{"p":"a"}')],
            id="the name with every piece",
        ),
        pytest.param(
            [(0, "c", "edit_ex", ""), (0, None, "isting_file", "{}")],
            [("c", "edit_existing_file", "{}")],
            id="the name in pieces",
        ),
        pytest.param(
            [(0, "r1", "f", ""), (0, "r2", None, '{"a":1'), (0, "r3", None, "}"), (0, "r4", None, "")],
            [("r1", "f", '{"a":1}')],
            id="a random id with each piece",
        ),
        pytest.param([(0, "c", "f", ""), (0, "", "", "{}")], [("c", "f", "{}")], id="empty id and name later"),
        pytest.param([(0, "", "f", ""), (0, "c", "f", "{}")], [("c", "f", "{}")], id="an id that comes late"),
        pytest.param([(3, "a", "f", "{}"), (1, "b", "g", "{}")], [("a", "f", "{}"), ("b", "g", "{}")], id="gaps"),
        pytest.param([(None, "a", "f", "{}"), (None, "b", "f", "{}")], [("a", "f", "{}"), ("b", "f", "{}")], id="none"),
        pytest.param([(0, "c", "f", {"q": "x"})], [("c", "f", '{"q":"x"}')], id="arguments that are an object"),
        pytest.param([(0, "c", "f", None)], [("c", "f", "")], id="no arguments"),
    ],
)
def test_pieces_become_calls(pieces: list[Piece], calls: list[tuple[str, str, str]]) -> None:
    assert assemble(*pieces) == calls


def test_pieces_of_two_calls_may_come_in_turns() -> None:
    pieces: list[Piece] = [(0, "a", "f", ""), (1, "b", "g", ""), (0, None, None, "{}"), (1, None, None, "{}")]
    assert assemble(*pieces) == [("a", "f", "{}"), ("b", "g", "{}")]


def test_calls_without_an_index_in_one_event_are_told_apart_by_their_place() -> None:
    assembly = CallAssembly()
    assembly.add([{"function": {"name": "f", "arguments": "{}"}}, {"function": {"name": "f", "arguments": "{}"}}])
    assert len(assembly.plain()) == 2


def test_fields_that_only_the_provider_understands_stay_with_the_call() -> None:
    assembly = CallAssembly()
    assembly.add([{"index": 0, "id": "c", "function": {"name": "f"}, "extra_content": {"google": {"s": "QUJD"}}}])
    assembly.add([{"index": 0, "function": {"arguments": "{}"}, "other": None}])
    (call,) = map(mapping, assembly.plain())
    assert call.keys() == {"id", "type", "function", "extra_content"}
