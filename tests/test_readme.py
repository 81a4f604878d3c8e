"""What README says of providers and their refusals is what the code does."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from amrita_fleet.protocols import errors
from amrita_fleet.protocols.errors import ProviderError
from amrita_fleet.protocols.presets import ModelPreset

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()
FAMILIES = {
    "OpenAI": "openai",
    "Azure OpenAI": "azure",
    "Anthropic": "anthropic",
    "DeepSeek": "deepseek",
    "Kimi": "kimi",
    "Qwen": "qwen",
    "Groq": "groq",
    "Mistral": "mistral",
    "OpenRouter": "openrouter",
    "Gemini": "gemini",
    "vLLM": "vllm",
    "Ollama": "ollama",
}


def section(title: str) -> str:
    """The text under a heading."""
    return README.split(f"\n## {title}\n")[1].split("\n## ")[0]


def rows(title: str) -> dict[str, list[str]]:
    """The table of a section: the cells of each row by its first one."""
    lines = [line.strip("| ").split(" | ") for line in section(title).splitlines() if line.startswith("| ")]
    return {first.strip("`"): [cell.strip("`") for cell in cells] for first, *cells in lines[2:]}


def block(title: str, language: str) -> str:
    """The first block of code in a language."""
    found = re.search(rf"```{language}\n(.*?)```", section(title), re.DOTALL)
    assert found is not None
    return found[1]


def test_every_provider_is_known_by_the_address_and_model_that_are_given_for_it() -> None:
    met: dict[str, str] = {}
    for provider, (base_url, model, key) in rows("Providers").items():
        where = {"base_url": base_url} if base_url.startswith("http") else {"protocol": "anthropic"}
        met[provider] = ModelPreset.parse({"model": model, "api_key": key, **where}).facts.name
    assert met == FAMILIES


def test_every_error_of_a_provider_is_told_with_whether_it_is_tried_again() -> None:
    told = {name: cells[1] == "yes" for name, cells in rows("When a provider refuses").items()}
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, ProviderError)]
    assert told == {kind.__name__: kind.retryable for kind in kinds if kind is not ProviderError}


@pytest.mark.parametrize(("name", "family"), [("careful", "anthropic"), ("thorough", "deepseek")])
def test_the_example_in_python_makes_agents(name: str, family: str) -> None:
    made: dict[str, Any] = {}
    exec(block("Providers", "python"), made)  # noqa: S102  it is our own text
    assert made[name].preset.facts.name == family


def test_the_example_of_a_preset_file_is_one() -> None:
    preset = ModelPreset.parse(yaml.safe_load(block("Providers", "yaml")))
    assert (preset.facts.name, preset.config.stream, preset.thinking_config.enabled) == ("anthropic", True, True)


@pytest.mark.slow
def test_every_example_in_python_type_checks(tmp_path: Path) -> None:
    found = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(found) == README.count("```python")
    for number, code in enumerate(found):
        (tmp_path / f"example_{number}.py").write_text(code)
    strict = {"typeCheckingMode": "strict", "pythonVersion": "3.11", "extraPaths": [str(ROOT / "src")]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(strict))
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
