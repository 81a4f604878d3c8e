from collections.abc import Callable

import pytest

from amrita_fleet.runtime.config import AmritaConfig, BuiltinConfig, get_config, set_config
from amrita_fleet.runtime.errors import ToolInvalid
from amrita_fleet.runtime.tools.builtin import BUILTIN
from amrita_fleet.runtime.tools.registry import Toolbox
from amrita_fleet.runtime.tools.tool import tool


def read_file(path: str) -> None: ...


def write_file(path: str, text: str) -> None: ...


@pytest.fixture
def box() -> Toolbox:
    return Toolbox([write_file, tool(polling=True)(read_file)], AmritaConfig())


def test_tools_are_found_by_name_and_plain_functions_become_tools(box: Toolbox) -> None:
    assert list(box) == ["write_file", "read_file"]
    assert len(box) == 2
    assert box["read_file"].polling and not box["write_file"].polling
    assert box.get("nothing") is None


def test_schemas_keep_the_order_given(box: Toolbox) -> None:
    assert [schema.name for schema in box.schemas()] == ["write_file", "read_file"]


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ToolInvalid, match="'send_message' cannot be a tool: two tools of one agent have this name"):
        Toolbox([tool(name="send_message")(read_file), *BUILTIN], AmritaConfig())


def test_a_schema_that_cannot_be_made_is_refused_here() -> None:
    def wrong(x: ToolInvalid) -> None: ...

    with pytest.raises(ToolInvalid, match="'wrong' cannot be a tool"):
        Toolbox([wrong], AmritaConfig())


def test_an_unknown_tool_is_a_failed_output_with_near_names(box: Toolbox) -> None:
    output = box.missing("readfile")
    assert output.failed
    assert output.content == "ERROR: There is no tool named 'readfile'. Near: read_file, write_file."
    assert box.missing("zzz").content.endswith("There are: write_file, read_file.")
    assert Toolbox([], AmritaConfig()).missing("zzz").content.endswith("There are: none.")


def patient(config: AmritaConfig) -> bool:
    return config.builtin.loop_reasoning_trigger > 5


def patient_process() -> bool:
    return patient(get_config())


@pytest.mark.parametrize("condition", [patient, patient_process])
def test_a_tool_is_there_only_where_its_condition_holds(
    condition: Callable[..., bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("amrita_fleet.runtime.config.Facade.config", None)
    conditional = tool(enable_if=condition)(read_file)
    for trigger, names in ((5, []), (6, ["read_file"])):
        config = AmritaConfig(builtin=BuiltinConfig(loop_reasoning_trigger=trigger))
        set_config(config)
        assert list(Toolbox([conditional], config)) == names
