"""Each benchmark runs, and its last line is what `benchmarks/README.md` says."""

import json
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
SCRIPTS = sorted(path.name for path in BENCHMARKS.glob("[a-z]*.py"))


CHROMIUM = Path("/usr/bin/chromium")
BROWSERLESS = not CHROMIUM.exists() or find_spec("playwright") is None


def listed(script: str) -> set[str]:
    """The keys that the README lists for a script, in the table of its section."""
    section = (BENCHMARKS / "README.md").read_text().split(f"## `{script}`")[1].split("\n## ")[0]
    return set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_benchmark_prints_a_table_and_the_keys_that_are_listed(script: str) -> None:
    if script == "dashboard.py" and BROWSERLESS:
        pytest.skip(f"there is no {CHROMIUM}, or no Playwright")
    command = [sys.executable, str(BENCHMARKS / script), "--quick", "--json"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)

    assert ended.returncode == 0, ended.stderr
    *table, last = ended.stdout.splitlines()
    assert table
    assert set(json.loads(last)) == listed(script)
