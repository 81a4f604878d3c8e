"""What `docs/troubleshooting.md` says is in the code: every error, setting, notice, name and quoted text."""

import ast
import builtins
import inspect
import re
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import cast

import pytest

import amrita_fleet
from amrita_fleet import AmritaConfig
from amrita_fleet.protocols.errors import GUIDE, FleetError, ProviderError
from amrita_fleet.protocols.notices import NoticeType
from amrita_fleet.runtime.supervision.advice import EVENTS

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / GUIDE).read_text()
SOURCES = [path for room in ("protocols", "runtime", "actors", "src") for path in sorted((ROOT / room).rglob("*.py"))]
SPANS = sorted(set(re.findall(r"`([^`\n]+)`", TEXT)))
HEADINGS = re.findall(r"^#+ (.+)$", TEXT, re.MULTILINE)
COMMANDS = {path.stem for path in (ROOT / "runtime" / "cli").glob("*.py")}
CAMEL = re.compile(r"[A-Z][a-z]+([A-Z][a-z]*)*")


@cache
def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text()) for path in SOURCES}


@cache
def nodes() -> tuple[ast.AST, ...]:
    return tuple(node for tree in trees().values() for node in ast.walk(tree))


@cache
def strings() -> frozenset[str]:
    """Texts of the code; of one with slots, its pieces."""
    return frozenset(node.value for node in nodes() if isinstance(node, ast.Constant) and isinstance(node.value, str))


def named(node: ast.AST) -> str | None:
    """The name that a piece of code defines or uses."""
    for field in ("id", "attr", "arg", "name"):
        if isinstance(name := getattr(node, field, None), str):
            return name
    return None


@cache
def names() -> frozenset[str]:
    return frozenset(filter(None, map(named, nodes()))) | set(dir(builtins))


@cache
def error_classes() -> dict[str, type[FleetError]]:
    """Every class of the tree, found by the names of its bases, from the module that defines it."""
    homes = {
        node.name: (path, {named(base) for base in node.bases})
        for path, tree in trees().items()
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    }
    found = {"FleetError"}
    while more := {name for name, (_, bases) in homes.items() if bases & found} - found:
        found |= more
    return {name: cast("type[FleetError]", getattr(module_of(homes[name][0]), name)) for name in sorted(found)}


def module_of(path: Path) -> object:
    return import_module(".".join(("amrita_fleet", *path.relative_to(ROOT).with_suffix("").parts)))


@cache
def notice_kinds() -> frozenset[str]:
    """Each `type.extra_type` that the code makes; where a part of it is filled in, a pattern."""
    kinds: set[str] = set()
    for node in nodes():
        if isinstance(node, ast.Call):
            for place, given in enumerate(node.args[:-1]):
                if isinstance(given, ast.Attribute) and named(given.value) == "NoticeType":
                    kind = NoticeType[given.attr].value
                    kinds |= {rf"{kind}\.{extra}" for extra in extra_types(node.args[place + 1])}
    return frozenset(kinds)


def extra_types(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.IfExp():
            yield from extra_types(node.body)
            yield from extra_types(node.orelse)
        case ast.JoinedStr():
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else r"\w+" for part in node.values)
        case ast.Subscript(value=ast.Name(id="EVENTS")):
            yield from EVENTS.values()
        case _:
            pass


@cache
def settings() -> frozenset[str]:
    sections = AmritaConfig()
    return frozenset(
        f"{section.name}.{field.name}"
        for section in fields(sections)
        for field in fields(getattr(sections, section.name))
    )


@cache
def quotable() -> str:
    """All texts of the code, and those that the tests of the specification hold it to word for word."""
    return "\n".join([*strings(), *(path.read_text() for path in sorted((ROOT / "tests" / "spec").glob("*.py")))])


def entries() -> dict[str, str]:
    """The text below the heading of each error."""
    parts = re.split(r"^### (\w+)$", TEXT.partition("\n## Errors\n")[2], flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def facts_of(cls: type[FleetError]) -> list[str]:
    """What its constructor takes by keyword; the rest of it, where it takes the same as its base."""
    given = inspect.signature(cls.__init__).parameters.values()
    own = [one.name for one in given if one.kind is one.KEYWORD_ONLY]
    rest = any(one.kind is one.VAR_KEYWORD for one in given) and issubclass(cls, ProviderError)
    return own + [name for name in facts_of(ProviderError) if name not in own] if rest else own


def test_every_error_class_has_its_entry_and_no_entry_is_of_one_that_is_gone() -> None:
    assert sorted(entries()) == sorted(error_classes())


@pytest.mark.parametrize("name", entries())
def test_an_entry_says_what_an_error_is_what_it_carries_and_whether_trying_again_is_any_use(name: str) -> None:
    cls, entry = error_classes()[name], entries()[name]
    built_in = next((base for base in cls.__mro__ if base.__module__ == "builtins"), Exception)
    also = re.search(r"Also a `(\w+)`", entry)
    facts = re.search(r"Facts: ([^.]+)\.", entry)
    assert (also[1] if also else "Exception") == built_in.__name__
    assert (re.findall(r"`(\w+)`", facts[1]) if facts else []) == facts_of(cls)
    assert ("Can be tried again." in entry) is cls.retryable


@pytest.mark.parametrize("name", entries())
def test_an_entry_says_where_an_error_is_that_the_package_does_not_export(name: str) -> None:
    home = re.search(r"In `([\w.]+)`\.", entries()[name])
    assert (home[1] if home else "amrita_fleet") == (
        "amrita_fleet" if name in amrita_fleet.__all__ else error_classes()[name].__module__
    )


@pytest.mark.parametrize("name", entries())
def test_an_error_points_to_its_entry(name: str) -> None:
    file, _, anchor = error_classes()[name].__new__(error_classes()[name]).help.partition("#")
    assert (ROOT / file).read_text() == TEXT
    assert anchor in anchors()


def anchors(text: str = TEXT) -> set[str]:
    """Headings of a page as links name them."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_no_two_headings_have_the_same_anchor() -> None:
    assert len(anchors()) == len(HEADINGS)


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([^)]+)\)", TEXT))))
def test_every_link_leads_somewhere(target: str) -> None:
    file, _, anchor = target.partition("#")
    page = (ROOT / GUIDE).parent.joinpath(file) if file else ROOT / GUIDE
    assert page.exists()
    assert not anchor or anchor in anchors(page.read_text())


@pytest.mark.parametrize("span", SPANS)
def test_whatever_is_written_as_code_is_in_the_code(span: str) -> None:
    if re.fullmatch(rf"({'|'.join(NoticeType)})\.\w+", span) and span not in settings():
        assert any(re.fullmatch(kind, span) for kind in notice_kinds())
    elif re.fullmatch(r"(builtin|function_config|llm|mail|wind_down)\.\w+", span):
        assert span in settings()
    elif re.fullmatch(r"amrita_fleet(\.\w+)+", span):
        assert import_module(span)
    elif span.startswith("amrita-fleet "):
        assert span.split()[1].strip("-") in COMMANDS | names()
    elif span not in strings():
        check_text(span) if (code := parsed(span.removeprefix("@"))) is None else check_names(code)


def parsed(span: str) -> ast.Module | None:
    for text in (span, f"{span} pass"):
        try:
            return ast.parse(text)
        except SyntaxError:
            continue
    return None


def check_names(code: ast.Module) -> None:
    """Every name in a piece of Python is one of the code, and a class is one that users can import or meet."""
    for name in filter(None, map(named, ast.walk(code))):
        assert name in names()
        if CAMEL.fullmatch(name):
            assert name in {*amrita_fleet.__all__, *error_classes(), *dir(builtins)}


def check_text(quoted: str) -> None:
    """A quoted text is a text of ours; what differs from time to time is left open in it."""
    words = re.sub(r"^\w+Error: ", "", quoted)
    assert all(part in quotable() for part in re.split(r"<\w+>|\.\.\.", words))


def test_every_setting_that_is_there_for_symptoms_is_told() -> None:
    told = set(SPANS)
    for section in ("builtin", "llm"):
        missing = {key for key in settings() if key.startswith(f"{section}.")} - told
        assert missing <= {"llm.retry_base"}


def test_the_guide_goes_out_with_the_source() -> None:
    assert "docs/troubleshooting.md" in (ROOT / "README.md").read_text()
    assert "recursive-include docs *.md" in (ROOT / "MANIFEST.in").read_text()
