"""The simulated provider itself, apart from HTTP: keys, scenarios, faults, counts."""

import hmac
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from . import tokens
from .conversation import Answer, Request
from .errors import ScenarioInvalid
from .faults import Faults
from .modes import SEPARATOR, Active, FaultTally
from .rate import RateLimit
from .scenario import Scenario
from .speech import Speech, speak
from .totals import Totals
from .words import Words

__all__ = ("Admission", "SimulatedProvider")

NO_FAULTS: Active = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Admission:
    """A request that was let in: its number, from 1, the key it came with, and how its provider refuses."""

    number: int
    key: str
    words: Words


class SimulatedProvider:
    """Answers requests of any wire format by its scenarios, and keeps the accounts.

    Attributes:
        totals: What was answered and refused so far.
        faults: What goes wrong on purpose.
    """

    def __init__(
        self,
        scenarios: Sequence[Scenario],
        *,
        key: str = "",
        faults: Faults | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Serve the models of `scenarios`.

        Args:
            scenarios: No two of them may name the same model.
            key: The only key that is let in; empty: everybody is.
            faults: None: none.
            now: Gives monotonic seconds.

        Raises:
            ScenarioInvalid: Two scenarios name the same model.
        """
        self.totals = Totals()
        self.faults = faults or Faults()
        self._key = key
        self._requests = 0
        self._now = now
        self._rate = RateLimit(self.faults.rate)
        self._tally = FaultTally()
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

    def check_key(self, key: str, words: Words) -> None:
        """Let a client with `key` in.

        Raises:
            Refused: The key is missing or wrong.
        """
        if self._key and not key:
            raise words.key_missing()
        if self._key and not hmac.compare_digest(self._key.encode(), key.encode()):
            raise words.key_wrong()

    def admit(self, number: int, key: str, words: Words) -> Admission:
        """Let a request in.

        Raises:
            Refused: The key is missing or wrong, or the server is busy.
        """
        self.check_key(key, words)
        if self.faults.hits(number):
            raise words.busy(self.faults.retry_after)
        if after := self._rate.take(self._now()):
            raise words.busy(after)
        return Admission(number, key, words)

    def hit(self, request: Request, header: str) -> tuple[Request, Active]:
        """The request without the faults that its model's name asks for, and all faults that hit it.

        Args:
            request: A request as it was read.
            header: Faults that its header asks for.

        Raises:
            Refused: It asks for a fault that there is not.
        """
        model, _, suffix = request.conversation.model.partition(SEPARATOR)
        active = {**self._tally.take(header), **self._tally.take(suffix)}
        return replace(request, conversation=replace(request.conversation, model=model)), active

    def answer(self, request: Request, admission: Admission, body: str, active: Active = NO_FAULTS) -> Speech:
        """Answer a request that came in as `body`, and count it.

        Raises:
            Refused: A fault refuses it, there is no such model, or no rule of its scenario fits.
        """
        check_refusing(active, admission.words)
        model = request.conversation.model
        scenario = self._scenarios.get(model)
        if scenario is None:
            raise admission.words.model_missing(model)
        answer, request = emptied(scenario.answer(request.conversation), request, active)
        speech = speak(answer, request, number=admission.number, prompt_tokens=tokens.count(body))
        self.totals.add(
            model, admission.key, prompt_tokens=speech.prompt_tokens, completion_tokens=speech.completion_tokens
        )
        return speech


def check_refusing(active: Active, words: Words) -> None:
    """Refuse what a fault refuses."""
    if "429" in active:
        raise words.busy(active["429"])
    if "529" in active:
        raise words.overloaded()
    if "500" in active:
        raise words.failed()


def emptied(answer: Answer, request: Request, active: Active) -> tuple[Answer, Request]:
    """What the faults leave of an answer."""
    if "empty" in active:
        return Answer(), replace(request, thinking=False)
    if "reasoning-only" in active:
        return Answer(reasoning=answer.reasoning), replace(request, thinking=True)
    return answer, request
