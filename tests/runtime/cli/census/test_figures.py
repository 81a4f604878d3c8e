"""The figures of a census: merged, told, read back, compared."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.runtime.cli.census.figures import Figures, Report, count_directly, merged, read_answer
from amrita_fleet.runtime.cli.census.folder import read_folder

pytestmark = pytest.mark.slow

FIGURES = st.builds(
    Figures,
    st.integers(0, 9),
    st.integers(0, 99),
    st.dictionaries(st.sampled_from(["the", "{", 'a"b']), st.integers(0)),
)


def report(files: int, lines: int, words: dict[str, int], others: int = 0) -> str:
    return json.dumps({"files": files, "lines": lines, "words": words, "others_at_most": others})


def test_a_direct_count_counts_every_file(folder: Path) -> None:
    figures = count_directly(read_folder(folder))
    assert (figures.files, figures.lines) == (5, 106)
    assert figures.words == {"the": 105, "and": 3, "cat": 2, "end": 2, "at": 1, "dog": 1, "newline": 1, "no": 1} | {
        "snake_case": 1
    }


def test_reports_are_added_up() -> None:
    texts = [report(1, 10, {"the": 3, "cat": 2}), report(2, 5, {"the": 4}, 1)]
    figures = merged([Report.read(text) for text in texts])
    assert figures == Figures(3, 15, {"the": 7})


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("no report", "not the JSON text of a report"),
        ("[1]", "a report has files, lines, words"),
        (report(-1, 2, {}), "a report has files, lines, words"),
        ('{"files": 1, "lines": 2, "words": {"a": "b"}, "others_at_most": 0}', "a report has files, lines, words"),
    ],
    ids=["prose", "a list", "a negative number", "a word without a number"],
)
def test_what_is_no_report_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Report.read(text)


@given(FIGURES, st.text(), st.text(alphabet=st.characters(exclude_characters="{")))
def test_figures_are_found_in_an_answer(figures: Figures, before: str, after: str) -> None:
    before = before.replace("{", "")
    assert read_answer(f"{before}{json.dumps(figures.shown())}{after}") == figures


def test_the_last_figures_in_an_answer_count() -> None:
    first, second = Figures(1, 1, {"a": 1}), Figures(2, 2, {"b": 2})
    text = f"First {json.dumps(first.shown())}, rather {json.dumps(second.shown())}. {{That is all}}"
    assert read_answer(text) == second


@pytest.mark.parametrize("text", ["", "There are 3 files.", '{"files": 3}', '{"files": {"lines": 3}'])
def test_an_answer_without_figures_has_none(text: str) -> None:
    assert read_answer(text) is None


def test_figures_from_which_a_word_was_left_out_are_none() -> None:
    shown = Figures(1, 2, {"a": 2, "b": 1}).shown()
    assert read_answer(json.dumps({**shown, "words": {"a": 2}})) is None


@pytest.mark.parametrize(
    ("told", "agrees"),
    [
        (Figures(3, 9, {"the": 5, "a": 4}), True),
        (Figures(3, 9, {"the": 5}), True),
        (Figures(3, 9, {"a": 4}), False),
        (Figures(3, 9, {"a": 4, "the": 5}), False),
        (Figures(3, 9, {"the": 6}), False),
        (Figures(2, 9, {"the": 5}), False),
        (Figures(3, 8, {"the": 5}), False),
    ],
    ids=["all", "the certain ones", "not from the top", "another order", "another count", "a file less", "a line less"],
)
def test_figures_agree_when_all_that_is_told_is_so(told: Figures, agrees: bool) -> None:
    assert told.agrees(Figures(3, 9, {"the": 5, "a": 4})) is agrees
