"""What a checkup found, as a table and as JSON."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any, Final

from rich.table import Table
from rich.text import Text

from ...protocols.presets import ModelPreset
from .checkup import Finding

__all__ = ("findings_table", "heading", "shown")

MEANINGS: Final[Mapping[str, tuple[str, str]]] = {
    "plain": ("Agents can ask this model.", "Agents have to set ModelConfig.stream, if that works."),
    "stream": ("ModelConfig.stream can be set.", "Leave ModelConfig.stream off."),
    "tool": ("Agents can use tools and write to each other.", "Agents can use no tools and send no mail."),
    "thinking": ("Reasoning goes back as the provider wants it.", "Turn thinking off, or name the right --profile."),
}
"""What it means for a user that a mode works, and that it does not."""


def heading(preset: ModelPreset) -> str:
    """Who was asked."""
    return f"{preset.model} at {preset.base_url}, protocol {preset.protocol}, profile {preset.facts.name}"


def findings_table(findings: Iterable[Finding]) -> Table:
    """A row for each mode."""
    table = Table()
    table.add_column("mode", no_wrap=True, style="bold")
    table.add_column("result", overflow="fold")
    for name in ("seconds", "tokens"):
        table.add_column(name, no_wrap=True, justify="right")
    table.add_column("request id", overflow="fold")
    table.add_column("what it means")
    for finding in findings:
        table.add_row(
            finding.mode,
            Text(finding.problem or "ok", style="green" if finding.works else "red"),
            f"{finding.seconds:.1f}",
            f"{'~' if finding.estimated else ''}{finding.tokens:,}",
            Text(finding.request_id),
            meaning(finding),
        )
    return table


def meaning(finding: Finding) -> str:
    """What a finding means for a user."""
    works, fails = MEANINGS[finding.mode]
    if finding.works:
        return works
    if finding.retryable:
        when = "later" if finding.after is None else f"in {finding.after:g} s"
        return f"Nothing yet: try again {when}."
    return fails


def shown(preset: ModelPreset, findings: Iterable[Finding]) -> dict[str, Any]:
    """The same as JSON; never with a key."""
    return {
        "model": preset.model,
        "base_url": preset.base_url,
        "protocol": preset.protocol,
        "profile": preset.facts.name,
        "modes": [asdict(finding) | {"works": finding.works, "meaning": meaning(finding)} for finding in findings],
    }
