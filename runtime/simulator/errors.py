"""What goes wrong in the simulator.

RunError                         runtime/errors.py
├── Refused                      a request that a strict provider does not answer
└── ScenarioInvalid (ValueError) a scenario that cannot be used
"""

from ..errors import RunError

__all__ = ("Refused", "ScenarioInvalid")


class Refused(RunError):
    """A request is answered with an error instead of a reply.

    Attributes:
        message: What is wrong, in the words that providers use.
        status: The HTTP status.
        kind: The provider's type of error.
        param: Where in the request it is wrong, as OpenAI spells it.
        code: The provider's code.
        after: Seconds after which the client may try again.
    """

    def __init__(
        self,
        *,
        message: str,
        status: int = 400,
        kind: str = "invalid_request_error",
        param: str | None = None,
        code: str | None = None,
        after: float | None = None,
    ) -> None:
        """Keep the facts."""
        super().__init__(message)
        self.message = message
        self.status = status
        self.kind = kind
        self.param = param
        self.code = code
        self.after = after


class ScenarioInvalid(RunError, ValueError):
    """The scenario `scenario` cannot be used, because of `reason`."""

    def __init__(self, *, scenario: str, reason: str) -> None:
        """Keep the facts."""
        super().__init__(f"The scenario {scenario!r} cannot be used: {reason}.")
        self.scenario = scenario
        self.reason = reason
