"""The sizes and the import graph that `CONTRIBUTING.md` promises."""

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("actors", "runtime", "protocols")
FILE_LINES = 400
FUNCTION_LINES = 40
PUBLIC_METHODS = 12

Function = ast.FunctionDef | ast.AsyncFunctionDef
Graph = dict[str, set[str]]


def sources(root: Path) -> dict[Path, str]:
    return {path: path.read_text(encoding="utf-8") for name in FOLDERS for path in sorted((root / name).rglob("*.py"))}


@cache
def tree(source: str) -> ast.Module:
    return ast.parse(source)


def span(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def docstring_lines(node: ast.AST) -> Iterator[int]:
    for inner in ast.walk(node):
        if isinstance(inner, Function | ast.ClassDef) and ast.get_docstring(inner, clean=False) is not None:
            yield from span(inner.body[0])


def code_lines(node: Function, lines: list[str]) -> int:
    """Lines of a function that are code; of a short one, all its lines, which is quicker said."""
    if len(span(node)) <= FUNCTION_LINES:
        return len(span(node))
    candidates = set(span(node)) - set(docstring_lines(node))
    texts = (lines[number - 1].strip() for number in candidates)
    return sum(1 for text in texts if text and not text.startswith("#"))


def oversized(source: str) -> Iterator[str]:
    lines = source.splitlines()
    if len(lines) > FILE_LINES:
        yield f"{len(lines)} lines"
    for node in ast.walk(tree(source)):
        if isinstance(node, Function) and (count := code_lines(node, lines)) > FUNCTION_LINES:
            yield f"line {node.lineno}, {node.name}: {count} code lines"
        if isinstance(node, ast.ClassDef):
            public = [member for member in node.body if isinstance(member, Function) and member.name[0] != "_"]
            if len(public) > PUBLIC_METHODS:
                yield f"line {node.lineno}, {node.name}: {len(public)} public methods"


def module_name(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(source: str, package: tuple[str, ...]) -> Iterator[str]:
    """Dotted names a module of `package` may import, counted from the root; those for type checkers included."""
    for node in ast.walk(tree(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.removeprefix("amrita_fleet.") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            named = tuple(node.module.split(".")) if node.module else ()
            base = package[: len(package) + 1 - node.level] + named if node.level else named[1:]
            if node.level or named[:1] == ("amrita_fleet",):
                yield ".".join(base)
                yield from (".".join((*base, alias.name)) for alias in node.names)


def import_graph(files: dict[Path, str], root: Path) -> Graph:
    """Module -> modules it imports. A module's own package is left out: it is always loaded first."""
    names = {path: module_name(path, root) for path in files}
    known = set(names.values())
    graph: Graph = {}
    for path, source in files.items():
        package = path.relative_to(root).parent.parts
        graph[names[path]] = (set(imported(source, package)) & known) - {names[path], ".".join(package)}
    return graph


def cycle(graph: Graph) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return [str(name) for name in error.args[1]]
    return []


def planted(root: Path, texts: dict[str, str]) -> dict[Path, str]:
    for name, text in texts.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return sources(root)


def test_the_three_folders_hold_code() -> None:
    found = {path.relative_to(ROOT).parts[0] for path in sources(ROOT)}
    assert found == set(FOLDERS)


def test_no_file_function_or_class_is_over_the_limit() -> None:
    over = [f"{path.relative_to(ROOT)}: {what}" for path, source in sources(ROOT).items() for what in oversized(source)]
    assert over == []


def test_no_import_cycle_type_only_ones_included() -> None:
    assert cycle(import_graph(sources(ROOT), ROOT)) == []


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        pytest.param("x = 1\n" * 401, "401 lines", id="file"),
        pytest.param("def f() -> None:\n" + "    g()\n" * 40, "line 1, f: 41 code lines", id="function"),
        pytest.param(
            "class C:\n" + "".join(f"    def m{n}(self) -> None: ...\n" for n in range(13)),
            "line 1, C: 13 public methods",
            id="class",
        ),
    ],
)
def test_what_is_over_a_limit_is_named(source: str, complaint: str) -> None:
    assert list(oversized(source)) == [complaint]


def test_blanks_comments_and_docstrings_are_no_code_lines() -> None:
    source = 'def f() -> None:\n    """One.\n\n    Two.\n    """\n' + "    g()\n" * 39 + "\n    # why\n" * 20
    assert list(oversized(source)) == []


@pytest.mark.parametrize(
    "back",
    ["from ..protocols.a import x\n", "from amrita_fleet.protocols import a\n", "import amrita_fleet.protocols.a\n"],
    ids=["relative", "absolute", "plain"],
)
def test_a_cycle_that_only_a_type_checker_sees_is_found(tmp_path: Path, back: str) -> None:
    texts = {
        "protocols/__init__.py": "",
        "protocols/a.py": "if TYPE_CHECKING:\n    from ..runtime import b\n",
        "runtime/__init__.py": "",
        "runtime/b.py": back,
    }
    knot = cycle(import_graph(planted(tmp_path, texts), tmp_path))
    assert set(knot) == {"protocols.a", "runtime.b"}
