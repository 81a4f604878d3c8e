from typing import Any

import pytest

from amrita_fleet.protocols.errors import PresetInvalid
from amrita_fleet.runtime import config
from amrita_fleet.runtime.config import (
    AmritaConfig,
    BuiltinConfig,
    FunctionConfig,
    LLMConfig,
    MailConfig,
    WindDownConfig,
    get_config,
    minimal_init,
    set_config,
)
from amrita_fleet.runtime.errors import ConfigMissing


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process in which nothing was set yet."""
    monkeypatch.setattr(config.Facade, "config", None)


def test_the_defaults_are_the_published_ones() -> None:
    made = AmritaConfig()
    assert made.builtin.loop_reasoning_trigger == 5
    assert made.function_config.agent_tool_call_limit == 10
    assert made.function_config.agent_step_token_budget == -1
    assert made.llm.session_tokens_windows == 64_000
    assert made.llm.memory_length_limit == 200


def test_reading_it_before_it_is_set_says_what_to_do() -> None:
    with pytest.raises(
        RuntimeError, match=r"^Global AmritaConfig is not initialized\. Call `await minimal_init"
    ) as caught:
        get_config()
    assert isinstance(caught.value, ConfigMissing)


def test_what_was_set_is_read() -> None:
    made = AmritaConfig(llm=LLMConfig(max_retries=0))
    set_config(made)
    assert get_config() is made


@pytest.mark.anyio
async def test_initialising_without_argument_sets_the_defaults() -> None:
    await minimal_init()
    assert get_config() == AmritaConfig()


@pytest.mark.anyio
async def test_initialising_sets_what_is_given() -> None:
    made = AmritaConfig(mail=MailConfig(on_mail="keep"))
    await minimal_init(made)
    assert get_config() is made


@pytest.mark.parametrize(
    ("section", "given", "complaint"),
    [
        (BuiltinConfig, {"loop_reasoning_trigger": 1}, "must be a whole number of at least 2, not 1"),
        (BuiltinConfig, {"loop_reasoning_trigger": 2.5}, "must be a whole number"),
        (BuiltinConfig, {"loop_reasoning_trigger": "5"}, "must be a whole number"),
        (BuiltinConfig, {"loop_reasoning_trigger": True}, "must be a whole number"),
        (FunctionConfig, {"agent_tool_call_limit": 0}, "at least 1, not 0"),
        (FunctionConfig, {"agent_step_token_budget": 0}, "at least 1, or -1 for no limit, not 0"),
        (FunctionConfig, {"step_rounds": 0}, "at least 1"),
        (FunctionConfig, {"tool_output_bytes": 10}, "at least 1024"),
        (LLMConfig, {"memory_abstract_threshold": -2}, "or -1 for no limit"),
        (LLMConfig, {"session_tokens_windows": 0}, "at least 1"),
        (LLMConfig, {"max_retries": -1}, "at least 0"),
        (LLMConfig, {"retry_base": float("nan")}, "must be a number of at least 0"),
        (WindDownConfig, {"input_bytes": 1}, "at least 1000"),
        (WindDownConfig, {"output": 0}, "at least 16"),
        (MailConfig, {"mail_bytes": 0}, "at least 1"),
        (MailConfig, {"mailbox_bytes": 1000}, "at least 131072"),
        (MailConfig, {"on_mail": "drop"}, "must be one of wake, keep, refuse, not 'drop'"),
    ],
)
def test_a_value_that_cannot_work_is_refused_by_name(section: type[Any], given: dict[str, Any], complaint: str) -> None:
    (field,) = given
    with pytest.raises(PresetInvalid, match=complaint) as caught:
        section(**given)
    assert caught.value.field == field
    assert f"{section.__name__}.{field}" in str(caught.value)


def test_limits_that_may_be_off_take_minus_one() -> None:
    assert FunctionConfig(agent_step_token_budget=-1).agent_step_token_budget == -1


def test_a_whole_number_is_fine_where_a_fraction_may_stand() -> None:
    assert LLMConfig(retry_base=1).retry_base == 1


def test_an_unknown_field_is_refused_with_the_nearest() -> None:
    with pytest.raises(PresetInvalid, match="did you mean 'agent_tool_call_limit'"):
        FunctionConfig(agent_tool_call_limits=3)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


@pytest.mark.parametrize("name", ["agent_tool_call_limit", "function_config.agent_tool_call_limit", "tool_call_limit"])
def test_a_setting_outside_of_its_section_is_told_where_it_belongs(name: str) -> None:
    said = r"has no field .*AmritaConfig\.parse\({'function_config': {'agent_tool_call_limit': \.\.\.}}\)"
    with pytest.raises(PresetInvalid, match=said):
        AmritaConfig.parse({name: 3})


def test_a_mapping_where_a_section_is_meant_is_refused() -> None:
    with pytest.raises(PresetInvalid, match=r"AmritaConfig\.llm must be LLMConfig\(\.\.\.\), .*AmritaConfig\.parse"):
        AmritaConfig(llm={"max_retries": 3})  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_plain_data_is_read_with_nested_sections() -> None:
    made = AmritaConfig.parse({"llm": {"max_retries": 0}, "mail": {"on_mail": "refuse"}})
    assert made == AmritaConfig(llm=LLMConfig(max_retries=0), mail=MailConfig(on_mail="refuse"))


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"lm": {}}, "lm"),
        ({"llm": {"max_retry": 1}}, "llm.max_retry"),
        ({"llm": {"max_retries": "many"}}, "llm.max_retries"),
        ({"builtin": {"loop_reasoning_trigger": 1}}, "builtin.loop_reasoning_trigger"),
    ],
)
def test_plain_data_that_cannot_work_is_refused_with_its_place(given: dict[str, Any], field: str) -> None:
    with pytest.raises(PresetInvalid) as caught:
        AmritaConfig.parse(given)
    assert caught.value.field == field
