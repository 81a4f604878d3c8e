"""Scenario files: those that ship and those of a user."""

from collections.abc import Iterable
from pathlib import Path

import yaml

from .errors import ScenarioInvalid
from .scenario import Scenario, parse_scenario

__all__ = ("read_scenario", "read_scenarios", "shipped")

SHIPPED = Path(__file__).parent / "scenarios"


def shipped() -> tuple[Scenario, ...]:
    """The scenarios that come with the package."""
    return tuple(read_scenario(path) for path in sorted(SHIPPED.glob("*.yaml")))


def read_scenarios(paths: Iterable[str | Path]) -> tuple[Scenario, ...]:
    """The shipped scenarios, and those in the files at `paths`.

    Raises:
        ScenarioInvalid: A file cannot be read or used.
    """
    return (*shipped(), *(read_scenario(Path(path)) for path in paths))


def read_scenario(path: Path) -> Scenario:
    """The scenario in a YAML file, named after the file.

    Raises:
        ScenarioInvalid: The file cannot be read or used.
    """
    try:
        content: object = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ScenarioInvalid(scenario=path.name, reason=f"the file cannot be read: {error}") from None
    return parse_scenario(path.stem, content)
