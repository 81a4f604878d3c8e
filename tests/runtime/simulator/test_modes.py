"""The words that ask for faults."""

import pytest

from amrita_fleet.runtime.simulator.errors import Refused
from amrita_fleet.runtime.simulator.modes import MODES, FaultTally, Wish, read_wishes

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("words", "wishes"),
    [
        pytest.param("", (), id="none"),
        pytest.param("529", (Wish("529", 0.0),), id="name alone"),
        pytest.param("429*2", (Wish("429", 1.0, 2),), id="first requests"),
        pytest.param("429=0.5*2 + crlf", (Wish("429", 0.5, 2), Wish("crlf", 0.0)), id="value, two"),
    ],
)
def test_faults_are_read(words: str, wishes: tuple[Wish, ...]) -> None:
    assert read_wishes(words) == wishes


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param("430", "The simulator has no fault '430'. It has latency, 429,", id="unknown"),
        pytest.param("429*", "no fault '429*'", id="no number"),
        pytest.param("crlf++429", "no fault ''", id="nothing between"),
        pytest.param("cut", "The fault 'cut' takes a value: bytes sent before", id="value missing"),
        pytest.param("crlf=2", "The fault 'crlf' takes no value", id="value not wanted"),
    ],
)
def test_what_is_no_fault_is_refused_and_says_why(words: str, message: str) -> None:
    with pytest.raises(Refused) as caught:
        read_wishes(words)
    assert message in str(caught.value)


def test_a_fault_with_a_number_ends_and_each_wording_counts_for_itself() -> None:
    tally = FaultTally()
    assert [set(tally.take("429*1+529*2+crlf")) for _ in range(3)] == [
        {"429", "529", "crlf"},
        {"529", "crlf"},
        {"crlf"},
    ]
    assert set(tally.take("429*1")) == {"429"}
    assert tally.take("") == {}


def test_each_fault_says_what_it_does() -> None:
    assert all(mode.about for mode in MODES.values())
