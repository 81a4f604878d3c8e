"""What can be wrong with a fleet file: each with its line and column, and all of it at once."""

import os
import re
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet import FleetFile, FleetFileInvalid
from amrita_fleet.runtime.fleet_file.json_schema import json_schema
from amrita_fleet.runtime.fleet_file.source import MOST_BYTES

from .written import ENVIRON, TOOLS, WHOLE, problems, read, refusal

PRESETS = 'presets:\n  cheap: {base_url: "http://127.0.0.1:9/v1", model: qwen3}\n'
ANA = f"{PRESETS}agents:\n  ana: {{preset: cheap}}\n"


def test_a_file_that_is_right_has_no_problems() -> None:
    assert problems(WHOLE) == []


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("  bob: {preset: chaep}", '5:17: agents.bob.preset: There is no preset "chaep". Did you mean "cheap"?'),
        ("  bob: {}", "5:3: agents.bob.preset: This must be given."),
        ("  bob:", "5:7: agents.bob: This must be a mapping, as in `key: value`, not nothing."),
        ("  bob: {preset: 3}", "5:17: agents.bob.preset: This must be a text, not 3: put it in quotes."),
        (
            "  bob: {preset: cheap, instrutions: x}",
            '5:24: agents.bob.instrutions: There is no key "instrutions" here. Did you mean "instructions"?',
        ),
        (
            "  bob: {preset: cheap, peers: [ana, anna]}",
            '5:37: agents.bob.peers[1]: There is no agent "anna". Did you mean "ana"?',
        ),
        (
            "  bob: {preset: cheap, peers: [bob]}",
            '5:32: agents.bob.peers[0]: "bob" is this agent itself, which writes to others only: leave it out.',
        ),
        (
            "  bob: {preset: cheap, peers: ana}",
            "5:31: agents.bob.peers: This must be a list",
        ),
        (
            "  bob: {preset: cheap, model: x}",
            '5:24: agents.bob.model: There is no key "model" here: it belongs to a preset: name that by `preset`.',
        ),
        (
            '  bob: {preset: cheap, limit: "50000"}',
            '5:31: agents.bob.limit: This must be a whole number, not the text "50000": leave out the quotes.',
        ),
        ("  bob: {preset: cheap, limit: 0}", "5:31: agents.bob.limit: This must be at least 1, not 0."),
        (
            "  bob: {preset: cheap, limit: {tokens: 0}}",
            "5:40: agents.bob.limit.tokens: This must be at least 1.",
        ),
        (
            "  bob: {preset: cheap, limit: {tokns: 5}}",
            '5:32: agents.bob.limit.tokns: There is no key "tokns" here. Did you mean "tokens"?',
        ),
        (
            "  bob: {preset: cheap, limit: {dollars: 1}}",
            "5:17: agents.bob.preset: Dollars are limited, and a preset of this agent has no price: add price: {",
        ),
        (
            "  bob: {preset: cheap, plan: alway}",
            '5:30: agents.bob.plan: There is no "alway" here. Did you mean "always"?',
        ),
        ("  bob: {preset: cheap, count: -1}", "5:31: agents.bob.count: This must be at least 0, not -1."),
        (
            "  ana-1: {preset: cheap}\n  bob: {preset: cheap, count: 2}\n  bob-2: {preset: cheap}",
            '7:3: agents.bob-2: An agent would be named "bob-2", and so would one of "bob": choose another name.',
        ),
        ("  user: {preset: cheap}", "5:3: agents.user: The runtime uses that name itself."),
        (
            "  b b: {preset: cheap}",
            "5:3: agents.b b: A name has 1 to 64 letters, digits, hyphens and underscores and begins with a letter",
        ),
        (
            "  bob: {preset: cheap, config: {llm: {max_retries: -1}}}",
            "5:52: agents.bob.config.llm.max_retries: This must be a whole number of at least 0, not -1.",
        ),
        (
            "  bob: {preset: cheap, parent: anna}",
            '5:32: agents.bob.parent: There is no agent "anna". Did you mean "ana"?',
        ),
        (
            "  bob: {preset: cheap, parent: eve}\n  eve: {preset: cheap, parent: bob}",
            "5:32: agents.bob.parent: This leads round in a circle: bob needs eve needs bob.",
        ),
        (
            "  bob: {preset: cheap, spawns: {kinds: {me: bob}}}",
            "5:32: agents.bob.spawns: This leads round in a circle: bob needs bob.",
        ),
        (
            "  bob: {preset: cheap, spawns: {kinds: {me: anna}}}",
            '5:45: agents.bob.spawns.kinds.me: There is no agent "anna". Did you mean "ana"?',
        ),
        (
            "  bob: {preset: cheap, strategy: os:nothing}",
            '5:34: agents.bob.strategy: The module os has no "nothing".',
        ),
        (
            "  bob: {preset: cheap, strategy: os:getcwd}",
            "5:34: agents.bob.strategy: Agent.strategy 'os:getcwd' lacks next_node, stalled",
        ),
        (
            "  bob: {preset: cheap, output: os:getcwd}",
            "5:32: agents.bob.output: Agent.output cannot be getcwd: it must be a class derived from pydantic.",
        ),
        (
            "  bob: {preset: cheap, team: red}",
            '5:30: agents.bob.team: There is no team "red" in fleet.teams. There is none.',
        ),
        (
            "  bob: {preset: cheap, servers: [{name: s, command: x, env: {API_TOKEN: sk-1}}]}",
            "5:73: agents.bob.servers[0].env.API_TOKEN: A key does not belong into a file that is shared: write {env: ",
        ),
        (
            "  bob: {preset: cheap, servers: [{name: s, url: nowhere}]}",
            "5:49: agents.bob.servers[0].url: This must be an address that begins with http:// or https://, not 'now",
        ),
        ("tasks:\n  - {agent: anna, task: x}", '6:13: tasks[0].agent: There is no agent "anna". Did you mean "ana"?'),
        (
            "  bob: {preset: cheap, count: 3}\ntasks:\n  - {agent: bob, task: x}",
            '7:13: tasks[0].agent: "bob" are 3 agents: name one of them, from bob-1 to bob-3.',
        ),
        (
            "  bob: {preset: cheap, count: 0}\ntasks:\n  - {agent: bob, task: x}",
            '7:13: tasks[0].agent: "bob" has count 0: it is only a kind that others spawn, and does not live by',
        ),
        ('tasks:\n  - {agent: ana, task: ""}', "6:24: tasks[0].task: This is empty: it must hold something."),
        (
            'tasks:\n  - {agent: ana, task: "  "}',
            "6:24: tasks[0].task: This run cannot be started: a task must say something, and this one is blank.",
        ),
        ("tasks: {agent: ana}", "5:8: tasks: This must be a list, as in `[one, two]`, not a mapping."),
        ("fleet: {service: true}", '5:9: fleet.service: There is no key "service" here: `run` ends its fleet: for'),
        ("fleet: {restarts: {intensity: -1}}", "5:31: fleet.restarts.intensity: This must be a whole number from 0"),
        (
            "fleet: {watch: {deadlines: {loop: -1}}}",
            "5:35: fleet.watch.deadlines.loop: Deadlines.loop=-1.0 cannot be used: it must be a number of seconds",
        ),
        (
            "fleet: {watch: {courses: {tol: {stages: []}}}}",
            '5:27: fleet.watch.courses.tol: There is no such key. Did you mean "tool"?',
        ),
        (
            'fleet: {journal: "postgresql://me:secret@host/db"}',
            "5:18: fleet.journal: A password does not belong into a file that is shared: write {env: NAME}",
        ),
        ("fleet: {journal: {env: NO_SUCH}}", "5:18: fleet.journal: The environment variable NO_SUCH is not set"),
        ("flet: {}", '5:1: flet: There is no key "flet" here. Did you mean "fleet"?'),
    ],
    ids=lambda text: text[:50],
)
def test_a_mistake_is_told_with_its_place_and_what_to_write(more: str, said: str) -> None:
    (told,) = problems(f"{ANA}{more}\n")
    assert told.startswith(said)


@pytest.mark.parametrize(
    ("preset", "said"),
    [
        ("{model: m}", "2:3: presets.cheap.base_url: This must begin with http:// or https://, not ''."),
        ("{model: m, base_url: x}", "2:31: presets.cheap.base_url: This must begin with http:// or https://, not 'x'."),
        (
            '{model: m, base_url: "http://h/v1", protocol: openia}',
            "2:56: presets.cheap.protocol: Undefined protocol adapter: openia. Did you mean 'openai'?",
        ),
        (
            '{model: m, base_url: "http://h/v1", api_key: {env: NO_SUCH}}',
            "2:55: presets.cheap.api_key: The environment variable NO_SUCH is not set: export NO_SUCH=...",
        ),
        (
            '{model: m, base_url: "http://h/v1", api_key: "env:NO_SUCH"}',
            "2:55: presets.cheap.api_key: The environment variable NO_SUCH is not set: export NO_SUCH=...",
        ),
        (
            '{model: m, base_url: "http://h/v1", extra_headers: {Authorization: Bearer sk}}',
            "2:77: presets.cheap.extra_headers.Authorization: A key does not belong into a file that is shared: leave",
        ),
        (
            '{model: m, base_url: "http://h/v1", profile: depseek}',
            "2:55: presets.cheap.profile: ",
        ),
        (
            '{model: m, base_url: "http://h/v1", price: {prompt: 1, output: 2, as_of: 2026-13-01}}',
            "2:83: presets.cheap.price.as_of: This must be the day of the price, as in '2026-11-01', not '2026-13-01'.",
        ),
        (
            '{model: m, base_url: "http://h/v1", config: {temperture: 1}}',
            '2:55: presets.cheap.config.temperture: There is no key "temperture" here. Did you mean "temperature"?',
        ),
    ],
)
def test_a_preset_that_cannot_work_is_told_with_its_place(preset: str, said: str) -> None:
    (told,) = problems(f"presets:\n  cheap: {preset}\nagents:\n  ana: {{preset: cheap}}\n")
    assert told.startswith(said)


@pytest.mark.parametrize("key", ["sk-planted-4711", "{key: sk-planted-4711}", "[sk-planted-4711]"])
def test_a_key_in_plain_text_is_refused_and_not_shown(key: str) -> None:
    text = ANA.replace("model: qwen3", f"model: qwen3, api_key: {key}")
    assert problems(text)
    assert "4711" not in " ".join(problems(text))


def test_a_variable_that_only_an_unused_preset_needs_may_be_missing() -> None:
    spare = '  spare: {base_url: "http://127.0.0.1:9/v1", model: m, api_key: {env: NO_SUCH}}\n'
    assert problems(ANA.replace("agents:", f"{spare}agents:")) == []
    (told,) = problems(ANA.replace("agents:", f"{spare}agents:") + "  bob: {preset: cheap, fallbacks: [spare]}\n")
    assert told.startswith("3:65: presets.spare.api_key: The environment variable NO_SUCH is not set")


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("written_tools:word_cout", 'The module written_tools has no "word_cout". Did you mean word_count?'),
        ("written_tols:word_count", 'There is no module "written_tols" in the folder of the file, nor elsewhere'),
        ("written_tools.deep:x", 'There is no module "written_tools.deep" in the folder of the file'),
        ("written_tools:plain", "written_tools:plain is no tool, it is a function without @tool: put @tool above it."),
        ("written_tools:Careful", "written_tools:Careful is no tool, it is of type "),
        ("word_count", 'This must be an import path, as in mytools:word_count, not "word_count".'),
        ("written_broken:x", "The module written_broken cannot be imported: ZeroDivisionError: division by zero."),
        ("written_exits:x", "The module written_exits cannot be imported: SystemExit: 3."),
        ("written_cancelled:x", "The module written_cancelled cannot be imported: CancelledError."),
        ("written_mute:x", "The module written_mute cannot be imported: Mute: (its message cannot be shown)."),
        ("written_lacks:x", "The module written_lacks cannot be imported: ModuleNotFoundError: No module named 'no_"),
    ],
)
def test_a_tool_that_cannot_be_had_is_told_with_module_and_name(
    path: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name, text in {
        "tools": TOOLS,
        "broken": "1 / 0",
        "exits": "raise SystemExit(3)",
        "cancelled": "import asyncio\nraise asyncio.CancelledError",
        "mute": "class Mute(Exception):\n    def __str__(self): raise ValueError\nraise Mute",
        "lacks": "import no_such_module",
    }.items():
        (tmp_path / f"written_{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, f"written_{name}", raising=False)
    file = tmp_path / "fleet.yaml"
    file.write_text(f'{PRESETS}agents:\n  ana: {{preset: cheap, tools: ["written_tools:word_count", "{path}"]}}\n')
    with pytest.raises(FleetFileInvalid) as caught:
        FleetFile.read(file, environ=ENVIRON)
    (problem,) = caught.value.problems
    assert (problem.line, problem.column, problem.where) == (4, 60, "agents.ana.tools[1]")
    assert problem.text.startswith(said)
    for name in ("tools", "broken", "exits", "lacks"):
        sys.modules.pop(f"written_{name}", None)


def test_hooks_that_cannot_be_made_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "written_hooks.py").write_text(TOOLS)
    file = tmp_path / "fleet.yaml"
    file.write_text(
        f'{PRESETS}agents:\n  ana: {{preset: cheap, hooks: ["written_hooks:Broken", "written_hooks:plain"]}}\n'
    )
    with pytest.raises(FleetFileInvalid) as caught:
        FleetFile.read(file)
    assert [each.text for each in caught.value.problems] == [
        "written_hooks:Broken() fails: RuntimeError: no luck.",
        "written_hooks:plain is no Hooks, it is of type function.",
    ]


def test_all_that_is_wrong_is_told_at_once_in_the_order_of_the_file() -> None:
    text = """\
fleet: {limit: 0, name: a/b}
presets:
  cheap: {base_url: h, api_key: sk-1}
  cheap: {}
agents:
  ana: {preset: chaep, tools: ["no_such_module:a", "b"], plan: maybe, count: "3"}
  on: {}
tasks:
  - {agent: anna, task: 3}
"""
    told = [" ".join(each.split()[:2]) for each in problems(text)]
    assert told == [
        "1:16: fleet.limit:",
        "1:25: fleet.name:",
        "3:3: presets.cheap.model:",
        "3:21: presets.cheap.base_url:",
        "3:33: presets.cheap.api_key:",
        "4:3: presets.cheap:",
        "6:17: agents.ana.preset:",
        "6:32: agents.ana.tools[0]:",
        "6:52: agents.ana.tools[1]:",
        "6:64: agents.ana.plan:",
        "6:78: agents.ana.count:",
        "7:3: agents:",
        "9:13: tasks[0].agent:",
        "9:25: tasks[0].task:",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "1:1: The file is empty: it needs agents, and presets that name their models."),
        ("# nothing\n", "1:1: The file is empty: it needs agents, and presets that name their models."),
        ("~", "1:1: The file is empty: it needs agents, and presets that name their models."),
        ("- a\n", "1:1: This must be a mapping, as in `key: value`, not a list."),
        ("presets: {}\n", "1:1: agents: This must be given."),
        ("agents: {}\n", "1:9: agents: This is empty: it must hold something."),
        (b"a: 1\nb: \xff\n", "2:4: The byte 0xff is not UTF-8: save the file as UTF-8."),
        (b"a" * (MOST_BYTES + 1), " The file has more than 1,048,576 bytes: put long texts into files of their own."),
    ],
    ids=["empty", "a comment", "null", "a list", "no agents", "no agent", "not UTF-8", "huge"],
)
def test_a_file_that_describes_nothing_is_told(text: str | bytes, said: str) -> None:
    assert problems(text) == [said]


def test_a_folder_and_a_file_that_is_not_there_are_told(tmp_path: Path) -> None:
    for path, said in ((tmp_path, "This is a folder: name the file in it."), (tmp_path / "no.yaml", "No such file")):
        with pytest.raises(FleetFileInvalid, match=f"^{re.escape(str(path))}: .*{said}") as caught:
            FleetFile.read(path)
        assert caught.value.problems[0].line is None


def test_a_pipe_is_no_file_and_nobody_waits_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    with pytest.raises(FleetFileInvalid, match="This is no plain file"):
        FleetFile.read(tmp_path / "pipe.yaml")


def keys() -> list[str]:
    """Every key that stands somewhere in a fleet file."""
    found = {name for part in json_schema()["$defs"].values() for name in part.get("properties", {})}
    return sorted({*found, *json_schema()["properties"], "ana", "cheap", "<<"})


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["ana", "cheap", "env:X"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(keys()), inner, max_size=4),
    max_leaves=25,
)
CUTS = st.tuples(st.integers(0, len(WHOLE)), st.integers(0, 12), st.text("{}[]:,&*!-'\"\n\t abc\x00\u2028", max_size=4))


@given(
    VALUES.map(lambda data: yaml.safe_dump(data, allow_unicode=True))
    | st.text()
    | CUTS.map(lambda cut: WHOLE[: cut[0]] + cut[2] + WHOLE[cut[0] + cut[1] :])
)
def test_any_text_is_a_fleet_or_is_refused_with_places_inside_of_it(text: str) -> None:
    lines = re.split("\r\n|[\n\r\x85\u2028\u2029]", text.encode(errors="replace").decode())
    found = refusal(text.encode(errors="replace"))
    if not found:
        assert len(read(text).seats) == len(yaml.safe_load(text)["agents"])
    for problem in found:
        assert problem.line and problem.column
        assert 1 <= problem.line <= len(lines)
        assert 1 <= problem.column <= len(lines[problem.line - 1]) + 1


def test_a_thousand_agents_with_a_wrong_key_are_told_of_each() -> None:
    lines = "".join(f"  a{number}: {{preset: cheap, nope: 1}}\n" for number in range(1_000))
    assert len(problems(f"{PRESETS}agents:\n{lines}")) == 1_000
