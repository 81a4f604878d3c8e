"""Section 5: history is compacted before it costs too much, and what is spent has limits that hold."""

from typing import Any

import pytest

from amrita_fleet import AmritaConfig, Ending, FunctionConfig, LLMConfig, TokenBudget, TokenLimit, Tool, tool
from amrita_fleet.runtime.simulator.conversation import Answer, Conversation
from amrita_fleet.runtime.simulator.errors import Refused

from .stage import INSTRUCTIONS, Model, calls, kinds, notes, of_kind, outputs, plans, says, stage, sums_up, together

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

PROTOCOLS = pytest.mark.parametrize("protocol", ["openai", "anthropic"])
TASK = "Read all pages and remember the plum."
PAGE = "A page of text that nobody needs for long. " * 40


def page_tool(size: int = 1) -> Tool:
    @tool
    async def page(number: int) -> str:
        """Read a page."""
        return f"Page {number}: {PAGE * size}"

    return page


def reader(pages: int, summary: Answer | None = None, name: str = "simulated") -> Model:
    """A model that reads pages, two at a time, then answers; asked for a summary it gives one."""
    read = 0

    def move(asked: Conversation) -> Answer:
        nonlocal read
        if is_aside(asked):
            return summary or says(f"Pages up to {read} are read.")
        read += 1
        if read > pages or not asked.tools:
            return says(f"Read {read - 1} times.")
        return together(calls("page", number=2 * read), calls("page", number=2 * read + 1))

    return Model(move, name=name)


def is_aside(asked: Conversation) -> bool:
    """Whether the request is one beside the conversation, for a plan or a summary."""
    return asked.system != INSTRUCTIONS


def spoken(model: Model) -> list[Conversation]:
    """The requests of the conversation itself."""
    return [asked for asked in model.read if not is_aside(asked)]


def config(llm: LLMConfig, rounds: int = 40, **fields: int) -> AmritaConfig:
    return AmritaConfig(llm=llm, function_config=FunctionConfig(agent_tool_call_limit=rounds, **fields))


TRIGGERS = pytest.mark.parametrize(
    ("llm", "reason"),
    [
        pytest.param(LLMConfig(memory_abstract_threshold=4000), "llm.memory_abstract_threshold", id="threshold"),
        pytest.param(LLMConfig(session_tokens_windows=4000), "llm.session_tokens_windows", id="window"),
        pytest.param(LLMConfig(memory_length_limit=12), "llm.memory_length_limit", id="messages"),
        pytest.param(
            LLMConfig(memory_length_limit=12, session_tokens_windows=256_000),
            "llm.memory_length_limit",
            id="messages, since only the window was raised",
        ),
    ],
)


@PROTOCOLS
@TRIGGERS
async def test_history_is_compacted_as_soon_as_one_of_the_triggers_is_reached(
    protocol: str, llm: LLMConfig, reason: str
) -> None:
    model = reader(8, name="simulated-thinking")
    async with stage(model) as scene:
        outcome, notices = await scene.play(
            model, TASK, protocol=protocol, tools=[page_tool()], config=config(llm, rounds=40)
        )
        assert (outcome.text, scene.refused) == ("Read 8 times.", 0)
    compressed = of_kind(notices, "step.compress")
    assert compressed
    for notice in compressed:
        assert (notice.get("reason"), notice.get("how")) == (reason, "summary")
        assert int(str(notice.get("to"))) < int(str(notice.get("from")))
    assert any(TASK in note for note in notes(model.read[-1]))
    assert any("are read." in note for note in notes(model.read[-1]))


def test_the_windows_are_64k_tokens_and_200_messages_unless_told_otherwise() -> None:
    llm = LLMConfig()
    assert (llm.session_tokens_windows, llm.memory_length_limit, llm.memory_abstract_threshold) == (64_000, 200, -1)


async def test_no_request_is_ever_larger_than_the_window_since_the_next_input_counts() -> None:
    model = reader(9)
    async with stage(model) as scene:
        _, notices = await scene.play(
            model, TASK, tools=[page_tool()], config=config(LLMConfig(session_tokens_windows=4000))
        )
    asked = [int(str(notice.get("prompt"))) for notice in of_kind(notices, "model.replied")]
    assert max(asked) < 4000
    assert len(spoken(model)) == 10


@pytest.mark.parametrize(
    "summary",
    [
        pytest.param(says(""), id="empty"),
        pytest.param(calls("page", number=1), id="a call"),
        pytest.param(says("word " * 20_000), id="cut off"),
    ],
)
@PROTOCOLS
async def test_without_a_usable_summary_the_oldest_rounds_are_left_out_and_pairs_stay_whole(
    protocol: str, summary: Answer
) -> None:
    model = reader(8, summary, name="simulated-thinking")
    async with stage(model) as scene:
        llm = LLMConfig(session_tokens_windows=4000)
        outcome, notices = await scene.play(model, TASK, protocol=protocol, tools=[page_tool()], config=config(llm))
        assert (outcome.text, scene.refused) == ("Read 8 times.", 0)
    assert {str(notice.get("how")) for notice in of_kind(notices, "step.compress")} == {"sliding"}
    assert any(TASK in note for note in notes(model.read[-1]))


async def test_none_lets_history_grow() -> None:
    model = reader(6)
    async with stage(model) as scene:
        llm = LLMConfig(session_tokens_windows=2000, memory_strategy="none")
        _, notices = await scene.play(model, TASK, tools=[page_tool()], config=config(llm))
    assert of_kind(notices, "step.compress") == []
    assert len(outputs(model.read[-1])) == 12


@pytest.mark.parametrize(
    ("pages", "compressed"), [pytest.param(1, [], id="by itself"), pytest.param(8, ["cut"], id="with others")]
)
async def test_outputs_too_large_for_the_window_are_cut_and_say_how_to_get_the_rest(
    pages: int, compressed: list[str]
) -> None:
    model = Model(together(*[calls("page", number=place) for place in range(pages)]), says("Read."))
    async with stage(model) as scene:
        llm = LLMConfig(session_tokens_windows=4000)
        outcome, notices = await scene.play(model, TASK, tools=[page_tool(16)], config=config(llm))
        assert (outcome.text, scene.refused) == ("Read.", 0)
    assert [notice.get("how") for notice in of_kind(notices, "step.compress")] == compressed
    for place, output in enumerate(outputs(model.read[-1])):
        assert output.startswith(f"Page {place}:")
        assert "again for a smaller part to see them" in output


@PROTOCOLS
async def test_a_request_that_the_provider_finds_too_long_is_made_shorter_and_sent_once_more(protocol: str) -> None:
    refusals = {
        "openai": Refused(
            message="This model's maximum context length is 8192 tokens. Your messages resulted in 9000 tokens.",
            code="context_length_exceeded",
        ),
        "anthropic": Refused(message="prompt is too long: 9000 tokens > 8192 maximum"),
    }
    pages = [together(calls("page", number=place), calls("page", number=-place)) for place in range(1, 6)]

    def too_long(_: Conversation) -> Answer:
        raise refusals[protocol]

    model = Model(*pages, too_long, says("Pages are read."), says("Done."), name="simulated-thinking")
    async with stage(model) as scene:
        outcome, notices = await scene.play(model, TASK, protocol=protocol, tools=[page_tool()])
        assert (outcome.text, scene.refused) == ("Done.", 1)
    (compressed,) = of_kind(notices, "step.compress")
    assert (compressed.get("reason"), compressed.get("how")) == ("ContextOverflow", "summary")
    assert any(TASK in note for note in notes(model.read[-1]))


async def test_a_provider_that_finds_every_request_too_long_is_not_asked_for_ever() -> None:
    def too_long(_: Conversation) -> Answer:
        raise Refused(message="maximum context length is 10 tokens", code="context_length_exceeded")

    pages = [calls("page", number=place) for place in range(1, 4)]
    model = Model(*pages, too_long)
    async with stage(model) as scene:
        outcome, _ = await scene.play(model, TASK, tools=[page_tool()])
        assert scene.refused <= 3
    assert outcome.ending is Ending.FAILED


async def test_the_plan_and_the_newest_messages_of_peers_survive() -> None:
    steps = plans(("read", "Read the pages", ()), ("tell", "Tell of them", ("read",)))
    read = 0

    def move(asked: Conversation) -> Answer:
        nonlocal read
        if "verb" in asked.system:
            return sums_up("read", "pages")
        if is_aside(asked):
            return says("Pages are read.") if read else steps
        read += 1
        return calls("page", number=read) if read < 12 else says("Done.")

    model = Model(move)
    async with stage(model) as scene:

        @tool
        async def page(number: int) -> str:
            """Read a page; at the second one somebody writes."""
            if number == 2:
                await scene.fleet.send("ana", "The plum is under the tree.")
            return f"Page {number}: {PAGE}"

        llm = LLMConfig(session_tokens_windows=4000)
        outcome, notices = await scene.play(model, TASK, plan="always", tools=[page], config=config(llm))
    assert outcome.answered
    assert of_kind(notices, "step.compress")
    told = "\n".join(notes(spoken(model)[11]))
    assert TASK in told
    assert "The plum is under the tree." in told
    assert "[Plan status]" in told
    assert "read: Read the pages" in told


async def test_a_step_has_a_budget_of_prompt_tokens_and_ends_when_it_is_exhausted() -> None:
    model = reader(30)
    async with stage(model) as scene:
        limited = config(LLMConfig(), agent_step_token_budget=5000, step_rounds=20)
        outcome, notices = await scene.play(model, TASK, tools=[page_tool()], config=limited)
    assert str(outcome) == "limit:agent_step_token_budget"
    assert outcome.text.startswith("Read ")
    assert outcome.steps == 1
    assert "step.winding_down" in kinds(notices)
    assert TokenBudget(5000).spend(4999).exhausted is False
    assert TokenBudget(5000).spend(5000).exhausted is True


@pytest.mark.parametrize("of_the_fleet", [True, False], ids=["the fleet", "the agent"])
async def test_a_token_limit_is_hard_and_leaves_enough_for_a_last_answer(*, of_the_fleet: bool) -> None:
    limit, model = 20_000, reader(200)
    async with stage(model, limit=limit if of_the_fleet else None) as scene:
        fields: dict[str, Any] = {} if of_the_fleet else {"limit": TokenLimit(tokens=limit)}
        outcome, _ = await scene.play(model, TASK, tools=[page_tool()], config=config(LLMConfig(), 200), **fields)
        answered = scene.simulator.totals.answered
    assert str(outcome) == ("limit:fleet_tokens" if of_the_fleet else "limit:tokens")
    assert outcome.text.startswith("Read ")
    assert answered.prompt_tokens + answered.completion_tokens == outcome.tokens <= limit
