"""Who takes part in a census, and what trouble is planted among them."""

from dataclasses import dataclass, replace
from enum import StrEnum

from ....protocols.limits import TokenLimit
from ....protocols.presets import ModelPreset
from ...agent import Agent
from ...config import AmritaConfig, FunctionConfig
from . import prompts
from .folder import Folder
from .tools import counting_tools, merge_reports

__all__ = ("LEAD", "Crew", "Part", "crew_of")

LEAD = "lead"

TOKENS_EACH = 150_000
"""Tokens that the fleet may spend for each of its agents."""

SMALL_BUDGET = 10_000
"""Tokens of the worker whose work needs more."""

REPORT_TOKENS = 1000
"""Tokens that the lead's longest call may have for each report it copies."""

WORKER_ROUNDS = 30
"""Rounds of tool calls in a worker's run: the thorough one needs more than the usual ten."""

LEAD_ROUNDS = 20
"""The same of the lead's run, and for each worker `ROUNDS_EACH` more."""

ROUNDS_EACH = 6


class Part(StrEnum):
    """What a worker is there for."""

    HEALTHY = "healthy"
    STUCK = "stuck"
    SMALL_BUDGET = "small budget"


@dataclass(frozen=True)
class Crew:
    """The agents of a census.

    Attributes:
        lead: The one who is given the task.
        workers: Each worker's part, by name.
        described: The agent for each part.
    """

    lead: Agent
    workers: dict[str, Part]
    described: dict[Part, Agent]

    def named(self, part: Part) -> tuple[str, ...]:
        """The workers that play a part."""
        return tuple(name for name, played in self.workers.items() if played is part)

    @property
    def limit(self) -> TokenLimit:
        """What all agents together may spend."""
        return TokenLimit(tokens=TOKENS_EACH * (1 + len(self.workers)))


def crew_of(preset: ModelPreset, folder: Folder, workers: int) -> Crew:
    """The lead and so many workers, the last of which are stuck and short of tokens."""
    names = tuple(f"w{number}" for number in range(1, workers + 1))
    worker = Agent(
        preset=preset, instructions=prompts.WORKER, tools=counting_tools(folder), config=rounds(WORKER_ROUNDS)
    )
    return Crew(
        lead=Agent(
            preset=with_output(preset, REPORT_TOKENS * workers),
            instructions=prompts.LEAD,
            tools=(merge_reports,),
            config=rounds(LEAD_ROUNDS + ROUNDS_EACH * workers),
        ),
        workers=dict(zip(names, parts(workers), strict=True)),
        described={
            Part.HEALTHY: worker,
            Part.STUCK: replace(worker, instructions=prompts.STUCK),
            Part.SMALL_BUDGET: replace(worker, instructions=prompts.THOROUGH, limit=TokenLimit(tokens=SMALL_BUDGET)),
        },
    )


def with_output(preset: ModelPreset, tokens: int) -> ModelPreset:
    """The preset with room for at least so many tokens of output in one call."""
    config = replace(preset.config, max_tokens=max(tokens, preset.config.max_tokens))
    return replace(preset, config=config)


def parts(workers: int) -> tuple[Part, ...]:
    """A part for each of so many workers. At least one stays healthy, to take over what the others leave."""
    planted = (Part.STUCK, Part.SMALL_BUDGET)[: workers - 1]
    return (Part.HEALTHY,) * (workers - len(planted)) + planted


def rounds(most: int) -> AmritaConfig:
    """The usual configuration with so many rounds a run."""
    return AmritaConfig(function_config=FunctionConfig(agent_tool_call_limit=most))
