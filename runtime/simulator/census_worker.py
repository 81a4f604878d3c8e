"""The workers of the census demo: a plain one, a thorough one that takes too long, and one that is stuck.

All a worker knows it reads from the conversation; nothing is remembered between two requests.
"""

import json
from dataclasses import dataclass, field
from typing import Self

from ...protocols.messages import Json
from .census_shards import Shard, failed, read_object, split
from .conversation import Answer, Call, Conversation, Done, Said
from .letters import letters

__all__ = ("stuck", "thorough", "worker")

COUNTS = ("count_files", "count_lines", "top_words")
TENTHS = 10
NO_ORDER = "I count for a census. Send me a range, as in: Please take files 0 to 9 of the census."


@dataclass
class Desk:
    """What a worker knows of its work.

    Attributes:
        orders: Who asked for each shard, oldest first.
        reported: Shards whose report was sent, oldest first.
        outputs: What each tool said of each shard.
    """

    orders: dict[Shard, str] = field(default_factory=dict[Shard, str])
    reported: list[Shard] = field(default_factory=list[Shard])
    outputs: dict[tuple[str, Shard], dict[str, Json]] = field(default_factory=dict[tuple[str, Shard], dict[str, Json]])

    @classmethod
    def read(cls, conversation: Conversation) -> Self:
        """The work as the conversation tells it."""
        desk = cls()
        for event in conversation.events():
            match event:
                case Said():
                    desk.take(event)
                case Done():
                    desk.note(event)
        return desk

    def take(self, said: Said) -> None:
        """Take in the orders of a user message. Who asks for a shard again wants it counted again."""
        for letter in letters(said.content):
            if shard := Shard.find(letter.body):
                self.orders[shard] = letter.sender
                self.reported = [other for other in self.reported if other != shard]
                self.outputs = {key: output for key, output in self.outputs.items() if key[1] != shard}

    def note(self, done: Done) -> None:
        """Take in a count, or that a report was sent. A call that failed leaves no trace, so it is made again."""
        match done.call:
            case Call("send_message", {"body": str(body)}) if not failed(done.output):
                self.reported += [shard for shard in self.orders if body.startswith(heading(shard))]
            case Call(name, {"first": int(first), "last": int(last)}):
                if (output := read_object(done.output)) is not None:
                    self.outputs[name, Shard(first, last)] = output
            case _:
                pass

    @property
    def current(self) -> Shard | None:
        """The oldest shard that is not reported."""
        return next((shard for shard in self.orders if shard not in self.reported), None)

    def uncounted(self, shard: Shard) -> tuple[Call, ...]:
        """The counts that a report still lacks."""
        return tuple(count(name, shard) for name in COUNTS if (name, shard) not in self.outputs)

    def report(self, shard: Shard) -> Call:
        """The message that reports a shard: the tools' outputs, unchanged, in one object."""
        merged = {key: value for name in COUNTS for key, value in self.outputs[name, shard].items()}
        return Call(
            "send_message",
            {"to": self.orders[shard], "body": f"{heading(shard)} {json.dumps(merged, ensure_ascii=False)}"},
        )


def worker(conversation: Conversation) -> Answer:
    """What a plain worker says next: three counts at once, then the report, then a last word."""
    desk = Desk.read(conversation)
    shard = desk.current
    if shard is None:
        return Answer(
            f"Reported {desk.reported[-1]} to {desk.orders[desk.reported[-1]]}." if desk.reported else NO_ORDER
        )
    if not conversation.tools:
        return Answer(f"I could not finish {shard}: they are not reported.")
    return Answer(calls=desk.uncounted(shard) or (desk.report(shard),))


def thorough(conversation: Conversation) -> Answer:
    """As a plain worker, but first it counts the files of each tenth of its range, one after another."""
    desk = Desk.read(conversation)
    if desk.current and conversation.tools:
        tenths = split(desk.current, TENTHS)
        after = next((tenth for tenth in tenths if ("count_files", tenth) not in desk.outputs), None)
        if after:
            return Answer(calls=(count("count_files", after),))
    return worker(conversation)


def stuck(conversation: Conversation) -> Answer:
    """The same count again and again, for ever."""
    shard = Desk.read(conversation).current
    if shard and conversation.tools:
        return Answer(calls=(count("count_files", shard),))
    return Answer("I kept counting the same files and could not finish." if shard else NO_ORDER)


def count(tool: str, shard: Shard) -> Call:
    """A call of one of the counting tools."""
    return Call(tool, {"first": shard.first, "last": shard.last})


def heading(shard: Shard) -> str:
    """What the report of a shard begins with."""
    return f"Report for {shard}:"
