"""Who takes part in a census."""

import pickle
from pathlib import Path

import pytest

from amrita_fleet import ModelPreset
from amrita_fleet.runtime.cli.census.crew import Crew, Part, crew_of
from amrita_fleet.runtime.cli.census.folder import read_folder

pytestmark = pytest.mark.slow

PRESET = ModelPreset(model="m", base_url="http://127.0.0.1:9/v1")


@pytest.fixture
def crew(folder: Path) -> Crew:
    return crew_of(PRESET, read_folder(folder), 4)


@pytest.mark.parametrize("workers", [1, 2, 3, 4, 9])
def test_somebody_healthy_is_always_left(folder: Path, workers: int) -> None:
    parts = list(crew_of(PRESET, read_folder(folder), workers).workers.values())
    assert len(parts) == workers
    assert parts.count(Part.HEALTHY) == max(1, workers - 2)
    assert parts.count(Part.STUCK) == (workers > 1)
    assert parts.count(Part.SMALL_BUDGET) == (workers > 2)


def test_only_the_one_with_the_small_budget_has_a_limit_of_its_own(crew: Crew) -> None:
    assert [part for part, agent in crew.described.items() if agent.limit] == [Part.SMALL_BUDGET]


def test_a_lead_can_write_out_the_reports_of_many_workers(folder: Path) -> None:
    leads = [crew_of(PRESET, read_folder(folder), workers).lead for workers in (1, 50)]
    assert leads[0].preset.config.max_tokens == PRESET.config.max_tokens
    assert leads[1].preset.config.max_tokens >= 50_000


def test_agents_go_to_another_process(crew: Crew) -> None:
    again = pickle.loads(pickle.dumps(crew))
    assert again.lead.instructions == crew.lead.instructions
    assert [tool.name for tool in again.described[Part.STUCK].tools] == ["count_files", "count_lines", "top_words"]
