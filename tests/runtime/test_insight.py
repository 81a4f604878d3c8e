"""What is shown of a transcript: its newest part, and of what is long the beginning."""

from amrita_fleet.protocols.messages import Message, Role, ToolCall, ToolResult, Turn
from amrita_fleet.runtime.insight import ALL_CHARACTERS, CHARACTERS, TURNS, shown


def test_each_element_says_who_speaks_what_was_thought_and_what_was_called() -> None:
    call = ToolCall("1", "weigh", '{"what":"apples"}')
    turns: tuple[Turn, ...] = (
        Message(Role.SYSTEM, "You weigh."),
        Message(Role.ASSISTANT, "So.", (call,), reasoning_content="Apples first."),
        ToolResult("1", "weigh", "3 kg"),
    )
    (system, reply, output), earlier = shown(turns)
    assert (system.role, reply.role, output.role, earlier) == ("system", "assistant", "tool", 0)
    assert (reply.reasoning, reply.calls[0].tool, output.tool) == ("Apples first.", "weigh", "weigh")


def test_the_oldest_elements_are_left_out_of_many_and_counted() -> None:
    found, earlier = shown(tuple(Message(Role.USER, str(number)) for number in range(TURNS + 5)))
    assert (len(found), earlier, found[0].text, found[-1].text) == (TURNS, 5, "5", str(TURNS + 4))


def test_of_long_texts_the_beginning_is_shown_and_all_of_them_have_a_bound() -> None:
    long = Message(Role.USER, "x" * (CHARACTERS + 7))
    found, earlier = shown((long,) * 100)
    assert (len(found[0].text), found[0].cut) == (CHARACTERS, 7)
    assert len(found) == ALL_CHARACTERS // CHARACTERS == 100 - earlier
