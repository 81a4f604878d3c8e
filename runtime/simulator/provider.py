"""The simulated provider itself, apart from HTTP: keys, scenarios, faults, counts."""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass

from . import tokens
from .conversation import Request
from .errors import Refused, ScenarioInvalid
from .faults import Faults
from .scenario import Scenario
from .speech import Speech, speak
from .totals import Totals

__all__ = ("Admission", "SimulatedProvider")

KEY_MISSING = (
    "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth "
    "(i.e. Authorization: Bearer YOUR_KEY)."
)


@dataclass(frozen=True, slots=True)
class Admission:
    """A request that was let in: its number, from 1, and the key it came with."""

    number: int
    key: str


class SimulatedProvider:
    """Answers requests of any wire format by its scenarios, and keeps the accounts.

    Attributes:
        totals: What was answered and refused so far.
        faults: What goes wrong on purpose.
    """

    def __init__(self, scenarios: Sequence[Scenario], *, key: str = "", faults: Faults | None = None) -> None:
        """Serve the models of `scenarios`.

        Args:
            scenarios: No two of them may name the same model.
            key: The only key that is let in; empty: everybody is.
            faults: None: none.

        Raises:
            ScenarioInvalid: Two scenarios name the same model.
        """
        self.totals = Totals()
        self.faults = faults or Faults()
        self._key = key
        self._requests = 0
        self._scenarios: dict[str, Scenario] = {}
        for scenario in scenarios:
            for model in scenario.models:
                if model in self._scenarios:
                    other = self._scenarios[model].name
                    raise ScenarioInvalid(scenario=scenario.name, reason=f"{other!r} has the model {model!r} too")
                self._scenarios[model] = scenario

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models, sorted."""
        return tuple(sorted(self._scenarios))

    def count(self) -> int:
        """The number of the request that comes in now."""
        self._requests += 1
        return self._requests

    def check_key(self, key: str) -> None:
        """Let a client with `key` in.

        Raises:
            Refused: The key is missing or wrong.
        """
        if self._key and not key:
            raise Refused(message=KEY_MISSING, status=401)
        if self._key and not hmac.compare_digest(self._key.encode(), key.encode()):
            raise Refused(message="Incorrect API key provided.", status=401, code="invalid_api_key")

    def admit(self, number: int, key: str) -> Admission:
        """Let a request in.

        Raises:
            Refused: The key is missing or wrong, or a fault hits this request.
        """
        self.check_key(key)
        self.faults.check(number)
        return Admission(number, key)

    def answer(self, request: Request, admission: Admission, body: str) -> Speech:
        """Answer a request that came in as `body`, and count it.

        Raises:
            Refused: There is no such model, or no rule of its scenario fits.
        """
        model = request.conversation.model
        scenario = self._scenarios.get(model)
        if scenario is None:
            message = f"The model `{model}` does not exist or you do not have access to it."
            raise Refused(message=message, status=404, code="model_not_found")
        answer = scenario.answer(request.conversation)
        speech = speak(answer, request, number=admission.number, prompt_tokens=tokens.count(body))
        self.totals.add(
            model, admission.key, prompt_tokens=speech.prompt_tokens, completion_tokens=speech.completion_tokens
        )
        return speech
