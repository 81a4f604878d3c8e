"""Token counts of chat completions, as providers send them and as they are meant."""

from typing import NamedTuple

from ..messages import Json, Usage
from .base import Draft
from .lenient import count, mapping

__all__ = ("Counts",)

BYTES_PER_TOKEN = 3
"""For estimates, which should rather be too high: English text has about four, other scripts fewer."""

CACHED_FIELDS = ("prompt_cache_hit_tokens", "cached_tokens")
"""Where DeepSeek and Kimi say what OpenAI says under `prompt_tokens_details`."""


class Counts(NamedTuple):
    """What a provider counted; 0 where it said nothing."""

    prompt: int = 0
    completion: int = 0
    total: int = 0
    cached: int = 0
    reasoning: int = 0

    @classmethod
    def read(cls, usage: Json) -> "Counts":
        """The counts of a `usage` object, or of anything else that stands in its place."""
        fields = mapping(usage)
        asked = mapping(fields.get("prompt_tokens_details"))
        answered = mapping(fields.get("completion_tokens_details"))
        return cls(
            prompt=count(fields.get("prompt_tokens")),
            completion=count(fields.get("completion_tokens")),
            total=count(fields.get("total_tokens")),
            cached=max(map(count, (asked.get("cached_tokens"), *map(fields.get, CACHED_FIELDS)))),
            reasoning=count(answered.get("reasoning_tokens")),
        )

    def merge(self, later: "Counts") -> "Counts":
        """The larger of each: within one stream counts are running totals, never shares to be added up."""
        return Counts(*map(max, self, later))

    def usage(self, draft: Draft, answer: int) -> Usage:
        """The counts as they are meant; what is missing is estimated from bytes.

        Args:
            draft: The request.
            answer: Bytes of the answer's text, reasoning and calls.
        """
        # Some providers leave reasoning out of `completion_tokens`; it is in the total all the same.
        completion = max(self.completion, self.total - self.prompt)
        if not self.prompt or (answer and not completion):
            return self._estimate(draft, answer, completion)
        return Usage(self.prompt, completion, min(self.cached, self.prompt), min(self.reasoning, completion))

    def _estimate(self, draft: Draft, answer: int, completion: int) -> Usage:
        asked = len(draft.head) + sum(map(len, draft.fragments)) + len(draft.tail)
        return Usage(
            prompt=self.prompt or asked // BYTES_PER_TOKEN + 1,
            completion=completion if self.prompt and completion else answer // BYTES_PER_TOKEN + 1,
            estimated=True,
        )
