import pytest

from amrita_fleet.protocols.messages import Json
from amrita_fleet.protocols.providers.complaint import read_error
from amrita_fleet.protocols.providers.window import window


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            "This model's maximum context length is 1048565 tokens. However, you requested 1250025 tokens",
            (1250025, 1048565),
        ),
        ("prompt is too long: 214676 tokens > 200000 maximum", (214676, 200000)),
        ("input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000", (199000, 200000)),
        ("The prompt is too long: 267657, model maximum context length: 262143", (267657, 262143)),
        ("Maximum context length is 128,000 tokens, your messages resulted in 130,001 tokens", (130001, 128000)),
        ("size limit exceeded by 25836 tokens. The limit for this model is 288000 tokens.", (313836, 288000)),
        ("prompt too long; exceeded max context length by 1119046 tokens", (None, None)),
        ("Your input exceeds the context window of this model.", (None, None)),
    ],
)
def test_tokens_and_limit_are_read_from_the_words(words: str, told: tuple[int | None, int | None]) -> None:
    error: Json = {"error": {"message": words}}
    assert window(read_error(error)) == told


def test_fields_of_their_own_come_before_words() -> None:
    error: Json = {"error": {"message": "no: 1 tokens > 2", "n_prompt_tokens": 9000, "n_ctx": 8192}}
    assert window(read_error(error)) == (9000, 8192)
