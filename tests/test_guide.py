"""The pages beside `docs/troubleshooting.md`: their examples run, and their tables are those of the code."""

import ast
import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from amrita_fleet import AmritaConfig, Fleet, ModelConfig, ToolInvalid, create_agent, tool
from amrita_fleet.protocols.notices import NoticeType
from amrita_fleet.protocols.providers.scripted import say, scripted
from amrita_fleet.runtime.cli.documents import entries
from amrita_fleet.runtime.hook_chain import POINTS
from amrita_fleet.runtime.metrics.catalogue import CATALOGUE
from amrita_fleet.runtime.simulator.modes import MODES
from amrita_fleet.runtime.step.revision import ACTIONS
from amrita_fleet.runtime.supervision.advice import EVENTS
from amrita_fleet.runtime.supervision.finding import Trouble
from amrita_fleet.runtime.supervision.policy import COURSES, Rung
from amrita_fleet.runtime.tools.tool import ToolOptions

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
PAGES = {path.stem: path.read_text() for path in sorted((ROOT / "docs").glob("*.md"))}
README = (ROOT / "README.md").read_text()
SOURCES = [path for room in ("protocols", "runtime", "actors") for path in sorted((ROOT / room).rglob("*.py"))]
BLOCK = re.compile(r"```python\n(?P<code>.*?)```(?:\n\n```text\n(?P<said>.*?)```)?", re.DOTALL)


class Example(NamedTuple):
    """A program of a page, and what it says; `said` is None where the page does not tell."""

    file: str
    code: str
    said: str | None


def examples(page: str) -> Iterator[Example]:
    """The programs of a page. One that begins with a file's name is that file, which a later one may use."""
    for number, found in enumerate(BLOCK.finditer(PAGES[page])):
        named = re.match(r"# (\w+\.py)\n", found["code"])
        yield Example(named[1] if named else f"example_{number}.py", found["code"], found["said"])


def table(page: str, head: str) -> dict[str, list[str]]:
    """The rows of the table with this first heading: cells by what stands in the first."""
    lines = PAGES[page].split(f"\n| {head} |")[1].splitlines()[2:]
    rows = [line.strip("|").split(" | ") for line in lines[: lines.index("") if "" in lines else None]]
    return {first.strip(" `"): [cell.strip(" `") for cell in cells] for first, *cells in rows}


@pytest.mark.parametrize("page", [page for page in PAGES if "```python" in PAGES[page]])
def test_the_examples_of_a_page_run_and_say_what_it_says(page: str, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(tmp_path)))}
    for example in examples(page):
        (tmp_path / example.file).write_text(example.code)
        done = subprocess.run(
            [sys.executable, example.file],
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout == (example.said or "")


def test_every_example_type_checks(tmp_path: Path) -> None:
    for page in PAGES:
        for example in examples(page):
            (tmp_path / f"{page}_{example.file}").write_text(example.code)
    strict = {"typeCheckingMode": "strict", "pythonVersion": "3.11", "extraPaths": [str(ROOT / "src")]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(strict))
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_readme_leads_to_every_page() -> None:
    assert [page for page in PAGES if f"(docs/{page}.md" not in README] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_link_of_a_page_leads_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", PAGES[page]):
        file, _, anchor = target.partition("#")
        text = PAGES[file.removesuffix(".md") if file else page]
        headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
        assert not anchor or anchor in {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in headings}


def kinds_in_code() -> Iterator[str]:
    """A pattern for each `type.extra_type` that the code makes."""
    for node in (node for path in SOURCES for node in ast.walk(ast.parse(path.read_text()))):
        given = node.args if isinstance(node, ast.Call) else []
        for kind, extra in pairwise(given):
            match kind:
                case ast.Attribute(value=ast.Name(id="NoticeType"), attr=name):
                    yield from (rf"{NoticeType[name].value}\.{pattern}" for pattern in extra_types(extra))
                case _:
                    pass


def extra_types(node: ast.expr) -> list[str]:
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.IfExp():
            return extra_types(node.body) + extra_types(node.orelse)
        case ast.JoinedStr():
            return ["".join(str(part.value) if isinstance(part, ast.Constant) else r"\w+" for part in node.values)]
        case ast.Subscript(value=ast.Name(id="EVENTS")):
            return [*EVENTS.values()]
        case _:  # it is chosen elsewhere
            return [r"(paused|resumed|sent|refused|pending)"]


def test_every_notice_is_told_and_none_that_is_gone() -> None:
    told, made = entries("notices"), set(kinds_in_code())
    assert [kind for kind in told if not any(re.fullmatch(pattern, kind) for pattern in made)] == []
    assert [pattern for pattern in made if not any(re.fullmatch(pattern, kind) for kind in told)] == []


def defaults() -> dict[str, object]:
    """Every setting with its default."""
    config = AmritaConfig()
    sections = {one.name: getattr(config, one.name) for one in fields(config)} | {"config": ModelConfig()}
    return {
        f"{name}.{one.name}": getattr(section, one.name)
        for name, section in sections.items()
        for one in fields(section)
    }


def test_every_setting_is_told_with_its_default() -> None:
    words = {"off": "False", "none": "None"}
    told = {
        name: re.search(r"^default: `?([^`\n]+)`?$", text, re.MULTILINE) for name, text in entries("settings").items()
    }
    met = {name: words.get(found[1], found[1]) for name, found in told.items() if found}
    assert met == {name: str(default).removesuffix(".0") for name, default in defaults().items()}


def test_every_option_of_a_tool_is_told() -> None:
    assert table("tools", "option of `@tool(...)`").keys() == ToolOptions.__annotations__.keys() | {"name"}


def test_every_hook_is_told_with_what_it_may_give() -> None:
    told = table("hooks", "method")
    assert list(told) == [method for method, _ in POINTS.values()]
    for kind, (method, decisions) in POINTS.items():
        given, may = told[method]
        assert given.startswith(kind.__name__)
        assert set(re.findall(r"`?(\w+)\(", may)) == {decision.__name__ for decision in decisions}


def test_every_action_of_update_step_is_told() -> None:
    assert table("plans", "`action`").keys() == ACTIONS.keys()


def test_every_trouble_and_every_rung_of_the_watch_is_told_with_what_is_done() -> None:
    told = {Trouble(trouble): done for trouble, (_, done) in table("watch", "trouble").items()}
    for trouble, same_as in ((Trouble.TOOL, Trouble.MODEL), (Trouble.STUCK, Trouble.MODEL)):
        assert told[trouble] == "the same"
        told[trouble] = told[same_as]
    rungs = {trouble: [rung for rung in Rung if f"`{rung}`" in f"`{done}`"] for trouble, done in told.items()}
    assert rungs == {trouble: [stage.rung for stage in COURSES[trouble].stages] for trouble in Trouble}
    assert [*table("watch", "rung")] == [*Rung]


def test_every_attribute_of_a_span_is_told() -> None:
    source = (ROOT / "runtime" / "agent_spans.py").read_text()
    named = set(re.findall(r'"((?:gen_ai|amrita)\.[a-z_.]+)"', source))
    assert set(table("tracing", "attribute")) == named


def test_every_metric_is_told_with_its_kind_and_labels() -> None:
    told = {name: cells[:2] for name, cells in table("metrics", "metric").items()}
    assert told == {each.name: [each.kind, "`, `".join(each.labels) or "none"] for each in CATALOGUE}


def test_every_fault_of_the_simulator_is_told() -> None:
    told = PAGES["testing"].split("| fault |")[1].split("\n\n")[0]
    assert set(re.findall(r"`([\w-]+)(?:=\w+)?`", "\n".join(row.split(" | ")[0] for row in told.splitlines()))) == {
        *MODES
    }


def test_a_first_call_needs_about_as_many_tokens_as_is_told() -> None:
    async def refused() -> str:
        async with Fleet(system="local", limit=1000) as fleet:
            (ana,) = await fleet.spawn(create_agent(preset=scripted(say("Hello."))), names=["ana"])
            return (await ana.run("Say hello.")).reason

    needed = re.search(r"needs at least ([\d,]+) tokens", asyncio.run(refused()))
    told = re.search(r"needs about ([\d,]+) tokens, so below about ([\d,]+)", PAGES["limits"])
    assert needed and told
    call, least = (int(number.replace(",", "")) for number in told.groups())
    assert int(needed[1].replace(",", "")) == pytest.approx(call, rel=0.05)
    assert least * 0.95 == pytest.approx(call, rel=0.05)


def test_what_no_model_can_fill_in_is_refused() -> None:
    def takes(*args: int) -> int:
        return len(args)

    with pytest.raises(ToolInvalid):
        tool(takes)
