"""What is said to a model is a value: nobody can change it once it is said."""

import inspect
from dataclasses import FrozenInstanceError, replace

import pytest

from amrita_fleet.protocols.messages import Finish, Message, Reply, Role, ToolCall, ToolResult, Usage

MESSAGE = Message(Role.ASSISTANT, "", (ToolCall("c", "look", "{}"),), reasoning_content="So.", extra={"id": 7})


@pytest.mark.parametrize(
    "value",
    [
        MESSAGE,
        MESSAGE.calls[0],
        ToolResult("c", "look", ""),
        Usage(1, 2),
        Reply(MESSAGE, Usage(1, 2), Finish.CALLS, ""),
    ],
    ids=lambda value: type(value).__name__,
)
def test_nothing_that_was_said_can_be_changed(value: object) -> None:
    name = next(iter(inspect.signature(type(value)).parameters))
    with pytest.raises(FrozenInstanceError):
        setattr(value, name, "changed")


def test_a_copy_leaves_the_original_as_it_is() -> None:
    filtered = replace(MESSAGE, reasoning_content=None)

    assert filtered.reasoning_content is None
    assert MESSAGE.reasoning_content == "So."
    assert filtered.calls is MESSAGE.calls


def test_usage_is_input_and_output_together() -> None:
    assert Usage(10, 5, cached=8, reasoning=4).total == 15


def test_words_are_spelled_as_providers_spell_them() -> None:
    assert [*map(str, Role)] == ["system", "user", "assistant"]
    assert [*map(str, Finish)] == ["stop", "tool_calls", "length", "content_filter"]
