"""What an agent's description takes, and what it refuses when it is made."""

import pickle
import socket
from collections.abc import Callable

import pytest

from amrita_fleet import (
    Agent,
    AmritaConfig,
    BuiltinStrategy,
    Fleet,
    Hooks,
    LLMConfig,
    PresetInvalid,
    TokenLimit,
    ToolInvalid,
    create_agent,
    tool,
)
from amrita_fleet.protocols.notices import NoticeType
from amrita_fleet.protocols.providers.scripted import say, scripted
from amrita_fleet.runtime.hook_chain import HookChain

PRESET = scripted(say("x"))


async def send_message(to: str) -> str:
    """A name that the runtime uses."""
    return to


async def look(place: str) -> str:
    """A plain function."""
    return place


class Careful(Hooks):
    """A hook that is not in a list."""


def test_people_may_write_lists_functions_and_numbers() -> None:
    agent = Agent(preset=PRESET, tools=[look], fallbacks=[PRESET], limit=500)  # type: ignore[arg-type]
    assert ([each.name for each in agent.tools], agent.fallbacks, agent.limit) == (
        ["look"],
        (PRESET,),
        TokenLimit(tokens=500),
    )


def test_the_configuration_may_be_plain_data() -> None:
    agent = create_agent(preset=PRESET, config={"llm": {"max_retries": 2}})
    assert agent.config == AmritaConfig(llm=LLMConfig(max_retries=2))
    with pytest.raises(PresetInvalid, match="AmritaConfig has no field 'lm': did you mean 'llm'"):
        create_agent(preset=PRESET, config={"lm": {}})


class Misspelt(Hooks):
    def before_tol(self, call: object) -> None:
        """Guards nothing."""


class Short(Hooks):
    def before_tool(self) -> None:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        """Takes nothing."""


class Long(Hooks):
    def after_tool(self, result: object, more: object) -> None:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        """Takes too much."""


class Plain(Hooks):
    on_limit = 3  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]


@pytest.mark.parametrize(
    ("hook", "sentence"),
    [
        (Misspelt(), "Hooks has no method 'before_tol': did you mean 'before_tool'?"),
        (Short(), r"Short.before_tool\(\) .* is called with one argument: write `def before_tool\(self, call\)`"),
        (Long(), r"Long.after_tool\(result: object, more: object\) .*: write `def after_tool\(self, result\)`"),
        (Plain(), r"Plain.on_limit is called with one argument: write `def on_limit\(self, limit\)`"),
    ],
)
def test_a_hook_that_would_guard_nothing_is_refused(hook: Hooks, sentence: str) -> None:
    with pytest.raises(PresetInvalid, match=sentence):
        Agent(preset=PRESET, hooks=(hook,))
    with pytest.raises(PresetInvalid, match=sentence):
        HookChain((hook,), untold)


def untold(kind: NoticeType, extra: str, text: str, data: dict[str, str]) -> None:
    """Nobody watches."""


def test_a_hook_has_what_else_it_needs() -> None:
    class Rich(Hooks):
        """What begins with an underscore, is named unlike a point, or is no method, is its own affair."""

        before_tools = 3

        def before_tool(self, call: object, seen: int = 0) -> None:
            """What has a default need not be given."""

        def __init__(self) -> None:
            self.before_tol = print

        def _before_tol(self) -> None: ...

        def before(self) -> None: ...

        @property
        def after_tools(self) -> Callable[[], None]:
            raise ValueError

    hook = Rich()
    assert Agent(preset=PRESET, hooks=(hook,)).hooks == (hook,)


def test_a_type_that_no_schema_can_say_is_refused_with_the_agent() -> None:
    def read(file: socket.socket) -> str:
        return str(file)

    with pytest.raises(ToolInvalid, match="no JSON Schema describes its parameter 'file'"):
        Agent(preset=PRESET, tools=(tool(read),))


def test_a_limit_without_its_fields_name_is_refused() -> None:
    with pytest.raises(PresetInvalid, match=r"write TokenLimit\(tokens=\.\.\.\)"):
        TokenLimit(1000)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("preset", "gpt", "must be of type ModelPreset, not 'gpt'"),
        ("fallbacks", ["gpt"], r"fallbacks\[0\] must be a ModelPreset, not 'gpt'"),
        ("fallbacks", 1, "fallbacks must be a list, not 1: each of its values is a ModelPreset"),
        ("hooks", Careful(), "hooks must be a list, not .*: each of its values is a Hooks"),
        ("servers", "desk", "servers must be a list, not 'desk': each of its values is a McpStdio or McpHttp"),
        ("instructions", None, "must be of type str, not None"),
        ("tools", ["abc"], r"tools\[0\] must be a Tool or Callable, not 'abc'"),
        ("tools", look, "tools must be a list, not <function look.*: each of its values is a Tool or Callable"),
        ("tools", None, "tools must be a list, not None"),
        ("config", 3, "must be of type AmritaConfig, not 3"),
        ("memory", "foo", "must be 'agent' or 'run', not 'foo'"),
        ("run_timeout", -1, "must be a number of seconds above 0, or None, not -1"),
        ("run_timeout", "1", "must be a number of seconds above 0, or None, not '1'"),
    ],
)
def test_a_value_that_cannot_work_is_refused_with_its_field(field: str, value: object, sentence: str) -> None:
    with pytest.raises(PresetInvalid, match=sentence) as caught:
        Agent(**{"preset": PRESET, field: value})  # type: ignore[arg-type]
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("limit", "sentence"),
    [
        (0, "must be at least 1"),
        (-1, "must be at least 1"),
        (1.5, r"must be whole, (.*, )?not 1\.5"),
        (True, r"must be whole, (.*, )?not True"),
        ("9", r"must be whole, (.*, )?not '9'"),
    ],
)
def test_a_limit_that_is_none_is_refused_wherever_it_is_given(limit: int, sentence: str) -> None:
    for make in (
        lambda: TokenLimit(tokens=limit),
        lambda: Agent(preset=PRESET, limit=limit),  # type: ignore[arg-type]
        lambda: create_agent(base_url="http://h/v1", model="m", limit=limit),
        lambda: Fleet(system="local", limit=limit),
    ):
        with pytest.raises(PresetInvalid, match=sentence):
            make()


def test_a_tools_name_must_not_be_a_built_in_ones_nor_used_twice() -> None:
    with pytest.raises(ToolInvalid, match="'send_message' cannot be a tool: it is a built-in tool's name: choose"):
        Agent(preset=PRESET, tools=(tool(send_message),))
    with pytest.raises(ToolInvalid, match="'look' cannot be a tool: two tools of one agent have this name"):
        create_agent(base_url="http://h/v1", model="m", tools=[look, look])


def test_the_model_of_an_agent_is_a_preset_or_an_endpoint() -> None:
    agent = create_agent(preset=PRESET, tools=[look], limit=500)
    assert agent.preset is PRESET
    assert ([each.name for each in agent.tools], agent.limit) == (["look"], TokenLimit(tokens=500))
    assert create_agent(base_url="http://h/v1", model="m", model_config={"stream": True}).preset.config.stream
    with pytest.raises(PresetInvalid, match=r"takes preset=\.\.\. or model, not both"):
        create_agent(preset=PRESET, model="m")  # type: ignore[call-overload]
    with pytest.raises(PresetInvalid, match="needs a model"):
        create_agent()  # type: ignore[call-overload]
    with pytest.raises(PresetInvalid, match=r"model_config must be ModelConfig\(...\) or its fields by name, not 5"):
        create_agent(base_url="http://h/v1", model="m", model_config=5)  # type: ignore[call-overload]


class Counted(BuiltinStrategy):
    """Counts how often it is made."""

    made = 0

    def __init__(self) -> None:
        Counted.made += 1


def test_a_strategy_is_made_once_in_each_process() -> None:
    agent = Agent(preset=PRESET, strategy=f"{__name__}:Counted")
    assert agent.rules.strategy is agent.rules.strategy
    assert Counted.made == 1
    there = pickle.loads(pickle.dumps(agent))
    assert there == agent
    assert there.rules.strategy is not agent.rules.strategy
    assert Counted.made == 2
