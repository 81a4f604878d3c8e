"""The whole census as a play: a small runtime without clocks, the strict provider, messages of both wire formats."""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.runtime.simulator.library import shipped
from amrita_fleet.runtime.simulator.provider import SimulatedProvider

pytestmark = pytest.mark.slow

Json = dict[str, Any]
PARTS = {
    "plain": "You are a census worker.",
    "stuck": "You are a census worker. You are stuck.",
    "thorough": "You are a census worker. You are thorough.",
}
LEAD_TOOLS = ("send_message", "wait_for_messages", "merge_reports")
WORKER_TOOLS = ("count_files", "count_lines", "top_words", "send_message")
ROUNDS = 6
"""Rounds after which the play ends the run of a stuck or thorough worker, as a stall or a limit would."""


class Folder:
    """The tools of the census on an invented folder, word counts kept aside under a reference."""

    def __init__(self, total: int) -> None:
        self.files = [f"file {number % 7} of the folder\n" * (number % 3 + 1) for number in range(total)]
        self.kept: dict[str, Counter[str]] = {}

    def words(self, first: int, last: int) -> Counter[str]:
        return Counter(" ".join(self.files[first : last + 1]).split())

    def lines(self, first: int, last: int) -> int:
        return sum(text.count("\n") for text in self.files[first : last + 1])

    def count_files(self, first: int, last: int) -> str:
        return json.dumps({"first": first, "last": last, "files": len(self.files[first : last + 1])})

    def count_lines(self, first: int, last: int) -> str:
        return json.dumps({"first": first, "last": last, "lines": self.lines(first, last)})

    def top_words(self, first: int, last: int) -> str:
        ref = f"words-{first}-{last}"
        self.kept[ref] = self.words(first, last)
        top = dict(self.kept[ref].most_common(10))
        return json.dumps({"first": first, "last": last, "words": top, "ref": ref})

    def merge_reports(self, reports: list[str]) -> str:
        read = [json.loads(report) for report in reports]
        words: Counter[str] = Counter()
        for report in read:
            words.update(self.kept[report["ref"]])
        return self.shown(sum(r["files"] for r in read), sum(r["lines"] for r in read), words)

    def direct(self) -> str:
        last = len(self.files) - 1
        return self.shown(len(self.files), self.lines(0, last), self.words(0, last))

    @staticmethod
    def shown(files: int, lines: int, words: Counter[str]) -> str:
        top = sorted(words.items(), key=lambda item: (-item[1], item[0]))[:10]
        return json.dumps({"files": files, "lines": lines, "words": dict(top)})


class Player:
    """One agent of the play."""

    def __init__(self, name: str, dialogue: Any) -> None:  # noqa: ANN401  one of two classes
        self.name = name
        self.dialogue = dialogue
        self.last = ""
        self.inbox: list[str] = []
        self.rounds = 0
        self.ended = False


class Play:
    """A lead and its workers; each turn is one request to the provider and the calls it answers with."""

    def __init__(self, dialogue_of: Callable[..., Any], model: str, total: int, parts: list[str]) -> None:
        self.folder = Folder(total)
        self.provider = SimulatedProvider(shipped())
        self.parts = {f"w{number}": part for number, part in enumerate(parts, 1)}
        roles: dict[str, tuple[str, tuple[str, ...]]] = {
            name: (PARTS[part], WORKER_TOOLS) for name, part in self.parts.items()
        }
        roles = {"lead": ("You lead a census.", LEAD_TOOLS), **roles}
        self.players: dict[str, Player] = {}
        for name, (instructions, tools) in roles.items():
            self.players[name] = Player(name, dialogue_of(model, tools))
            self.players[name].dialogue.instruct(instructions)
        self.players["lead"].inbox.append(
            f"Count the files under a folder of {total} files (numbers 0 to {total - 1}). "
            f"Your workers: {', '.join(self.parts)}."
        )

    def run(self) -> str:
        """Play until nobody has anything to read; the lead's last text."""
        for _ in range(1000):
            player = next((player for player in self.players.values() if player.inbox), None)
            if player is None:
                return self.players["lead"].last
            self.turn(player)
        raise AssertionError("the play does not end")

    def turn(self, player: Player) -> None:
        """One run of an agent: it speaks and calls until it waits, answers, or is ended."""
        player.dialogue.say("\n\n".join(player.inbox))
        player.inbox.clear()
        player.rounds = 0
        while calls := self.speak(player):
            player.dialogue.give({key: self.perform(player, tool, arguments) for key, tool, arguments in calls})
            if any(tool == "wait_for_messages" for _, tool, _ in calls):
                return
            player.rounds += 1
            if player.rounds == ROUNDS and self.parts.get(player.name, "plain") != "plain":
                self.end(player)
                return

    def speak(self, player: Player) -> list[tuple[str, str, Json]]:
        """One request; its reply joins the history as the wire gave it."""
        wire, body = player.dialogue.wire, player.dialogue.body()
        admission = self.provider.admit(self.provider.count(), "", wire.words)
        speech = self.provider.answer(wire.read(body), admission, json.dumps(body))
        facts = player.dialogue.hear(wire.whole(speech, 0, {}))
        player.last = facts["text"]
        calls: list[tuple[str, str, Json]] = facts["calls"]
        return calls

    def perform(self, player: Player, tool: str, arguments: Json) -> str:
        """One call."""
        if tool == "send_message":
            if self.players[arguments["to"]].ended:
                return f"ERROR: The channel of {arguments['to']!r} is closed."
            self.players[arguments["to"]].inbox.append(f"[Message m-1 from {player.name}]\n{arguments['body']}")
            return "Accepted."
        if tool == "wait_for_messages":
            return "What comes stands in your next message."
        return str(getattr(self.folder, tool)(**arguments))

    def end(self, player: Player) -> None:
        """End a worker's run with a last answer, and tell the lead."""
        player.ended = True
        player.dialogue.say("Give your final answer.")
        player.dialogue.tools = ()
        assert self.speak(player) == []
        outcome = "stalled (5 identical calls)." if self.parts[player.name] == "stuck" else "limit:tokens"
        self.players["lead"].inbox.append(f"[Note from the runtime]\n{player.name} ended its run: {outcome}")


@pytest.mark.parametrize(
    "model", ["simulated-census", pytest.param("simulated-census-thinking", marks=pytest.mark.slow)]
)
@given(total=st.integers(1, 60), parts=st.lists(st.sampled_from(sorted(PARTS)), max_size=5), healthy=st.integers(0, 5))
def test_the_lead_tells_what_a_direct_count_tells_whoever_is_lost(
    dialogue_of: Callable[..., Any], model: str, total: int, parts: list[str], healthy: int
) -> None:
    # One worker at least is healthy.
    play = Play(dialogue_of, model, total, [*parts[:healthy], "plain", *parts[healthy:]])
    text, _, merged = play.run().rpartition("\n")
    assert merged == play.folder.direct()
    assert text.startswith(f"The folder has {total} files with ")


def test_the_last_words_of_lost_workers_are_true(dialogue_of: Callable[..., Any]) -> None:
    play = Play(dialogue_of, "simulated-census", 40, ["plain", "stuck", "thorough"])
    play.run()
    assert play.players["w1"].last == "Reported files 26 to 39 to lead."
    assert play.players["w2"].last == "I kept counting the same files and could not finish."
    assert play.players["w3"].last == "I could not finish files 26 to 39: they are not reported."
