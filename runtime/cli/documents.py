"""What the project's documents say of a name. They are shipped beside the code, in `docs`."""

import re
from collections.abc import Iterator, Mapping
from importlib.resources import files

__all__ = ("TOPICS", "entries", "entry", "heading")

ROOT = __name__.partition(".")[0]

TROUBLE, NOTICES, SETTINGS = "troubleshooting.md", "notices.md", "settings.md"

TOPICS: Mapping[str, str] = {"symptoms": TROUBLE, "errors": TROUBLE, "notices": NOTICES, "settings": SETTINGS}
"""What there are entries of, and the document that has them."""

SECTION = re.compile(r"^## (?P<name>\d+)\. (?P<text>.*?)(?=^## )", re.MULTILINE | re.DOTALL)
ERROR = re.compile(r"^### (?P<name>\w+)$(?P<text>.*?)(?=^### |\Z)", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\| `(?P<name>\w+\.\w+)` \| (?P<text>.*)\|$", re.MULTILINE)
HEAD = re.compile(r"^\| (?:notice|setting) \| (?P<text>.*)\|$", re.MULTILINE)
LINK = re.compile(r"\[(?P<text>[^\]]+)\]\([^)]*\)")


def entries(topic: str) -> dict[str, str]:
    """The entries of a topic, by name."""
    text = files(ROOT).joinpath("docs", TOPICS[topic]).read_text(encoding="utf-8")
    if topic == "symptoms":
        return {found["name"]: found["text"].strip() for found in SECTION.finditer(text)}
    if topic == "errors":
        return {found["name"]: found["text"].strip() for found in ERROR.finditer(text)}
    return dict(rows(text))


def rows(text: str) -> Iterator[tuple[str, str]]:
    """The rows of a document's tables, each cell below what its column is called."""
    heads = HEAD.search(text)
    columns = cells(heads["text"]) if heads else []
    for found in ROW.finditer(text):
        told = zip(columns, cells(found["text"]), strict=True)
        yield found["name"], "\n".join(f"{column}: {cell}" for column, cell in told if cell)


def cells(row: str) -> list[str]:
    """The cells of a row, without what frames them."""
    return [cell.strip() for cell in row.split("|")]


def entry(name: str) -> str | None:
    """What there is to say of a name, whatever its case; None where nothing is."""
    for topic in TOPICS:
        for known, text in entries(topic).items():
            if known.casefold() == name.casefold():
                told = "" if topic in {"symptoms", "errors"} else mentioned(known)
                return plain(f"{known}\n\n{text}{told}")
    return None


def mentioned(name: str) -> str:
    """The symptoms in whose sections the name stands."""
    symptoms = entries("symptoms").items()
    return "".join(f"\nsee: [{number}](#) {heading(text)}" for number, text in symptoms if f"`{name}`" in text)


def heading(text: str) -> str:
    """The first line of a section."""
    return text.partition("\n")[0]


def plain(text: str) -> str:
    """Markdown as a terminal shows it: a link to a section is the command that prints it."""
    return LINK.sub(lambda link: f"`explain {link['text']}`" if link["text"].isdigit() else link["text"], text)
