"""The tools of the census: real counts on real files."""

from dataclasses import asdict, dataclass
from typing import Any

from ...tools.tool import Tool, tool
from .counting import lines_of, words_of
from .figures import Report, merged
from .folder import Folder
from .ranking import WordList

__all__ = ("counting_tools", "merge_reports")


@dataclass(frozen=True, slots=True)
class Counting:
    """Counts files of one folder. It goes to an agent's process with the tools that are its methods."""

    folder: Folder

    def count_files(self, first: int, last: int) -> dict[str, int]:
        """Count the files numbered first to last, both included. Each is opened and read.

        Args:
            first: Number of the first file.
            last: Number of the last file.
        """
        return {"files": sum(1 for _ in self.folder.contents(first, last))}

    def count_lines(self, first: int, last: int) -> dict[str, int]:
        """Count the lines of the files numbered first to last, both included.

        Args:
            first: Number of the first file.
            last: Number of the last file.
        """
        return {"lines": lines_of(self.folder.contents(first, last))}

    def top_words(self, first: int, last: int) -> dict[str, Any]:
        """List the most frequent words of the files numbered first to last, both included, with their counts.

        Args:
            first: Number of the first file.
            last: Number of the last file.
        """
        return asdict(WordList.of(words_of(self.folder.contents(first, last))))


def counting_tools(folder: Folder) -> tuple[Tool, ...]:
    """The tools of a worker. Running one again does no harm."""
    counting = Counting(folder)
    safe = tool(replay="safe")
    return safe(counting.count_files), safe(counting.count_lines), safe(counting.top_words)


@tool(replay="safe")
def merge_reports(reports: list[str]) -> dict[str, Any]:
    """Add up the reports of the workers into the census of the whole folder.

    Args:
        reports: The JSON object of each report, as text, unchanged. Each range of files exactly once.
    """
    return merged([Report.read(report) for report in reports]).shown()
