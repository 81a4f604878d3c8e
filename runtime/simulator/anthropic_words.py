"""Refusals as Anthropic words them.

Source: Anthropic API, "Errors" and the error texts of the Messages API.
"""

from collections.abc import Mapping, Sequence

from .errors import Refused

__all__ = ("ANTHROPIC", "AnthropicWords")

KINDS: Mapping[type, str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "list",
    dict: "dictionary",
}


class AnthropicBodyWords:
    """The words of the Messages API; a path reads `messages.2.content.0.tool_use.id` and stands before the sentence."""

    def member(self, path: str, name: str) -> str:
        """The path of a field."""
        return f"{path}.{name}" if path else name

    def element(self, path: str, place: int) -> str:
        """The path of an element."""
        return f"{path}.{place}"

    def invalid(self, path: str, message: str) -> Refused:
        """What is wrong at `path`."""
        return Refused(message=f"{path}: {message}" if path else message, param=path or None)

    def unknown(self, path: str) -> Refused:
        """There is no such field."""
        return self.invalid(path, "Extra inputs are not permitted")

    def missing(self, path: str) -> Refused:
        """The field has to be there."""
        return self.invalid(path, "Field required")

    def mistyped(self, path: str, wanted: type, got: object) -> Refused:  # noqa: ARG002  its words name no value
        """The value has another type."""
        return self.invalid(path, f"Input should be a valid {KINDS[wanted]}")

    def empty(self, path: str) -> Refused:
        """The array has no element."""
        if path == "messages":
            return self.invalid(path, "at least one message is required")
        return self.invalid(path, "List should have at least 1 item after validation, not 0")

    def too_small(self, path: str, low: int, got: int) -> Refused:  # noqa: ARG002  its words name no value
        """The whole number is too small."""
        return self.invalid(path, f"Input should be greater than or equal to {low}")

    def outside(self, path: str, low: float, high: float, got: float) -> Refused:  # noqa: ARG002  its words name no value
        """The number is out of range."""
        return self.invalid(path, f"range: {low:g}..{high:g}")

    def unsupported(self, path: str, got: str, supported: Sequence[str]) -> Refused:  # noqa: ARG002  as above
        """The text is none of the supported ones."""
        *others, final = (f"'{name}'" for name in supported)
        listed = f"{', '.join(others)} or {final}" if others else final
        return self.invalid(path, f"Input should be {listed}")


class AnthropicServiceWords:
    """The words that have nothing to do with what a body says."""

    def not_json(self) -> Refused:
        """The body is no JSON."""
        return Refused(message="The request body is not valid JSON.")

    def key_missing(self) -> Refused:
        """A key is wanted."""
        return Refused(message="x-api-key header is required", status=401, kind="authentication_error")

    def key_wrong(self) -> Refused:
        """The key is not let in."""
        return Refused(message="invalid x-api-key", status=401, kind="authentication_error")

    def model_missing(self, model: str) -> Refused:
        """There is no such model."""
        return Refused(message=f"model: {model}", status=404, kind="not_found_error")

    def busy(self, after: float) -> Refused:
        """Too many requests."""
        message = "This request would exceed your account's rate limit. Please try again later."
        return Refused(message=message, status=429, kind="rate_limit_error", after=after)

    def overloaded(self) -> Refused:
        """Too much to do."""
        return Refused(message="Overloaded", status=529, kind="overloaded_error")

    def failed(self) -> Refused:
        """The provider is at fault."""
        return Refused(message="Internal server error", status=500, kind="api_error")


class AnthropicWords(AnthropicBodyWords, AnthropicServiceWords):
    """All its words."""


ANTHROPIC = AnthropicWords()
