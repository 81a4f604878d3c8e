"""Token counts of chat completions, as providers send them and as they are meant."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..messages import Json, Usage
from .base import Draft
from .estimate import estimate
from .lenient import count, mapping, sound_fields

__all__ = ("Counts",)

CACHED_FIELDS = ("prompt_cache_hit_tokens", "cached_tokens")
"""Where DeepSeek and Kimi say what OpenAI says under `prompt_tokens_details`."""


@dataclass(frozen=True, slots=True)
class Counts:
    """What a provider counted, 0 where it said nothing; and `raw`, the object in which it did."""

    prompt: int = 0
    completion: int = 0
    total: int = 0
    cached: int = 0
    reasoning: int = 0
    raw: Mapping[str, Json] = field(default_factory=dict[str, Json])

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
            raw=sound_fields(fields),
        )

    def merge(self, later: "Counts") -> "Counts":
        """The larger of each: within one stream counts are running totals, never shares to be added up."""
        return Counts(
            prompt=max(self.prompt, later.prompt),
            completion=max(self.completion, later.completion),
            total=max(self.total, later.total),
            cached=max(self.cached, later.cached),
            reasoning=max(self.reasoning, later.reasoning),
            raw={**self.raw, **later.raw},
        )

    def usage(self, draft: Draft, answer: int) -> Usage:
        """The counts as they are meant; what is missing is estimated from bytes.

        Args:
            draft: The request.
            answer: Bytes of the answer's text, reasoning and calls.
        """
        # Some providers leave reasoning out of `completion_tokens`; it is in the total all the same.
        completion = max(self.completion, self.total - self.prompt)
        if not self.prompt or (answer and not completion):
            return estimate(draft, answer, self.prompt, completion, self.raw)
        cached, reasoning = min(self.cached, self.prompt), min(self.reasoning, completion)
        return Usage(self.prompt, completion, cached, reasoning, raw=self.raw)
