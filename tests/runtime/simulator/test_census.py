"""The whole census as a play: a small runtime without clocks, the strict provider, real messages of the wire format."""

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amrita_fleet.runtime.simulator import openai_reply, openai_request
from amrita_fleet.runtime.simulator.library import shipped
from amrita_fleet.runtime.simulator.provider import SimulatedProvider

Json = dict[str, Any]
PARTS = {
    "plain": "You are a census worker.",
    "stuck": "You are a census worker. You are stuck.",
    "thorough": "You are a census worker. You are thorough.",
}
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

    def __init__(self, name: str, instructions: str, tools: tuple[str, ...]) -> None:
        self.name = name
        self.tools = tools
        self.messages: list[Json] = [{"role": "system", "content": instructions}]
        self.inbox: list[str] = []
        self.rounds = 0
        self.ended = False


class Play:
    """A lead and its workers; each turn is one request to the provider and the calls it answers with."""

    def __init__(self, model: str, total: int, parts: list[str]) -> None:
        self.model = model
        self.folder = Folder(total)
        self.provider = SimulatedProvider(shipped())
        self.parts = {f"w{number}": part for number, part in enumerate(parts, 1)}
        workers = [
            Player(name, PARTS[part], ("count_files", "count_lines", "top_words", "send_message"))
            for name, part in self.parts.items()
        ]
        lead = Player("lead", "You lead a census.", ("send_message", "wait_for_messages", "merge_reports"))
        lead.inbox.append(
            f"Count the files under a folder of {total} files (numbers 0 to {total - 1}). "
            f"Your workers: {', '.join(self.parts)}."
        )
        self.players = {player.name: player for player in (lead, *workers)}

    def run(self) -> str:
        """Play until nobody has anything to read; the lead's last text."""
        for _ in range(1000):
            player = next((player for player in self.players.values() if player.inbox), None)
            if player is None:
                return str(self.players["lead"].messages[-1]["content"])
            self.turn(player)
        raise AssertionError("the play does not end")

    def turn(self, player: Player) -> None:
        """One run of an agent: it speaks and calls until it waits, answers, or is ended."""
        player.messages.append({"role": "user", "content": "\n\n".join(player.inbox)})
        player.inbox.clear()
        player.rounds = 0
        while calls := self.speak(player, player.tools):
            for call in calls:
                output = self.perform(player, call["function"]["name"], json.loads(call["function"]["arguments"]))
                player.messages.append({"role": "tool", "tool_call_id": call["id"], "content": output})
            if any(call["function"]["name"] == "wait_for_messages" for call in calls):
                return
            player.rounds += 1
            if player.rounds == ROUNDS and self.parts.get(player.name, "plain") != "plain":
                self.end(player)
                return

    def speak(self, player: Player, tools: tuple[str, ...]) -> list[Json]:
        """One request; its reply joins the history as the wire gave it."""
        body: Json = {"model": self.model, "messages": player.messages}
        if tools:
            body["tools"] = [{"type": "function", "function": {"name": name}} for name in tools]
        admission = self.provider.admit(self.provider.count(), "")
        speech = self.provider.answer(openai_request.read_request(body), admission, json.dumps(body))
        whole: Any = openai_reply.completion(speech, created=0)
        message: Json = whole["choices"][0]["message"]
        player.messages.append(message)
        return list(message.get("tool_calls", []))

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
        player.messages.append({"role": "user", "content": "Give your final answer."})
        assert self.speak(player, ()) == []
        outcome = "stalled (5 identical calls)." if self.parts[player.name] == "stuck" else "limit:tokens"
        self.players["lead"].inbox.append(f"[Note from the runtime]\n{player.name} ended its run: {outcome}")


@pytest.mark.parametrize("model", ["simulated-census", "simulated-census-thinking"])
@settings(max_examples=25, deadline=None)
@given(total=st.integers(1, 60), parts=st.lists(st.sampled_from(sorted(PARTS)), max_size=5), healthy=st.integers(0, 5))
def test_the_lead_tells_what_a_direct_count_tells_whoever_is_lost(
    model: str, total: int, parts: list[str], healthy: int
) -> None:
    # One worker at least is healthy.
    play = Play(model, total, [*parts[:healthy], "plain", *parts[healthy:]])
    text, _, merged = play.run().rpartition("\n")
    assert merged == play.folder.direct()
    assert text.startswith(f"The folder has {total} files with ")


def test_the_last_words_of_lost_workers_are_true() -> None:
    play = Play("simulated-census", 40, ["plain", "stuck", "thorough"])
    play.run()
    assert play.players["w1"].messages[-1]["content"] == "Reported files 26 to 39 to lead."
    assert play.players["w2"].messages[-1]["content"] == "I kept counting the same files and could not finish."
    assert play.players["w3"].messages[-1]["content"] == "I could not finish files 26 to 39: they are not reported."
