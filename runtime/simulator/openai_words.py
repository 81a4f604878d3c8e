"""Refusals as OpenAI words them.

Source: OpenAI API, error texts of chat completions; 529 is not OpenAI's, but gateways pass it on.
"""

from collections.abc import Mapping, Sequence

from .errors import Refused

__all__ = ("OPENAI", "OpenAIWords")

KINDS: Mapping[type, str] = {
    type(None): "null",
    bool: "a boolean",
    int: "an integer",
    float: "a decimal",
    str: "a string",
    list: "an array",
    dict: "an object",
}
NOT_JSON = (
    "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library "
    "correctly. The API expects a JSON payload, but what was sent was not valid JSON.)"
)
KEY_MISSING = (
    "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth "
    "(i.e. Authorization: Bearer YOUR_KEY)."
)
FAILED = "The server had an error while processing your request. Sorry about that!"
OVERLOADED = "The engine is currently overloaded, please try again later."


class OpenAIBodyWords:
    """The words of chat completions; a path reads `messages[2].tool_calls[0].id`."""

    def member(self, path: str, name: str) -> str:
        """The path of a field."""
        return f"{path}.{name}" if path else name

    def element(self, path: str, place: int) -> str:
        """The path of an element."""
        return f"{path}[{place}]"

    def invalid(self, path: str, what: str, expected: str, *, code: str = "invalid_value") -> Refused:
        """What is wrong with the value and what was expected."""
        return Refused(message=f"Invalid '{path}': {what}. {expected}", param=path, code=code)

    def unknown(self, path: str) -> Refused:
        """There is no such field."""
        return Refused(message=f"Unknown parameter: '{path}'.", param=path, code="unknown_parameter")

    def missing(self, path: str) -> Refused:
        """The field has to be there."""
        message = f"Missing required parameter: '{path}'."
        return Refused(message=message, param=path, code="missing_required_parameter")

    def mistyped(self, path: str, wanted: type, got: object) -> Refused:
        """The value has another type."""
        where = f"for '{path}'" if path else "of the request's body"
        kind = KINDS.get(type(got), "something else")
        message = f"Invalid type {where}: expected {KINDS[wanted]}, but got {kind} instead."
        return Refused(message=message, param=path or None, code="invalid_type")

    def empty(self, path: str) -> Refused:
        """The array has no element."""
        expected = "Expected an array with minimum length 1, but got an empty array instead."
        return self.invalid(path, "empty array", expected, code="empty_array")

    def too_small(self, path: str, low: int, got: int) -> Refused:
        """The whole number is too small."""
        expected = f"Expected a value >= {low}, but got {got} instead."
        return self.invalid(path, "integer below minimum value", expected, code="integer_below_min_value")

    def outside(self, path: str, low: float, high: float, got: float) -> Refused:
        """The number is out of range."""
        expected = f"Expected a value between {low:g} and {high:g}, but got {got:g} instead."
        return self.invalid(path, "decimal out of range", expected, code="decimal_out_of_range")

    def unsupported(self, path: str, got: str, supported: Sequence[str]) -> Refused:
        """The text is none of the supported ones."""
        *others, final = (f"'{name}'" for name in supported)
        listed = f"{', '.join(others)}, and {final}" if others else final
        message = f"Invalid value: '{got}'. Supported values are: {listed}."
        return Refused(message=message, param=path, code="invalid_value")


class OpenAIServiceWords:
    """The words that have nothing to do with what a body says."""

    def not_json(self) -> Refused:
        """The body is no JSON."""
        return Refused(message=NOT_JSON)

    def key_missing(self) -> Refused:
        """A key is wanted."""
        return Refused(message=KEY_MISSING, status=401)

    def key_wrong(self) -> Refused:
        """The key is not let in."""
        return Refused(message="Incorrect API key provided.", status=401, code="invalid_api_key")

    def model_missing(self, model: str) -> Refused:
        """There is no such model."""
        message = f"The model `{model}` does not exist or you do not have access to it."
        return Refused(message=message, status=404, code="model_not_found")

    def busy(self, after: float) -> Refused:
        """Too many requests."""
        message = f"Rate limit reached for requests. Please try again in {after:g}s."
        return Refused(message=message, status=429, kind="requests", code="rate_limit_exceeded", after=after)

    def overloaded(self) -> Refused:
        """Too much to do."""
        return Refused(message=OVERLOADED, status=529, kind="server_error", code="overloaded")

    def failed(self) -> Refused:
        """The provider is at fault."""
        return Refused(message=FAILED, status=500, kind="server_error")


class OpenAIWords(OpenAIBodyWords, OpenAIServiceWords):
    """All its words."""


OPENAI = OpenAIWords()
