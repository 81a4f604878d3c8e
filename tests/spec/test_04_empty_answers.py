"""Section 4: an empty answer degrades to something useful, and the log names the call by the provider's id."""

import logging

import pytest

from amrita_fleet import Ending, create_agent

from ..protocols.providers.server import Server, completion, http
from .stage import Model, kinds, notes, of_kind, plans, says, stage, sums_up

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

PROTOCOLS = pytest.mark.parametrize("protocol", ["openai", "anthropic"])
NOTHING = says("")
TWO = plans(("read", "Read the file", ()), ("tell", "Tell what it says", ("read",)))


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


@PROTOCOLS
async def test_an_empty_plan_means_that_the_task_is_worked_on_directly(
    protocol: str, caplog: pytest.LogCaptureFixture
) -> None:
    model = Model(NOTHING, says("It says hello."), name="simulated-thinking")
    async with stage(model) as scene:
        outcome, notices = await scene.play(model, "What does it say?", protocol=protocol, plan="always")
        assert scene.refused == 0
    assert (outcome.ending, outcome.text) == (Ending.ANSWERED, "It says hello.")
    first = "req_1"
    warning = f"Empty decomposition response (request_id={first}, thinking_content=True)"
    assert any(warning in each for each in warnings(caplog))
    assert [notice.text for notice in of_kind(notices, "step.degraded")] == [warning]


async def test_without_thinking_the_warning_says_so(caplog: pytest.LogCaptureFixture) -> None:
    model = Model(NOTHING, says("It says hello."))
    async with stage(model) as scene:
        assert (await scene.play(model, plan="auto"))[0].answered
    assert any("(request_id=req_1, thinking_content=False)" in each for each in warnings(caplog))


@PROTOCOLS
@pytest.mark.parametrize("said", ["", "I have read it, all is well."], ids=["empty", "no verb and no object"])
async def test_a_summary_that_cannot_be_used_becomes_completed_and_the_phase(
    protocol: str, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    moves = (TWO, says("I read it."), says(said), says("I told it."), sums_up("told", "what it says"), says("Hello."))
    model = Model(*moves, name="simulated-thinking")
    async with stage(model) as scene:
        outcome, notices = await scene.play(model, protocol=protocol, plan="always")
        assert scene.refused == 0
    assert (outcome.ending, outcome.text) == (Ending.ANSWERED, "Hello.")
    summaries = [notice.get("summary") for notice in of_kind(notices, "step.node_done")]
    assert summaries == ["Completed Read the file", "told what it says"]
    assert any("summary response (request_id=req_3, thinking_content=True)" in each for each in warnings(caplog))


@PROTOCOLS
async def test_an_empty_answer_is_asked_for_once_more_and_what_asked_for_it_is_not_kept(protocol: str) -> None:
    model = Model(NOTHING, says("Hello."), says("Hello again."), name="simulated-thinking")
    async with stage(model) as scene:
        ana = await scene.spawn(model, protocol=protocol)
        assert [(await ana.run("Greet.")).text for _ in range(2)] == ["Hello.", "Hello again."]
        assert scene.refused == 0
    assert "Your last reply was empty." in notes(model.read[1])[-1]
    assert notes(model.read[-1]) == ["Greet.", "Greet."]


async def test_two_empty_answers_end_the_run_as_failed_with_the_id_of_the_call() -> None:
    model = Model(NOTHING, name="simulated-thinking")
    async with stage(model) as scene:
        outcome, notices = await scene.play(model)
    assert outcome.ending is Ending.FAILED
    assert outcome.reason == "empty reply (request_id=req_2, thinking_content=True)"
    assert kinds(notices).count("model.empty") == 2


@pytest.mark.parametrize(
    ("headers", "found"),
    [
        pytest.param("x-request-id: x-1\r\nx-ds-trace-id: ds-1\r\n", "x-1", id="openai's before deepseek's"),
        pytest.param("eo-log-uuid: eo-1\r\nx-ds-trace-id: ds-1\r\n", "ds-1", id="deepseek's trace before its log"),
        pytest.param("eo-log-uuid: eo-1\r\n", "eo-1", id="deepseek's log"),
    ],
)
async def test_the_id_of_the_warning_is_the_one_in_the_log_of_the_provider(headers: str, found: str) -> None:
    async with Server() as server, stage() as scene:
        server.answers = [http(200, completion(""), headers=headers)]
        agent = create_agent(base_url=server.url, model="deepseek-chat")
        (ana,) = await scene.fleet.spawn(agent, ["ana"])
        outcome = await ana.run("Greet.")
    assert f"(request_id={found}, " in outcome.reason


async def test_where_a_provider_gives_no_id_the_id_is_ours_and_says_so() -> None:
    async with Server() as server, stage() as scene:
        server.answers = [http(200, completion("", id=""))]
        (ana,) = await scene.fleet.spawn(create_agent(base_url=server.url, model="m"), ["ana"])
        outcome = await ana.run("Greet.")
    assert "(request_id=local-" in outcome.reason
