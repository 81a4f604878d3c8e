"""Token counts of the Messages API, as it sends them and as they are meant."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from ..messages import Json, Usage
from .base import Draft
from .estimate import estimate
from .lenient import count, mapping, sound_fields

__all__ = ("Counts",)

CACHED: Final = "cache_read_input_tokens"
WRITTEN: Final = "cache_creation_input_tokens"
ASKED: Final = ("input_tokens", WRITTEN, CACHED)
"""Together the prompt: what the cache gave or took is not in the first."""


@dataclass(frozen=True, slots=True)
class Counts:
    """What was counted, under the provider's own names."""

    raw: Mapping[str, Json] = field(default_factory=dict[str, Json])

    @classmethod
    def read(cls, usage: Json) -> "Counts":
        """The counts of a `usage` object, or of anything else that stands in its place."""
        return cls(sound_fields({name: value for name, value in mapping(usage).items() if value is not None}))

    def merge(self, later: "Counts") -> "Counts":
        """Each count as it was said last: the two events of a stream say the same ones again, not more of them.

        Some servers say 0 at the end for what they said before.
        """
        said = {name: value for name, value in later.raw.items() if value != 0 or name not in self.raw}
        return Counts({**self.raw, **said})

    def usage(self, draft: Draft, answer: int) -> Usage:
        """The counts as they are meant; what is missing is estimated from bytes.

        Args:
            draft: The request.
            answer: Bytes of the answer's text, reasoning and calls.
        """
        prompt = sum(count(self.raw.get(name)) for name in ASKED)
        completion = count(self.raw.get("output_tokens"))
        if not prompt or (answer and not completion):
            return estimate(draft, answer, prompt, completion, self.raw)
        thought = count(mapping(self.raw.get("output_tokens_details")).get("thinking_tokens"))
        cached, written = count(self.raw.get(CACHED)), count(self.raw.get(WRITTEN))
        return Usage(prompt, completion, cached, min(thought, completion), raw=self.raw, written=written)
