"""Running totals of what a simulator answered: the provider's side of the accounts."""

import hashlib
from dataclasses import dataclass, field

from ...protocols.messages import Json

__all__ = ("Count", "Totals", "key_shown")


@dataclass(slots=True)
class Count:
    """Answers and their tokens."""

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def add(self, prompt_tokens: int, completion_tokens: int) -> None:
        """Add an answer."""
        self.requests += 1
        self.prompt_tokens += prompt_tokens
        self.completion_tokens += completion_tokens

    def shown(self) -> dict[str, Json]:
        """The count as JSON."""
        return {
            "requests": self.requests,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "total": self.prompt_tokens + self.completion_tokens,
        }


@dataclass(slots=True)
class Totals:
    """Counts of all answers, of each model's and of each key's, and the number of refusals, which cost nothing."""

    answered: Count = field(default_factory=Count)
    by_model: dict[str, Count] = field(default_factory=dict[str, Count])
    by_key: dict[str, Count] = field(default_factory=dict[str, Count])
    refused: int = 0

    def add(self, model: str, key: str, *, prompt_tokens: int, completion_tokens: int) -> None:
        """Add an answer of `model` to a client with `key`."""
        mine = self.by_model.setdefault(model, Count()), self.by_key.setdefault(key_shown(key), Count())
        for count in (self.answered, *mine):
            count.add(prompt_tokens, completion_tokens)

    def shown(self) -> dict[str, Json]:
        """The totals as JSON; `requests` are the answered and the refused."""
        return {
            **self.answered.shown(),
            "requests": self.answered.requests + self.refused,
            "refused": self.refused,
            "by_model": {name: count.shown() for name, count in self.by_model.items()},
            "by_key": {name: count.shown() for name, count in self.by_key.items()},
        }


def key_shown(key: str) -> str:
    """A name for a key that does not give it away; `none` for a request without one."""
    return f"sha256:{hashlib.sha256(key.encode()).hexdigest()[:12]}" if key else "none"
