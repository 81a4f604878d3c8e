import pytest

from amrita_fleet.protocols.messages import Json
from amrita_fleet.protocols.providers.folding import fold

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("name", "pieces", "whole"),
    [
        pytest.param("content", ["a", "", "b"], "ab", id="text grows"),
        pytest.param("channel", ["analysis", "analysis"], "analysis", id="other strings are said again"),
        pytest.param("tags", [["a"], ["a", "b"]], ["a", "a", "b"], id="parts that are no objects stay apart"),
        pytest.param("score", [1, 2], 2, id="the last number counts"),
        pytest.param("x", [{"a": "1", "b": None}, {"b": 2}], {"a": "1", "b": 2}, id="objects are merged"),
        pytest.param(
            "reasoning_details",
            [
                [{"type": "reasoning.text", "text": "a", "index": 0}],
                [{"type": "reasoning.text", "text": "b", "index": 0}],
                [{"type": "reasoning.text", "signature": "s", "index": 0}],
                [{"type": "reasoning.text", "text": "c", "index": 1}],
            ],
            [
                {"type": "reasoning.text", "text": "ab", "index": 0, "signature": "s"},
                {"type": "reasoning.text", "text": "c", "index": 1},
            ],
            id="parts of the same index are one",
        ),
        pytest.param(
            "content",
            [
                "",
                [{"type": "thinking", "thinking": [{"type": "text", "text": "a"}]}],
                [{"type": "thinking", "thinking": [{"type": "text", "text": "b"}]}, {"type": "text", "text": "1"}],
                "44",
            ],
            [
                {"type": "thinking", "thinking": [{"type": "text", "text": "ab"}]},
                {"type": "text", "text": "144"},
            ],
            id="parts, then text",
        ),
    ],
)
def test_pieces_fold_into_the_value_of_an_answer_that_is_not_streamed(
    name: str, pieces: list[Json], whole: Json
) -> None:
    assert fold(name, pieces) == whole
