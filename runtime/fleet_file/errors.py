"""What is wrong with a fleet file.

RunError                         runtime/errors.py
└── FleetFileInvalid (ValueError) a file that describes no fleet
"""

from dataclasses import dataclass

from ..errors import RunError

__all__ = ("FleetFileInvalid", "Problem")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a fleet file.

    Attributes:
        text: What it is, and what to write instead.
        where: The keys that lead to it, joined by dots; empty: it concerns the file as a whole.
        line: Counted from 1; None: it has no place in the text.
        column: In characters, counted from 1; None: as with `line`.
    """

    text: str
    where: str = ""
    line: int | None = None
    column: int | None = None

    def told(self, path: str) -> str:
        """The problem on one line, in the form that editors find the place by: `fleet.yaml:7:12: agents.ana: ...`."""
        place = "" if self.line is None else f":{self.line}:{self.column}"
        where = f"{self.where}: " if self.where else ""
        return " ".join(f"{path}{place}: {where}{self.text}".split())


class FleetFileInvalid(RunError, ValueError):
    """The file at `path` describes no fleet, because of its `problems`; its text has one line for each."""

    def __init__(self, *, path: str, problems: tuple[Problem, ...]) -> None:
        """Keep the facts."""
        told = "\n".join(problem.told(path) for problem in problems)
        super().__init__(told or f"{path}: it describes no fleet.")
        self.path = path
        self.problems = problems
