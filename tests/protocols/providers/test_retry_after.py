import pytest

from amrita_fleet.protocols.messages import Json
from amrita_fleet.protocols.providers.retry_after import LONGEST, retry_after

NOW = "Wed, 21 Oct 2015 07:28:00 GMT"


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        pytest.param({}, None, id="nothing said"),
        pytest.param({"retry-after": "0.5"}, 0.5, id="fraction"),
        pytest.param({"retry-after": "-5"}, 0.0, id="negative"),
        pytest.param({"retry-after": "1", "retry-after-ms": "0"}, 0.0, id="milliseconds first"),
        pytest.param({"retry-after": "2", "retry-after-ms": "soon"}, 2.0, id="milliseconds that are none"),
        pytest.param({"retry-after": "1e9"}, LONGEST, id="huge"),
        pytest.param({"retry-after": "inf"}, LONGEST, id="infinite"),
        pytest.param({"retry-after": "nan"}, None, id="no number"),
        pytest.param({"retry-after": "soon"}, None, id="a word"),
        pytest.param({"retry-after": "Wed, 21 Oct 2015 07:28:30 GMT", "date": NOW}, 30.0, id="date"),
        pytest.param({"retry-after": "Wed, 21 Oct 2015 07:27:00 GMT", "date": NOW}, 0.0, id="date in the past"),
        pytest.param({"retry-after": "Wed, 21 Oct 2065 07:28:00 GMT", "date": NOW}, LONGEST, id="date far ahead"),
        pytest.param({"retry-after": "Fri, 31 Dec 99999 23:59:59 GMT", "date": NOW}, None, id="date that is none"),
        pytest.param({"retry-after": NOW}, None, id="date without the server's clock"),
    ],
)
def test_headers_say_how_long_to_wait(headers: dict[str, str], wait: float | None) -> None:
    assert retry_after(headers, {}, "") == wait


@pytest.mark.parametrize(
    ("sentence", "wait"),
    [
        ("Rate limit reached. Please try again in 7.66s. Visit ...", 7.66),
        ("Please try again in 20ms.", 0.02),
        ("Please try again in 1m12.5s.", 72.5),
        ("Please retry in 48.939935699s.", 48.939935699),
        ("Try again in 5 seconds", 5.0),
        ("Please retry after 2 minutes.", 120.0),
        ("Try again in 3 servers", None),
        ("Try again later", None),
    ],
)
def test_a_sentence_may_say_it(sentence: str, wait: float | None) -> None:
    assert retry_after({}, {}, sentence) == (None if wait is None else pytest.approx(wait))


def test_google_says_it_in_the_details() -> None:
    details: list[Json] = [{"@type": "type.googleapis.com/google.rpc.Help"}, {"retryDelay": "48s"}]
    assert retry_after({}, {"details": details}, "") == 48.0
