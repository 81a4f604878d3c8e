"""Texts that others wrote steer no terminal, whichever command prints them; as JSON they still say the same."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.protocols.ids import AgentId, RunId
from amrita_fleet.protocols.messages import Json
from amrita_fleet.protocols.notices import Notice, NoticeType
from amrita_fleet.runtime.cli.app import run_command
from amrita_fleet.runtime.cli.status import Status
from amrita_fleet.runtime.cli.visible import STEERING, harmless, harmless_json, visible
from amrita_fleet.runtime.gateway.recording import Recording

from .owned import owned, typed

STEERERS = ("\x1b[2J", "\x1b]0;owned\x07", "\x9b31m", "\r", "\x08", "\x00", "\x7f", "\u202e", "\u2066", "\u2028")
"""What clears a screen, names a window, colours, goes back over what stands there, or turns its order about."""

SEEN = (r"\x1b[2J", r"\x1b]0;owned\x07", r"\x9b31m", r"\r", r"\x08", r"\x00", r"\x7f", r"\u202e", r"\u2066", r"\u2028")
"""How each is seen instead."""

PAIRS = tuple(zip(STEERERS, SEEN, strict=True))

TYPED = tuple(each for each in STEERERS if each != "\0")
"""What an argument of a command can hold."""

ANY = st.characters(exclude_categories=())
"""Halves of surrogate pairs as well."""

EVIL = "".join(STEERERS)


def bare(text: str) -> bool:
    """Whether nothing in a text steers."""
    return STEERING.search(text) is None


@given(st.text(ANY))
def test_every_text_is_harmless_afterwards_and_loses_no_line(text: str) -> None:
    shown = harmless(text)
    assert bare(shown)
    assert shown.count("\n") == text.count("\n")
    assert harmless(shown) == shown
    shown.encode()  # half a surrogate pair would have no bytes


@given(st.text(ANY))
def test_of_a_text_that_is_decided_about_every_character_is_seen(text: str) -> None:
    assert visible(text).isprintable()


@given(st.dictionaries(st.text(ANY), st.lists(st.text(ANY) | st.integers() | st.none())))
def test_harmless_json_decodes_to_the_same_value(value: dict[str, object]) -> None:
    line = harmless_json(json.dumps(value, ensure_ascii=False))
    assert bare(line)
    assert json.loads(line) == value


def test_texts_of_other_scripts_stay_as_they_are() -> None:
    text = "Zoë, 東京, עברית, 😀\tand a tab\nand a line"
    assert harmless(text) == text
    assert harmless("one\r\ntwo") == "one\ntwo"


@pytest.mark.parametrize(("steerer", "seen"), PAIRS)
def test_a_recording_that_is_replayed_steers_nothing(
    steerer: str, seen: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = f"x{steerer}y"
    file = tmp_path / "evil.jsonl"
    run = RunId("a.1.1")
    finished: dict[str, Json] = {"outcome": evil, "text": evil, "reason": evil, "tokens": 1, "rounds": 1}
    notices = (
        Notice(NoticeType.AGENT, "died", AgentId(evil), evil, None, 1, {"restarts": 0}, 1, 1.0),
        Notice(NoticeType.RUN, "finished", AgentId(evil), evil, run, 1, finished, 2, 2.0),
    )
    Recording(evil, notices).write(file)
    assert run_command(["replay", str(file)]) == Status.OK
    told = capsys.readouterr()
    assert bare(told.out + told.err)
    assert f"fleet x{seen}y: 1 agent" in told.out


@pytest.mark.parametrize("steerer", TYPED)
@pytest.mark.parametrize(
    "typed",
    [["{}"], ["ps", "--{}"], ["top", "--sort", "{}"], ["explain", "{}"], ["replay", "{}"], ["check", "{}"]],
    ids=" ".join,
)
def test_a_sentence_that_quotes_what_was_typed_steers_nothing(
    typed: list[str], steerer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command([word.format(f"x{steerer}y") for word in typed]) == Status.BAD_INPUT
    told = capsys.readouterr()
    assert bare(told.out + told.err)
    assert told.err.startswith("amrita-fleet: ") or "x" in told.err


@pytest.mark.parametrize("steerer", TYPED)
def test_an_error_as_json_says_the_same(steerer: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = f"no{steerer}.yaml"
    assert run_command(["check", file, "--json"]) == Status.BAD_INPUT
    told = capsys.readouterr()
    assert bare(told.out + told.err)
    assert json.loads(told.out)["problems"][0]["path"] == file


def test_a_fleet_file_that_is_shown_steers_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "evil.yaml"
    evil = r'"x\e]0;owned\a\u202Ey"'
    file.write_text(
        f"presets: {{p: {{protocol: scripted, model: {evil}, extra_body: {{script: [{{say: hi}}]}}}}}}\n"
        f"agents: {{ana: {{preset: p, instructions: {evil}}}}}\n"
        f"tasks: [{{agent: ana, task: {evil}}}]\n"
    )
    run_command(["check", str(file)])
    told = capsys.readouterr()
    assert bare(told.out + told.err)
    assert r"x\x1b]0;owned\x07\u202ey" in told.out
    run_command(["check", str(file), "--json"])
    shown = capsys.readouterr()
    assert bare(shown.out)
    assert json.loads(shown.out)["tasks"][0]["task"] == "x\x1b]0;owned\x07\u202ey"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A fleet whose models, tools, mail and people write what steers terminals."""
    with owned("hostile", EVIL.encode().hex()) as address:
        yield address


@pytest.mark.ray
@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ["ps", "--all"],
        ["top"],
        ["watch", "--after", "0", "--once"],
        ["show", "cat.1.1"],
        ["dead-letters"],
        ["approvals"],
    ],
    ids=" ".join,
)
def test_what_a_running_fleet_tells_steers_no_terminal(address: str, command: list[str]) -> None:
    table = typed(*command, RAY_ADDRESS=address)
    assert (table.returncode, table.stderr) == (Status.OK, "")
    assert bare(table.stdout)
    assert "1b[2J" in table.stdout  # as `\\x1b[2J`, or in JSON as `\\u001b[2J`
    listed = typed(*command, "--json", RAY_ADDRESS=address)
    assert (listed.returncode, listed.stderr) == (Status.OK, "")
    assert bare(listed.stdout)
    assert any(EVIL in text for line in listed.stdout.splitlines() for text in texts(json.loads(line)))


def texts(value: object) -> Iterator[str]:
    """All texts in JSON; those of calls are JSON themselves."""
    match value:
        case str():
            yield value
            if value.startswith("{"):
                yield from texts(json.loads(value))
        case dict():
            for each in cast("dict[str, object]", value).values():
                yield from texts(each)
        case list():
            for each in cast("list[object]", value):
                yield from texts(each)
        case _:
            pass
