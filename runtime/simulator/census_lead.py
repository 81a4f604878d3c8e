"""The lead of the census demo: it splits a folder among its workers, hands on what a lost worker held, and sums up.

All it knows it reads from the conversation; nothing is remembered between two requests.
"""

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Self

from ...protocols.messages import Json
from .census_shards import Shard, failed, read_object, split
from .conversation import Answer, Call, Conversation, Done, Said
from .letters import RUNTIME, Letter, letters

__all__ = ("lead",)

TASK = re.compile(r"\b(?P<total>\d+) files\b.*?\bYour workers: (?P<workers>[\w-]+(?:, [\w-]+)*)", re.DOTALL)
REPORT = re.compile(r"Report for files (?P<first>\d+) to (?P<last>\d+): (?P<json>\{.*\})", re.DOTALL)
LOST = re.compile(r"(?P<name>[\w-]+) (?:ended its run: (?!answered)|died\b)")
NO_TASK = (
    "Tell me how many files there are and who counts them, as in: "
    "Count the files under a folder of 40 files (numbers 0 to 39). Your workers: w1, w2."
)
WAIT_SECONDS = 60
QUIET_WAITS = 3
"""Waits without news after which the lead answers with what it has."""


@dataclass
class Census:
    """What the lead knows of a census.

    Attributes:
        shards: Ranges of files that together are the folder.
        workers: Everyone it may send a shard to.
        holders: Who was sent each shard last.
        sent: How many shards each worker was sent.
        lost: Workers that ended without an answer, or could not be reached.
        reports: Each shard's report, as its JSON text.
        quiet: Waits since the last news.
        merged: How many reports were merged last.
        result: The output of that merge.
    """

    shards: tuple[Shard, ...]
    workers: tuple[str, ...]
    holders: dict[Shard, str] = field(default_factory=dict[Shard, str])
    sent: Counter[str] = field(default_factory=Counter[str])
    lost: set[str] = field(default_factory=set[str])
    reports: dict[Shard, str] = field(default_factory=dict[Shard, str])
    quiet: int = 0
    merged: int = 0
    result: str = ""

    @classmethod
    def read(cls, conversation: Conversation) -> Self | None:
        """The newest census that the conversation asks for, or None."""
        census: Self | None = None
        for event in conversation.events():
            if isinstance(event, Said) and (task := TASK.search(event.content)):
                workers = tuple(task["workers"].split(", "))
                census = cls(split(Shard(0, int(task["total"]) - 1), len(workers)), workers)
            elif census:
                census.note(event)
        return census

    def note(self, event: Said | Done) -> None:
        """Take in what happened next."""
        match event:
            case Said():
                for letter in letters(event.content):
                    self.take(letter)
            case Done(Call("send_message", arguments), output):
                self.ordered(str(arguments.get("to")), Shard.find(str(arguments.get("body"))), output)
            case Done(Call("wait_for_messages")):
                self.quiet += 1
            case Done(Call("merge_reports", arguments), output):
                reports = arguments.get("reports")
                self.merged, self.result = len(reports) if isinstance(reports, list) else 0, output
            case Done():
                pass

    def take(self, letter: Letter) -> None:
        """Take in a report, or the news that a worker is lost."""
        report, lost = REPORT.match(letter.body), LOST.match(letter.body)
        if report:
            self.reports.setdefault(Shard(int(report["first"]), int(report["last"])), report["json"])
            self.quiet = 0
        elif lost and letter.sender == RUNTIME:
            self.lost.add(lost["name"])
            self.quiet = 0

    def ordered(self, worker: str, shard: Shard | None, output: str) -> None:
        """Take in that a worker was sent a shard, or could not be."""
        if shard is None:
            return
        if failed(output):
            self.lost.add(worker)
        else:
            self.holders[shard] = worker
            self.sent[worker] += 1

    @property
    def missing(self) -> tuple[Shard, ...]:
        """Shards without a report."""
        return tuple(shard for shard in self.shards if shard not in self.reports)

    @property
    def available(self) -> tuple[str, ...]:
        """Workers that are not lost."""
        return tuple(worker for worker in self.workers if worker not in self.lost)

    def orders(self) -> tuple[Call, ...]:
        """A message for each shard that nobody counts, to the worker with the fewest to count; in turn if equal."""
        available = set(self.available)
        held = {shard: worker for shard in self.missing if (worker := self.holders.get(shard)) in available}
        load, sent = Counter(held.values()), self.sent.copy()
        calls: list[Call] = []
        for shard in self.missing if available else ():
            if shard not in held:
                worker = min(self.available, key=lambda name: (load[name], sent[name]))
                load[worker] += 1
                sent[worker] += 1
                calls.append(Call("send_message", {"to": worker, "body": f"Please take {shard} of the census."}))
        return tuple(calls)


def lead(conversation: Conversation) -> Answer:
    """What the lead says next."""
    census = Census.read(conversation)
    if census is None:
        return Answer(NO_TASK)
    if not conversation.tools:
        return Answer(summary(census))
    if orders := census.orders():
        return Answer(f"I send out {len(orders)} of {len(census.shards)} ranges.", orders)
    if census.missing and census.available and census.quiet < QUIET_WAITS:
        return Answer(calls=(Call("wait_for_messages", {"seconds": WAIT_SECONDS}),))
    if census.merged < len(census.reports):
        reports: list[Json] = list(census.reports.values())
        return Answer("I merge the reports.", (Call("merge_reports", {"reports": reports}),))
    return Answer(summary(census))


def summary(census: Census) -> str:
    """The result, or as much of it as there is."""
    parts = [f"The census is incomplete: no report for {listed(census.missing)}."] if census.missing else []
    if census.reports and census.merged == len(census.reports):
        parts.append(result_text(census))
    elif census.reports:
        parts.append(f"I have reports for {listed(tuple(census.reports))}, not merged.")
    return "\n".join(parts) or "There are no files to count."


def result_text(census: Census) -> str:
    """The merged numbers in words, and the JSON itself on the last line."""
    merged = read_object(census.result)
    words = merged.get("words") if merged else None
    if merged is None or not isinstance(words, dict):
        return f"The reports could not be merged: {census.result}"
    where = "The files counted are" if census.missing else "The folder has"
    frequent = ", ".join(f"{word} {count}" for word, count in words.items())
    files = f"{where} {merged.get('files')} files with {merged.get('lines')} lines."
    return f"{files} The most frequent words are: {frequent}.\n{census.result}"


def listed(shards: tuple[Shard, ...]) -> str:
    """Shards in words."""
    return ", ".join(map(str, shards))
