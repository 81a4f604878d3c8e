"""What a fleet file describes, as `create_agent` and `Fleet` take it, and what is shipped for editors."""

import inspect
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from pydantic import BaseModel

from amrita_fleet import (
    Agent,
    Course,
    Deadlines,
    Fleet,
    FleetFile,
    JournalInvalid,
    Limits,
    McpHttp,
    McpStdio,
    ModelPreset,
    Price,
    RestartPolicy,
    Rung,
    Secret,
    SpawnPolicy,
    Stage,
    Trouble,
    WatchPolicy,
)
from amrita_fleet.protocols.providers.scripted import say, scripted
from amrita_fleet.runtime.fleet_file import schema
from amrita_fleet.runtime.fleet_file.json_schema import json_schema, shipped_schema, written_schema

from .written import ENVIRON, TOOLS, WHOLE, read

EVERYTHING = """\
fleet:
  name: survey
  limit: {tokens: 200000, dollars: 2}
  teams: {readers: 9000, others: null}
  journal: kept/survey.sqlite
  restarts: {intensity: 1, period: 30}
  watch:
    deadlines: {tool: 30}
    courses: {tool: {stages: [{rung: notify, seconds: 5}, {rung: cancel}]}}
    kills: 1
presets:
  cheap: &cheap
    model: qwen3
    base_url: http://127.0.0.1:9/v1
    api_key: {env: WRITTEN_KEY}
    price: {prompt: 1, output: 2.5, as_of: 2026-11-01}
    config: {max_tokens: 100}
    thinking_config: {content_mode: by-tool}
    extra_body: {top_k: 3}
  second: {<<: *cheap, model: other}
agents:
  lead:
    preset: cheap
    fallbacks: [second]
    instructions_file: lead.md
    tools: ["written_tools:word_count"]
    servers:
      - {name: files, command: cat, args: ["-"], env: {A: b, API_KEY: {env: WRITTEN_KEY}}}
      - {name: net, url: "http://127.0.0.1:9/mcp", tools: [find], approval: true}
    config: {function_config: {agent_tool_call_limit: 20}}
    limit: {tokens: 50000, on_exhaustion: ask}
    memory: run
    run_timeout: 60
    plan: auto
    hooks: ["written_tools:Careful"]
    strategy: amrita_fleet.runtime.step.strategies:BuiltinStrategy
    spawns: {kinds: {reader: reader}, live: 2}
    restart: temporary
  reader: {preset: cheap, count: 0, description: It reads.}
  bob: {preset: second, count: 3, team: readers, parent: lead, limit: 10000}
tasks:
  - {agent: bob-2, task: Count., time_limit: 5, limit: 100}
  - {agent: lead, task: Compare.}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with all that the file names."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "written_tools", raising=False)
    (tmp_path / "written_tools.py").write_text(TOOLS)
    (tmp_path / "lead.md").write_text("You lead.")
    (tmp_path / "fleet.yaml").write_text(EVERYTHING)
    return tmp_path


def test_every_key_reaches_what_it_is_for(folder: Path) -> None:
    file = FleetFile.read(folder / "fleet.yaml", environ=ENVIRON)
    cheap = ModelPreset.parse(
        {
            "model": "qwen3",
            "base_url": "http://127.0.0.1:9/v1",
            "api_key": Secret.from_env("WRITTEN_KEY"),
            "price": Price(prompt=1, output=2.5, as_of="2026-11-01"),
            "config": {"max_tokens": 100},
            "thinking_config": {"content_mode": "by-tool"},
            "extra_body": {"top_k": 3},
        }
    )
    assert file.presets["cheap"] == cheap
    assert file.presets["second"].model == "other"
    reader, lead, bob = (next(each for each in file.seats if each.entry == name) for name in ("reader", "lead", "bob"))
    agent = lead.agent
    assert (agent.preset, agent.fallbacks) == (cheap, (file.presets["second"],))
    assert (agent.instructions, agent.memory, agent.run_timeout, agent.plan) == ("You lead.", "run", 60, "auto")
    assert [tool.name for tool in agent.tools] == ["word_count"]
    assert [type(hook).__name__ for hook in agent.hooks] == ["Careful"]
    assert agent.servers == (
        McpStdio("files", "cat", ["-"], env={"A": "b", "API_KEY": Secret.from_env("WRITTEN_KEY")}),
        McpHttp("net", "http://127.0.0.1:9/mcp", tools=["find"], approval=True),
    )
    assert agent.config.function_config.agent_tool_call_limit == 20
    assert agent.limit == Limits(tokens=50000, on_exhaustion="ask")
    assert agent.strategy == "amrita_fleet.runtime.step.strategies:BuiltinStrategy"
    assert (agent.restart, agent.spawns) == ("temporary", SpawnPolicy(kinds={"reader": reader.agent}, live=2))
    assert (reader.names, reader.agent.description) == ((), "It reads.")
    assert (bob.names, bob.team, bob.parent) == (("bob-1", "bob-2", "bob-3"), "readers", "lead")
    assert [(each.agent, each.task, each.time_limit, each.limit) for each in file.tasks] == [
        ("bob-2", "Count.", 5, Limits(tokens=100)),
        ("lead", "Compare.", None, None),
    ]
    assert (file.name, file.limit) == ("survey", Limits(tokens=200000, dollars=2))
    assert (file.teams, file.journal) == (
        {"readers": Limits(tokens=9000), "others": None},
        str(folder / "kept" / "survey.sqlite"),
    )
    assert file.restarts == RestartPolicy(intensity=1, period=30)
    stages = (Stage(Rung.NOTIFY, 5), Stage(Rung.CANCEL))
    courses = {Trouble.TOOL: Course(stages)}
    assert file.watch == WatchPolicy(deadlines=Deadlines(tool=30), courses=courses, kills=1)


def test_what_is_left_out_is_as_the_python_api_has_it() -> None:
    (seats,) = read(WHOLE).seats
    preset = ModelPreset(model="qwen3", base_url="http://127.0.0.1:9/v1", api_key=Secret.from_env("WRITTEN_KEY"))
    assert seats.agent == Agent(preset=preset)
    assert seats.names == ("ana",)


def test_the_key_is_nowhere_in_what_was_read() -> None:
    assert ENVIRON["WRITTEN_KEY"] not in repr(read(WHOLE))


NONE = frozenset[str]()


def names(kind: type) -> set[str]:
    """The arguments of a class or a function."""
    return set(inspect.signature(kind).parameters)


@pytest.mark.parametrize(
    ("entry", "same", "more", "less"),
    [
        (schema.PresetEntry, names(ModelPreset), NONE, NONE),
        (
            schema.AgentEntry,
            {each.name for each in fields(Agent)},
            frozenset({"count", "instructions_file", "team", "parent"}),
            NONE,
        ),
        (schema.SpawnsEntry, names(SpawnPolicy), NONE, NONE),
        (schema.StdioServerEntry, names(McpStdio), NONE, NONE),
        (schema.HttpServerEntry, names(McpHttp), NONE, NONE),
        (schema.WatchEntry, names(WatchPolicy), NONE, NONE),
        (schema.FleetEntry, names(Fleet), NONE, frozenset({"system", "address", "service"})),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_keys_have_the_names_of_the_python_api(
    entry: type[BaseModel], same: set[str], more: frozenset[str], less: frozenset[str]
) -> None:
    assert set(entry.model_fields) == (same | more) - less


def test_the_deadlines_of_the_watch_are_all_there() -> None:
    assert json_schema()["$defs"]["DeadlinesEntry"]["properties"].keys() == {each.name for each in fields(Deadlines)}


def test_the_shipped_schema_is_that_of_the_models() -> None:
    assert shipped_schema() == written_schema(), "`make schema` writes it anew"


def test_every_key_of_the_schema_says_what_it_is() -> None:
    parts = {"": json_schema(), **json_schema()["$defs"]}
    silent = [
        f"{part}.{name}"
        for part, about in parts.items()
        for name, key in about.get("properties", {}).items()
        if not key.get("description") and part != "AmritaConfig"
    ]
    assert silent == []


def test_peers_are_agents_by_their_names_or_all_of_an_entry_but_the_agent_itself() -> None:
    more = (
        "  eve: {preset: cheap, count: 2, peers: [eve, zoe]}\n"
        "  zoe: {preset: cheap, peers: [eve-2, ana]}\n"
        "  ida: {preset: cheap, peers: []}\n"
    )
    found = {seats.entry: seats.agent.peers for seats in read(WHOLE.replace("tasks:", f"{more}tasks:")).seats}
    assert found["ana"] is None
    assert (found["eve"], found["zoe"]) == (("eve-1", "eve-2", "zoe"), ("eve-2", "ana"))
    assert found["ida"] == ()


@pytest.mark.anyio
async def test_its_agents_are_spawned_parents_first_and_its_tasks_are_started() -> None:
    text = WHOLE.replace("tasks:", "  eve: {preset: cheap, parent: zoe, count: 2}\n  zoe: {preset: cheap}\ntasks:")
    file = read(text)
    async with file.fleet(system="local") as fleet:
        agents = await file.spawn(fleet)
        assert sorted(agents) == ["ana", "eve-1", "eve-2", "zoe"] == sorted(file.agents)
        parents = {str(row.agent): row.parent for row in await fleet.statuses()}
        assert (parents["eve-1"], parents["zoe"]) == ("zoe", None)
        (run,) = await file.start(fleet)
        assert run.agent == "ana"


@pytest.mark.anyio
async def test_a_journal_that_the_environment_names_is_looked_up_when_the_fleet_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WRITTEN_KEY", str(tmp_path / "kept.sqlite"))
    file = read(f"fleet: {{name: kept, journal: {{env: WRITTEN_KEY}}}}\n{WHOLE}")
    assert file.journal == "env:WRITTEN_KEY"
    async with file.fleet(system="local") as fleet:
        await fleet.spawn(Agent(preset=scripted(say("hi"))), ["ana"])
    assert (tmp_path / "kept.sqlite").exists()


def test_a_journal_whose_variable_is_not_set_is_not_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WRITTEN_KEY", raising=False)
    file = read(f"fleet: {{name: kept, journal: {{env: WRITTEN_KEY}}}}\n{WHOLE}")
    with pytest.raises(JournalInvalid, match="WRITTEN_KEY is not set"):
        file.fleet(system="local")
