"""Spans of scripted runs, as OpenTelemetry's own SDK has them."""

import asyncio
import logging
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from amrita_fleet import Agent, Tool, create_agent, tool
from amrita_fleet.protocols.ids import AgentId
from amrita_fleet.protocols.outcome import Outcome
from amrita_fleet.protocols.providers.script import Move, call, fail, say
from amrita_fleet.protocols.providers.scripted import scripted
from amrita_fleet.runtime.config import AmritaConfig, LLMConfig
from amrita_fleet.runtime.journal.memory import MemoryJournal
from amrita_fleet.runtime.local import LocalSystem
from amrita_fleet.runtime.otel import OtelTracer
from amrita_fleet.runtime.simulator.server import Simulator
from amrita_fleet.runtime.system import SpawnOrder
from amrita_fleet.runtime.trace_setup import open_tracer
from amrita_fleet.runtime.tracing import SpanKind

pytestmark = pytest.mark.anyio

ANA, BOB = AgentId("ana"), AgentId("bob")
HASTY = AmritaConfig(llm=LLMConfig(retry_base=0.01))
KEY = "sk-planted-9a41"
TEXT = "the planted text 77c2"


@tool
def look(what: str) -> str:
    """Look at it."""
    return f"seen {what}"


@tool
def break_down() -> str:
    """Fail."""
    raise ValueError(TEXT)


class Traced:
    """A local fleet, and what it tells of itself as spans."""

    def __init__(self, journal: MemoryJournal | None = None) -> None:
        self.exporter = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracer = provider.get_tracer("test")
        self.system = LocalSystem("f", None, journal=journal, tracer=OtelTracer(self.tracer))

    async def spawn(self, name: AgentId, *moves: Move, tools: tuple[Tool, ...] = ()) -> None:
        agent = Agent(preset=scripted(*moves), tools=tools, config=HASTY)
        await self.system.spawn((SpawnOrder(name, agent),), lambda _ready, _ordered: None)

    async def ask(self, name: AgentId, task: str = "do it") -> Outcome:
        return await self.system.outcome(name, await self.system.start(name, task, None))

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.exporter.get_finished_spans() if span.name == name]

    def below(self, parent: ReadableSpan) -> list[str]:
        """The names of a span's children, in the order in which they began."""
        inner = [span for span in self.exporter.get_finished_spans() if parent_id(span) == span_id(parent)]
        return [span.name for span in sorted(inner, key=lambda span: span.start_time or 0)]


@asynccontextmanager
async def traced(journal: MemoryJournal | None = None) -> AsyncGenerator[Traced]:
    house = Traced(journal)
    await house.system.open()
    try:
        yield house
    finally:
        await house.system.close()


def span_id(span: ReadableSpan) -> int:
    return span.get_span_context().span_id  # type: ignore[union-attr]


def parent_id(span: ReadableSpan) -> int | None:
    return None if span.parent is None else span.parent.span_id


def facts(span: ReadableSpan) -> dict[str, object]:
    return dict(span.attributes or {})


async def test_a_run_is_a_tree_of_its_step_with_each_attempt_and_call_of_a_tool() -> None:
    async with traced() as house:
        await house.spawn(ANA, fail("StreamBroken"), call("look", what="it"), say("done"), tools=(look,))
        outcome = await house.ask(ANA)

    (run,), (step,), (used,) = (house.named(name) for name in ("invoke_agent ana", "step", "execute_tool look"))
    assert (parent_id(run), house.below(run)) == (None, ["step"])
    assert house.below(step) == ["chat scripted", "chat scripted", "execute_tool look", "chat scripted"]
    first, second, _ = sorted(house.named("chat scripted"), key=lambda span: span.start_time or 0)
    assert (first.status.status_code, facts(first)["error.type"]) == (StatusCode.ERROR, "StreamBroken")
    assert second.status.status_code is StatusCode.UNSET
    assert facts(second)["gen_ai.response.finish_reasons"] == ("tool_calls",)
    assert facts(second)["gen_ai.operation.name"] == "chat"
    assert isinstance(facts(second)["gen_ai.usage.input_tokens"], int)
    assert facts(used)["gen_ai.tool.name"] == "look"
    said = facts(run)
    assert (said["gen_ai.agent.name"], said["amrita.run"], said["amrita.fleet"]) == ("ana", outcome.run, "f")
    assert (said["amrita.ending"], said["amrita.tokens"]) == ("answered", outcome.tokens)


async def test_each_step_has_a_span_of_its_own() -> None:
    async with traced() as house:
        rounds = [call("look", what=str(number)) for number in range(5)]
        await house.spawn(ANA, *rounds, say("done"), tools=(look,))
        outcome = await house.ask(ANA)
    assert [facts(step)["amrita.step"] for step in house.named("step")] == [1, 2]
    assert outcome.steps == 2


async def test_a_run_lies_below_the_span_in_which_it_was_asked_for() -> None:
    async with traced() as house:
        await house.spawn(ANA, say("hi"))
        with house.tracer.start_as_current_span("the user's") as caller:
            await house.ask(ANA)
    (run,) = house.named("invoke_agent ana")
    assert parent_id(run) == caller.get_span_context().span_id


async def test_a_step_that_reads_mail_is_linked_to_the_call_that_sent_it() -> None:
    async with traced() as house:
        await house.spawn(BOB, say("three"))
        await house.spawn(ANA, call("ask_peer", to="bob", question="How many?", seconds=60), say("three, says bob"))
        await house.ask(ANA)

    (asked,) = house.named("execute_tool ask_peer")
    (bob,) = house.named("invoke_agent bob")
    (read,) = [step for step in house.named("step") if facts(step)["gen_ai.agent.name"] == "bob"]
    assert [link.context.span_id for link in read.links] == [span_id(asked)]
    assert bob.get_span_context().trace_id != asked.get_span_context().trace_id  # type: ignore[union-attr]
    answers = [link for step in house.named("step") if facts(step)["gen_ai.agent.name"] == "ana" for link in step.links]
    assert [link.context.span_id for link in answers] == [span_id(bob)]
    assert [dict(link.attributes or {})["amrita.mail.sender"] for link in answers] == ["bob"]


async def test_a_run_that_failed_is_an_error_by_its_name_alone() -> None:
    async with traced() as house:
        await house.spawn(ANA, fail("AuthRefused", sentence=TEXT))
        await house.ask(ANA)
    (run,) = house.named("invoke_agent ana")
    assert (run.status.status_code, run.status.description) == (StatusCode.ERROR, None)
    assert facts(run)["error.type"] == "AuthRefused"


async def test_a_stop_ends_all_spans_that_are_open() -> None:
    began = asyncio.Event()

    @tool
    async def hang() -> str:
        """Never return."""
        began.set()
        await asyncio.Event().wait()
        return "never"

    async with traced() as house:
        await house.spawn(ANA, call("hang"), tools=(hang,))
        run = await house.system.start(ANA, "do it", None)
        await began.wait()
        assert not house.exporter.get_finished_spans() or not house.named("execute_tool hang")
        await house.system.stop((ANA,), "enough")
        await house.system.outcome(ANA, run)
    (hung,), (whole,) = house.named("execute_tool hang"), house.named("invoke_agent ana")
    assert (hung.status.status_code, facts(hung)["error.type"]) == (StatusCode.ERROR, "cancelled")
    assert (whole.status.status_code, facts(whole)["amrita.ending"]) == (StatusCode.UNSET, "stopped")
    assert len(house.named("step")) == 1


async def test_the_next_life_of_a_run_has_a_root_span_of_its_own() -> None:
    journal, began = MemoryJournal(), asyncio.Event()

    @tool(replay="safe")
    async def wait_once() -> str:
        """Wait in the first life."""
        if not began.is_set():
            began.set()
            await asyncio.Event().wait()
        return "over"

    moves = call("wait_once"), say("done")
    async with traced(journal) as first:
        await first.spawn(ANA, *moves, tools=(wait_once,))
        run = await first.system.start(ANA, "do it", None)
        await began.wait()
    (broken,) = first.named("invoke_agent ana")
    assert (facts(broken)["amrita.interrupted"], facts(broken)["amrita.run"]) == (True, run)

    async with traced(journal) as second:
        await second.spawn(ANA, *moves, tools=(wait_once,))
        await second.system.outcome(ANA, run)
    (went_on,) = second.named("invoke_agent ana")
    assert went_on.parent is None
    assert (facts(went_on)["amrita.run.resumed"], facts(went_on)["amrita.run"]) == (True, run)
    assert facts(went_on)["amrita.incarnation"] != facts(broken)["amrita.incarnation"]
    assert "execute_tool wait_once" in second.below(second.named("step")[0])


async def test_what_a_tool_begins_lies_below_its_call() -> None:
    async with traced() as house:

        @tool
        def measured() -> str:
            """Begin a span, as an instrumented library does; in a thread."""
            with house.tracer.start_as_current_span("library"):
                return "ok"

        await house.spawn(ANA, call("measured"), say("done"), tools=(measured,))
        await house.ask(ANA)
    (used,) = house.named("execute_tool measured")
    assert house.below(used) == ["library"]


async def test_no_span_has_what_was_said_or_a_key() -> None:
    async with Simulator(key="another") as simulator, traced() as house:
        refused = create_agent(
            base_url=simulator.base_url, model="simulated-census", api_key=KEY, instructions=TEXT, tools=[look]
        )
        await house.system.spawn((SpawnOrder(BOB, refused),), lambda _ready, _ordered: None)
        await house.ask(BOB, TEXT)
        moves = call("look", what=TEXT), call("break_down"), call(TEXT), call("send_message", to="bob", text=TEXT)
        await house.spawn(ANA, *moves, say(TEXT), tools=(look, break_down))
        await house.ask(ANA, TEXT)
    spans = house.exporter.get_finished_spans()
    assert len(house.named("execute_tool unknown")) == 1
    assert {"error.type"} <= set(facts(house.named("execute_tool break_down")[0]))
    written = [span.to_json() for span in spans]
    assert not [text for text in written if KEY in text or TEXT in text]


@pytest.mark.parametrize("trace_text", ["", "no context at all", "00-" + "0" * 32 + "-" + "0" * 16 + "-01"])
async def test_a_message_with_a_context_that_is_none_links_nothing(trace_text: str) -> None:
    house = Traced()
    span = OtelTracer(house.tracer).start("step", SpanKind.INTERNAL, {})
    span.link(trace_text)
    span.end()
    assert [one.links for one in house.named("step")] == [()]


OFF = """
import asyncio, sys
from amrita_fleet import Agent, Fleet
from amrita_fleet.protocols.providers.scripted import say, scripted

async def main():
    async with Fleet(system="local") as fleet:
        (ana,) = await fleet.spawn(Agent(preset=scripted(say("hi"))), ["ana"])
        await (await ana.start("hello")).outcome()

asyncio.run(main())
print(sorted(name for name in sys.modules if name.startswith("opentelemetry")))
"""


def test_tracing_that_nobody_asked_for_imports_nothing_of_opentelemetry(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    done = subprocess.run([sys.executable, "-c", OFF], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"OTEL_TRACES_EXPORTER": "zipkin"}, "'zipkin', and must be otlp, console or none"),
        ({"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "only http/protobuf is spoken"),
        ({"OTEL_TRACES_EXPORTER": "otlp", "OTEL_BSP_MAX_QUEUE_SIZE": "0"}, "max_queue_size"),
        ({"OTEL_TRACES_EXPORTER": "otlp", "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "x"}, "SPAN_ATTRIBUTE_COUNT_LIMIT"),
        ({"OTEL_TRACES_EXPORTER": "console", "OTEL_BSP_SCHEDULE_DELAY": "-1"}, "schedule_delay_millis"),
    ],
)
def test_a_setting_that_cannot_be_followed_is_warned_of(
    settings: dict[str, str], sentence: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert open_tracer("f") is None
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert sentence in record.getMessage()


def test_a_missing_extra_is_warned_of_by_name(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    assert open_tracer("f") is None
    assert "amrita-fleet[tracing]" in caplog.text


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"},
        {"OTEL_SDK_DISABLED": "true", "OTEL_TRACES_EXPORTER": "console"},
    ],
)
def test_tracing_is_off_without_a_word_where_it_is_switched_off(
    settings: dict[str, str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert open_tracer("f") is None
    assert not caplog.records
