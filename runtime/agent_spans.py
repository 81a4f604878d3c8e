"""The spans of one agent: a run, its Steps, and in them each attempt of a model call and each call of a tool.

They are told by what happens to the core and what it wants done, like its record; the core knows nothing of them.
Names and attributes are those of OpenTelemetry's semantic conventions for generative AI, which
`opentelemetry.semconv` 0.66 has as `gen_ai_attributes`; what these have no name for begins with `amrita.`.
"""

from collections.abc import Callable, Iterable
from types import MappingProxyType
from urllib.parse import urlsplit

from ..protocols.ids import AgentId, Incarnation, RunId
from ..protocols.mail import Envelope
from ..protocols.messages import Reply
from ..protocols.notices import NoticeType
from ..protocols.outcome import Ending, Outcome
from ..protocols.presets import ModelPreset
from .agent_channel import Seat
from .step.effects import CallModel, Cancel, Effect, Finish, Moved, Notify, RunTool
from .step.events import Event, ModelFailed, Replied, Revived, ToolEnded, ToolHeld
from .step.phases import Op, Waiting
from .step.state import AgentState
from .surroundings import Surroundings
from .tools.registry import Toolbox
from .tracing import Attributes, Span, SpanKind, Tracer

__all__ = ("AgentSpans", "spans_of")

PROVIDERS = MappingProxyType(
    {
        "azure": "azure.ai.openai",
        "azure-models": "azure.ai.inference",
        "openai-o1": "openai",
        "mistral": "mistral_ai",
        "mistral-model": "mistral_ai",
        "gemini": "gcp.gemini",
        "xai": "x_ai",
    }
)
"""Families that the conventions name otherwise than the product does."""

CANCELLED = "cancelled"
"""The error of what was ended before it was over."""

UNKNOWN_TOOL = "unknown"
"""The name of a tool that there is none of: what the model wrote instead is its text, and stays out of spans."""


class AgentSpans:
    """Opens and closes the spans of one life of an agent. It belongs to the work loop.

    Attributes:
        last_run: The context of the run that is under way or was last, as a traceparent; empty: there was none.
    """

    def __init__(
        self,
        tracer: Tracer,
        fleet: str,
        life: tuple[AgentId, Incarnation],
        models: tuple[Attributes, ...],
        known: Callable[[str], bool],
    ) -> None:
        """Begin with no span.

        Args:
            tracer: Begins them.
            fleet: The fleet's name.
            life: Whose spans these are.
            models: What is said of calls of each of the agent's presets; see `model_facts`.
            known: Whether the agent has a tool of this name.
        """
        self._tracer = tracer
        self._fleet = fleet
        self._agent, self._incarnation = life
        self._models = models
        self._known = known
        self._callers: dict[RunId, str] = {}
        self._run: Span | None = None
        self._of: RunId | None = None
        self._step: Span | None = None
        self._stepped = 0
        self._calls: dict[Op, Span] = {}
        self.last_run = ""

    def expect(self, run: RunId, caller: str) -> None:
        """The span of a run that is to begin lies below the caller's, which is given as a traceparent."""
        if caller:
            self._callers[run] = caller

    @property
    def traceparent(self) -> str:
        """The context of the Step, or else of the run, that is under way; empty: none is."""
        span = self._step or self._run
        return "" if span is None else span.traceparent

    def enter(self, op: Op) -> str:
        """Let the running task's spans lie below that of the call it makes; gives that one's context."""
        span = self._calls.get(op)
        if span is None:
            return ""
        span.enter()
        return span.traceparent

    def happened(self, event: Event, moved: Moved) -> None:
        """Close what an event ends, and open what is to be done; before any of it is done."""
        state, effects = moved
        op = getattr(event, "op", None)
        if op is not None and (span := self._calls.pop(op, None)) is not None:
            end(span, event)
        self._follow(state, again=isinstance(event, Revived))
        for effect in effects:
            self._wanted(effect, state)

    def read(self, mail: Iterable[Envelope]) -> None:
        """A Step reads mail: it is linked to where each message was sent."""
        for each in mail:
            if self._step is not None and each.trace:
                self._step.link(each.trace, {"amrita.mail.id": each.id, "amrita.mail.sender": each.sender})

    def break_off(self) -> None:
        """The life is over: what is under way ends here, without an error. A next life begins spans of its own."""
        self._end_all({"amrita.interrupted": True})

    def _follow(self, state: AgentState, *, again: bool) -> None:
        """Open the spans of a run and a Step that have begun."""
        run = state.run
        if run is None:
            return
        if run.id != self._of:
            self._end_all({"amrita.interrupted": True})
            self._of, self._stepped = run.id, 0
            facts = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": self._agent, **self._facts(state)}
            if again:
                facts["amrita.run.resumed"] = True
            caller = self._callers.pop(run.id, "")
            self._run = self._tracer.start(f"invoke_agent {self._agent}", SpanKind.INTERNAL, facts, caller)
            self.last_run = self._run.traceparent
        begun = run.steps and state.step != self._stepped and not isinstance(state.doing, Waiting)
        if begun and self._run is not None:
            self._leave_step()
            self._stepped = state.step
            facts = {"gen_ai.agent.name": self._agent, "amrita.step": state.step, **self._facts(state)}
            self._step = self._tracer.start("step", SpanKind.INTERNAL, facts, self._run)

    def _facts(self, state: AgentState) -> dict[str, str | int | bool | tuple[str, ...]]:
        return {
            "amrita.fleet": self._fleet,
            "amrita.run": state.current.id,
            "amrita.incarnation": self._incarnation,
        }

    def _wanted(self, effect: Effect, state: AgentState) -> None:
        match effect:
            case CallModel(op=op):
                facts = {**self._models[state.current.preset], "amrita.purpose": effect.purpose.value}
                self._begin(op, f"chat {facts['gen_ai.request.model']}", SpanKind.CLIENT, facts)
            case RunTool(op=op, call=call):
                name = call.name if self._known(call.name) else UNKNOWN_TOOL
                tool: Attributes = {
                    "gen_ai.operation.name": "execute_tool",
                    "gen_ai.tool.name": name,
                    "gen_ai.tool.type": "function",
                    "amrita.tool.call": effect.key,
                }
                self._begin(op, f"execute_tool {name}", SpanKind.INTERNAL, tool)
            case Cancel(ops=ops):
                for op in ops:
                    if (span := self._calls.pop(op, None)) is not None:
                        span.end(error=CANCELLED)
            case Notify(type=NoticeType.STEP, extra_type="leave"):
                self._leave_step()
            case Finish(outcome=outcome):
                self._finish(outcome)
            case _:
                pass

    def _begin(self, op: Op, name: str, kind: SpanKind, facts: Attributes) -> None:
        self._calls[op] = self._tracer.start(name, kind, facts, self._step or self._run or "")

    def _leave_step(self) -> None:
        if self._step is not None:
            self._step.end()
            self._step = None

    def _finish(self, outcome: Outcome) -> None:
        facts = {
            "amrita.ending": outcome.ending.value,
            "amrita.rounds": outcome.rounds,
            "amrita.steps": outcome.steps,
            "amrita.tokens": outcome.tokens,
            **({} if outcome.limit is None else {"amrita.limit": outcome.limit.value}),
        }
        failed = outcome.ending is Ending.FAILED
        self._end_all(facts, (outcome.error or outcome.ending.value) if failed else "")

    def _end_all(self, facts: Attributes, error: str = "") -> None:
        """End the run's span, with these facts, and all below it."""
        calls, self._calls = self._calls, {}
        for call in calls.values():
            call.end(error=CANCELLED)
        self._leave_step()
        if self._run is not None:
            self._run.end(facts, error)
        self._run = None


def end(span: Span, event: Event) -> None:
    """End a call's span by what it came to."""
    match event:
        case Replied(reply=reply):
            span.end(reply_facts(reply))
        case ModelFailed(kind=kind):
            span.end(error=kind)
        case ToolEnded(failed=failed):
            span.end(error="tool_error" if failed else "")
        case ToolHeld():
            span.end({"amrita.tool.held": True})
        case _:
            span.end()


def reply_facts(reply: Reply) -> Attributes:
    """What a reply came to, in numbers."""
    usage = reply.usage
    return {
        "gen_ai.response.finish_reasons": (reply.finish.value,),
        "gen_ai.usage.input_tokens": usage.prompt,
        "gen_ai.usage.output_tokens": usage.completion,
        **({"gen_ai.usage.cache_read.input_tokens": usage.cached} if usage.cached else {}),
        **({"amrita.usage.estimated": True} if usage.estimated else {}),
    }


def spans_of(presets: tuple[ModelPreset, ...], seat: Seat, around: Surroundings, toolbox: Toolbox) -> AgentSpans | None:
    """The spans of the life of an agent that has these presets; None where nobody traces."""
    if around.tracer is None:
        return None
    models = tuple(map(model_facts, presets))
    life = seat.name, seat.incarnation
    return AgentSpans(around.tracer, around.fleet, life, models, lambda name: toolbox.get(name) is not None)


def model_facts(preset: ModelPreset) -> Attributes:
    """What is said of each call of a preset's model."""
    family = preset.facts.name
    host = urlsplit(preset.base_url).hostname
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": preset.protocol if family == "unknown" else PROVIDERS.get(family, family),
        "gen_ai.request.model": preset.model,
        **({"server.address": host} if host else {}),
    }
