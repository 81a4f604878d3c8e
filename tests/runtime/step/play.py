"""A stage for the core: everything outside of it follows a script, so thousands of Steps take milliseconds.

Every effect is answered at once, from the script where there is a line for it, unless the test holds it back.
"""

import json
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias, assert_never

from amrita_fleet.protocols.checkin import Directive, Grant, Proceed
from amrita_fleet.protocols.ids import AgentId, MessageId, RunId
from amrita_fleet.protocols.messages import Finish as FinishReason
from amrita_fleet.protocols.messages import Message, Reply, Role, ToolCall, ToolResult, Turn, Usage
from amrita_fleet.protocols.outcome import Outcome
from amrita_fleet.runtime.step.advance import advance
from amrita_fleet.runtime.step.effects import (
    AskApproval,
    AskLeave,
    CallModel,
    Cancel,
    Commit,
    Effect,
    Finish,
    LookForMail,
    Notify,
    RunTool,
    StartDeadline,
    StartTimer,
    TakeMail,
    WaitForMail,
)
from amrita_fleet.runtime.step.events import (
    Asked,
    CallFacts,
    DeadlinePassed,
    Decided,
    Directed,
    Event,
    Extended,
    Finished,
    MailArrived,
    MailSeen,
    MailTaken,
    ModelFailed,
    Replied,
    TimerFired,
    ToolEnded,
    ToolHeld,
    Woken,
)
from amrita_fleet.runtime.step.phases import Asking, Mail, Op, Phase, Purpose, WaitFor, Waiting
from amrita_fleet.runtime.step.plan import NodeStatus
from amrita_fleet.runtime.step.requests import request
from amrita_fleet.runtime.step.revision import UPDATE_STEP
from amrita_fleet.runtime.step.rules import Rules
from amrita_fleet.runtime.step.state import AgentState

__all__ = (
    "Failure",
    "Line",
    "Play",
    "Result",
    "call",
    "calls",
    "came_to",
    "grant",
    "mail",
    "plan",
    "revise",
    "says",
)

AGENT = AgentId("ana")


@dataclass(frozen=True)
class Failure:
    """A model call that fails."""

    sentence: str = "The provider is busy."
    retryable: bool = True
    after: float | None = None
    jitter: float = 0.0
    kind: str = "ProviderBusy"
    throttled: bool = False


@dataclass(frozen=True)
class Result:
    """What a tool gives back.

    Attributes:
        held: Why a person must allow the call first; None: nobody must.
        rewritten: The arguments that it then runs with; empty: the model's own.
    """

    output: str
    wait: WaitFor | None = None
    held: str | None = None
    rewritten: str = ""


Line: TypeAlias = Reply | Failure


def says(text: str, *, finish: FinishReason = FinishReason.STOP, prompt: int = 10, completion: int = 5) -> Reply:
    """A reply in words."""
    return Reply(Message(Role.ASSISTANT, text), Usage(prompt, completion), finish, "req-1")


def call(name: str, arguments: str = "{}") -> ToolCall:
    """One call; all have the same id, as some providers write them."""
    return ToolCall("call_0", name, arguments)


def calls(*asked: str | ToolCall, finish: FinishReason = FinishReason.CALLS, prompt: int = 10) -> Reply:
    """A reply that calls tools, by name or in full."""
    batch = tuple(call(one) if isinstance(one, str) else one for one in asked)
    return Reply(Message(Role.ASSISTANT, "", batch), Usage(prompt, 5), finish, "req-1")


def plan(**needs: str) -> Reply:
    """A plan: each step's id with those it needs, as in `plan(a="", b="a")`; titles are `Do a` and so on."""
    steps = [{"id": one, "title": f"Do {one}", "needs": wanted.split()} for one, wanted in needs.items()]
    return says(json.dumps({"kind": "plan", "steps": steps}))


def came_to(verb: str, thing: str) -> Reply:
    """What a step of a plan came to."""
    return says(json.dumps({"verb": verb, "object": thing}))


def revise(action: str, **fields: object) -> ToolCall:
    """A call that revises the plan."""
    return call(UPDATE_STEP, json.dumps({"action": action, **fields}))


def grant(output: int = 100) -> Proceed:
    """Leave to make a model call."""
    return Proceed(Grant("ana/1/1", output))


def mail(body: str, *, sender: str = "bob", number: int = 1, reply_to: str = "") -> Mail:
    """A message."""
    return Mail(MessageId(f"{sender}.1.ana.{number}"), AgentId(sender), body, reply_to)


def echo(asked: ToolCall) -> Result:
    """What a tool answers when the test does not say."""
    return Result(f"{asked.name} is done")


@dataclass
class Play:
    """One agent and its scripted world.

    Attributes:
        lines: What the model answers, in order; when there is no line left it is thinking, and the play stands still.
        rules: The agent's rules.
        directives: What the Supervisor answers, in order; after the last it grants every call.
        tools: What the tools give back.
        held: Names of tools, and types of effects, that are not answered until the test does.
        polling: Names of tools that poll.
        approval: Names of tools that a person must allow.
        flaws: What is wrong with the typed answers, in order; after the last nothing is.
        extensions: How many rounds hooks give when a limit is reached, in order; after the last none.
        mailbox: What waits.
        on: Called before each effect is performed; may change the world.
    """

    lines: Iterable[Line] = ()
    rules: Rules = field(default_factory=Rules)
    directives: Iterable[Directive] = ()
    tools: Callable[[ToolCall], Result] = echo
    held: tuple[str | type[Effect], ...] = ()
    polling: tuple[str, ...] = ()
    approval: tuple[str, ...] = ()
    flaws: Iterable[str] = ()
    extensions: Iterable[int] = ()
    mailbox: list[Mail] = field(default_factory=list[Mail])
    on: Callable[["Play", Effect], None] = lambda _play, _effect: None
    effects: list[Effect] = field(default_factory=list[Effect])
    outcomes: list[Outcome] = field(default_factory=list[Outcome])
    pending: dict[Op, Effect] = field(default_factory=dict[Op, Effect])
    asked: list[tuple[Purpose, tuple[Turn, ...]]] = field(default_factory=list[tuple[Purpose, tuple[Turn, ...]]])

    def __post_init__(self) -> None:
        """Begin with an agent that has not lived."""
        self.state = AgentState.begin(AGENT, self.rules)
        self._lines = iter(self.lines)
        self._directives = iter(self.directives)
        self._flaws = iter(self.flaws)
        self._extensions = iter(self.extensions)
        self._events: deque[Event] = deque()
        self._runs = 0

    # --- what a test does ---------------------------------------------------------------------------------------------

    def ask(self, task: str = "Count the words.", timeout: float | None = None, *said: str) -> "Play":
        """Give the agent a task and play until nothing more happens by itself."""
        self._runs += 1
        return self.feed(Asked(RunId(f"ana.1.{self._runs}"), task, timeout, said))

    def wake(self, timeout: float | None = None) -> "Play":
        """Wake the agent as mail does."""
        self._runs += 1
        return self.feed(Woken(RunId(f"ana.1.{self._runs}"), timeout))

    def feed(self, *events: Event) -> "Play":
        """Have events happen, and play until nothing more happens by itself."""
        self._events.extend(events)
        while self._events:
            self.state, effects = advance(self.state, self._events.popleft())
            for effect in effects:
                self.effects.append(effect)
                self.on(self, effect)
                self._perform(effect)
        return self

    def send(self, *mails: Mail) -> "Play":
        """Put mail into the mailbox; an agent that waits for it learns so."""
        self.mailbox.extend(mails)
        if isinstance(self.state.doing, Waiting):
            self.feed(MailArrived())
        return self

    def end(self, name: str, output: str, *, mail_waits: bool = False) -> "Play":
        """End the oldest held call of a tool."""
        op = next(op for op, one in self.pending.items() if isinstance(one, RunTool) and one.call.name == name)
        del self.pending[op]
        return self.feed(ToolEnded(op, output, f"digest of {output}", mail_waits=mail_waits))

    def decide(self, *, allowed: bool, reason: str = "") -> "Play":
        """Have a person decide about the oldest call that is held."""
        op = next(op for op, one in self.pending.items() if isinstance(one, AskApproval))
        del self.pending[op]
        return self.feed(Decided(op, allowed, reason))

    def fire(self, kind: type[StartTimer | StartDeadline | WaitForMail] = StartTimer) -> "Play":
        """Let the oldest held timer of a kind run out."""
        op = next(op for op, one in self.pending.items() if isinstance(one, kind))
        del self.pending[op]
        return self.feed(DeadlinePassed(op) if kind is StartDeadline else TimerFired(op))

    def model(self, line: Line) -> "Play":
        """Have the model answer the call that it is thinking about."""
        effect = next(one for one in self.pending.values() if isinstance(one, CallModel))
        del self.pending[effect.op]
        return self.feed(self._answer(effect, line))

    # --- what a test looks at -----------------------------------------------------------------------------------------

    @property
    def phase(self) -> Phase:
        """What the agent is doing."""
        return self.state.phase

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The transcript."""
        return self.state.transcript.turns

    @property
    def texts(self) -> list[str]:
        """The transcript's texts."""
        return [turn.content for turn in self.turns]

    @property
    def outputs(self) -> list[str]:
        """What the calls came to, as the model reads it."""
        return [turn.content for turn in self.turns if isinstance(turn, ToolResult)]

    @property
    def ran(self) -> list[str]:
        """Names of the tools that ran."""
        runs = (effect for effect in self.effects if isinstance(effect, RunTool))
        return [each.call.name for each in runs if each.approved or each.call.name not in self.approval]

    @property
    def outcome(self) -> Outcome:
        """The newest outcome."""
        return self.outcomes[-1]

    @property
    def notices(self) -> list[str]:
        """The kinds of what watchers see, as in `step.intro`."""
        return [f"{one.type}.{one.extra_type}" for one in self.effects if isinstance(one, Notify)]

    @property
    def purposes(self) -> list[Purpose]:
        """What the model was called for, in order."""
        return [purpose for purpose, _ in self.asked]

    @property
    def nodes(self) -> dict[str, NodeStatus]:
        """How the plan's steps stand."""
        held = self.state.current.plan
        return {} if held is None else {node.id: node.status for node in held.nodes}

    def told(self, kind: str) -> list[Notify]:
        """What watchers saw of a kind, as in `step.intro`."""
        return [one for one in self.effects if isinstance(one, Notify) and f"{one.type}.{one.extra_type}" == kind]

    def requests(self, purpose: Purpose) -> list[str]:
        """The texts of all requests for a purpose."""
        return ["\n".join(turn.content for turn in turns) for each, turns in self.asked if each is purpose]

    def seen(self, kind: type[Effect]) -> int:
        """How many effects of a kind there were."""
        return sum(isinstance(effect, kind) for effect in self.effects)

    # --- the world ----------------------------------------------------------------------------------------------------

    def _perform(self, effect: Effect) -> None:
        match effect:
            case Notify():
                pass
            case Cancel(ops=ops):
                for op in ops:
                    self.pending.pop(op, None)
            case Commit(consumed=ids):
                self.mailbox[:] = [one for one in self.mailbox if one.id not in ids]
            case _ if type(effect) in self.held:
                self.pending[effect.op] = effect
            case _:
                self._begin(effect)

    def _begin(  # noqa: C901, PLR0912, PLR0915  one case for each effect
        self,
        effect: TakeMail
        | LookForMail
        | WaitForMail
        | AskLeave
        | CallModel
        | RunTool
        | AskApproval
        | StartTimer
        | StartDeadline
        | Finish,
    ) -> None:
        match effect:
            case TakeMail(op=op):
                self._events.append(MailTaken(op, tuple(self.mailbox)))
            case LookForMail(op=op):
                self._events.append(MailSeen(op, bool(self.mailbox)))
            case AskLeave(op=op, first=first):
                more = next(self._extensions, None) if first else None
                directed = Directed(op, next(self._directives, grant())) if more is None else Extended(op, more)
                self._events.append(directed)
            case CallModel(op=op, purpose=purpose):
                assert isinstance(self.state.doing, Asking)
                self.asked.append((purpose, request(self.state, self.state.doing, (), 8000)))
                line = next(self._lines, None)
                if line is None:
                    self.pending[op] = effect
                else:
                    self._events.append(self._answer(effect, line))
            case RunTool(op=op, call=asked, approved=False) if asked.name in self.approval:
                self._events.append(ToolHeld(op, f"{asked.name} is marked", asked.arguments))
            case RunTool(op=op, call=asked):
                if asked.name in self.held:
                    self.pending[op] = effect
                else:
                    self._events.append(self._ended(effect, self.tools(asked)))
            case StartTimer(op=op):
                self._events.append(TimerFired(op))
            case StartDeadline() | WaitForMail() | AskApproval():
                self.pending[effect.op] = effect
            case Finish(op=op, outcome=outcome):
                self.outcomes.append(outcome)
                self._events.append(Finished(op))
            case _:
                assert_never(effect)

    def _answer(self, effect: CallModel, line: Line) -> Event:
        if isinstance(line, Failure):
            after, jitter = line.after, line.jitter
            return ModelFailed(effect.op, line.kind, line.sentence, line.retryable, after, jitter, line.throttled)
        asked = line.message.calls
        facts = tuple(CallFacts(f"{c.name}{c.arguments}", c.name in self.polling) for c in asked)
        typed = not asked and effect.purpose is Purpose.THINK
        flaw = next(self._flaws, "") if typed else ""
        return Replied(effect.op, line, facts, flaw, {"said": line.message.content} if typed and not flaw else None)

    def _ended(self, effect: RunTool, result: Result) -> ToolEnded | ToolHeld:
        op, output = effect.op, result.output
        if result.held is not None and not effect.approved:
            return ToolHeld(op, result.held, result.rewritten or effect.call.arguments)
        failed = output.startswith("ERROR: ")
        return ToolEnded(op, output, f"digest of {output}", failed, result.wait, mail_waits=bool(self.mailbox))
