"""Hooks: code of the user's that an agent asks at certain points, and that answers with a decision.

    class Careful(Hooks):
        def before_tool(self, call: ToolAsked) -> NeedsApproval | None:
            return NeedsApproval("it deletes files") if call.tool == "delete" else None

    agent = create_agent(..., hooks=(Careful(),))

They run in the agent's process, one after the other in the order given. An `async def` runs on the agent's loop, any
other in a thread. A hook that raises, takes longer than 30 seconds or decides what its point does not know has failed,
which a notice (`agent.hook_failed`) and the log say: a call it stood before does not run, a Step it stood before ends
the run, and anything else goes on as if it had decided nothing.

What a person allows is what runs. The person sees the call as the hooks have left it; once it is allowed they are asked
about that very call again, and can then only refuse it: a rewrite or a wish for approval changes nothing there.
"""

import json
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from inspect import signature
from typing import ClassVar, Final, TypeAlias, TypeVar, cast

from ..protocols.errors import PresetInvalid
from ..protocols.ids import AgentId, RunId
from ..protocols.messages import Json
from ..protocols.outcome import Limit
from .tools.text import clean

__all__ = (
    "AddNote",
    "Decision",
    "EndRun",
    "ExtendRounds",
    "HookPoint",
    "Hooks",
    "LimitReached",
    "NeedsApproval",
    "RefuseCall",
    "ReplaceOutput",
    "ReplaceSummary",
    "RewriteArguments",
    "StepBegun",
    "StepEnded",
    "ToolAsked",
    "ToolDone",
    "check_hook",
)

T = TypeVar("T")

Answer: TypeAlias = T | Awaitable[T | None] | None
"""What a hook gives back; None: it has nothing against what would happen without it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookPoint:
    """Where an agent asks its hooks.

    Attributes:
        step: Steps of the agent's life so far, this one included.
    """

    agent: AgentId
    run: RunId
    step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StepBegun(HookPoint):
    """A Step has begun, and nothing has happened in it; `node` is the plan's, empty without a plan."""

    node: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepEnded(HookPoint):
    """A Step has ended.

    Attributes:
        node: The plan node it worked on; empty without a plan.
        summary: What the plan will say that the node came to; empty without a plan.
    """

    node: str = ""
    summary: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAsked(HookPoint):
    """The model calls a tool, with arguments that the tool takes. Changing them in place changes nothing."""

    tool: str
    arguments: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDone(HookPoint):
    """A call has run; `output` is what the model would read, and `failed` whether that tells of a failure."""

    tool: str
    arguments: Mapping[str, Json]
    output: str
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitReached(HookPoint):
    """A limit would end the run; `reason` is the sentence that says how."""

    limit: Limit
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Worded:
    """A decision made of texts that say something. Lone surrogates, which no request can carry, are replaced."""

    may_be_empty: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Check the texts.

        Raises:
            TypeError: One is no text.
            ValueError: One says nothing.
        """
        for field in fields(self):
            text: object = getattr(self, field.name)
            where = f"{type(self).__name__}.{field.name}"
            if not isinstance(text, str):
                raise TypeError(f"{where} must be a text, not a {type(text).__name__}")
            if not text.strip() and not self.may_be_empty:
                raise ValueError(f"{where} must say something")
            object.__setattr__(self, field.name, clean(text))


@dataclass(frozen=True, slots=True)
class AddNote(Worded):
    """Add a user note before the Step."""

    text: str


@dataclass(frozen=True, slots=True)
class EndRun(Worded):
    """End the run as stopped."""

    reason: str


@dataclass(frozen=True, slots=True)
class ReplaceSummary(Worded):
    """Have the plan say this of the node."""

    text: str


@dataclass(frozen=True, slots=True)
class RewriteArguments:
    """Call the tool with these arguments. They are validated as the model's own are."""

    arguments: Mapping[str, Json]

    def __post_init__(self) -> None:
        """Keep a copy of what JSON can say.

        Raises:
            TypeError: It is no mapping, or it holds what is no JSON value.
            ValueError: It holds itself.
        """
        given = cast("object", self.arguments)
        if not isinstance(given, Mapping):
            raise TypeError(f"RewriteArguments.arguments must be a mapping, not a {type(given).__name__}")
        object.__setattr__(self, "arguments", json.loads(json.dumps(dict(self.arguments))))


@dataclass(frozen=True, slots=True)
class RefuseCall(Worded):
    """Do not run the call. The model reads `Cancelled: <reason>`."""

    reason: str


@dataclass(frozen=True, slots=True)
class NeedsApproval(Worded):
    """Hold the call until a person allows or refuses it; `reason` is for that person."""

    reason: str


@dataclass(frozen=True, slots=True)
class ReplaceOutput(Worded):
    """Have the model read this. A text that begins `ERROR` tells of a failure."""

    text: str

    may_be_empty: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class ExtendRounds:
    """Let the run go on for so many more rounds."""

    rounds: int

    def __post_init__(self) -> None:
        """Take no other than a number of rounds.

        Raises:
            ValueError: It is below 1, or no whole number.
        """
        if type(self.rounds) is not int or self.rounds < 1:  # a bool is no number of rounds
            raise ValueError(f"ExtendRounds.rounds must be a whole number of at least 1, not {self.rounds!r}")


Decision: TypeAlias = (
    AddNote | EndRun | ReplaceSummary | RewriteArguments | RefuseCall | NeedsApproval | ReplaceOutput | ExtendRounds
)


class Hooks:
    """What to override. A method is sync or async, and gives a decision or None.

    One object may serve many calls at once, in threads where its methods are sync. On Ray it goes to the agent's
    process by pickle, so what it holds must be picklable.
    """

    def before_step(self, step: StepBegun, /) -> Answer[AddNote | EndRun]:
        """Before a Step begins: add a note to it, or end the run."""

    def after_step(self, step: StepEnded, /) -> Answer[ReplaceSummary]:
        """After a Step has ended: say in other words what its plan node came to."""

    def before_tool(self, call: ToolAsked, /) -> Answer[RewriteArguments | RefuseCall | NeedsApproval]:
        """Before a call runs: rewrite its arguments, refuse it, or have a person decide.

        A call that a person has allowed comes here once more before it runs, as it was allowed: it may still be
        refused, and any other decision changes nothing.
        """

    def after_tool(self, result: ToolDone, /) -> Answer[ReplaceOutput]:
        """After a call has run: replace what the model reads of it."""

    def on_limit(self, limit: LimitReached, /) -> Answer[ExtendRounds]:
        """When a limit would end the run: extend it. At any but `agent_tool_call_limit` a notice says that none can."""


METHODS: Final = tuple(name for name in vars(Hooks) if not name.startswith("_"))
"""The methods that are asked."""

LIKENESS = 0.75
"""How near, from 0 to 1, a name is to one of them that is taken for it, as `before_tol` is."""


def check_hook(hook: Hooks) -> None:
    """Refuse a hook that would guard nothing, or fail whenever it is asked.

    Raises:
        PresetInvalid: A public method is named nearly like one that is asked, or one that is asked takes something
            else than the one argument it gets.
    """
    kind = type(hook)
    for name in dir(kind):
        near = get_close_matches(name, METHODS, 1, LIKENESS)
        if near and name not in METHODS and not name.startswith("_") and callable(getattr(kind, name, None)):
            advice = f"did you mean {near[0]!r}? (a method of {kind.__name__}'s own may begin with an underscore)"
            raise PresetInvalid(field="hooks", reason=f"Hooks has no method {name!r}: {advice}")
    for name in METHODS:
        check_method(kind.__name__, name, getattr(hook, name))


def check_method(hook: str, name: str, method: object) -> None:
    """Refuse what cannot be called as a hook's method is.

    Raises:
        PresetInvalid: It cannot.
    """
    (argument,) = list(signature(getattr(Hooks, name)).parameters)[1:]
    advice = f"is called with one argument: write `def {name}(self, {argument})`."
    if not callable(method):
        raise PresetInvalid(field="hooks", reason=f"{hook}.{name} {advice}")
    try:
        parameters = signature(method)
    except ValueError:  # one that is written in C says nothing of what it takes
        return
    try:
        parameters.bind(argument)
    except TypeError as error:
        raise PresetInvalid(field="hooks", reason=f"{hook}.{name}{parameters} ({error}) {advice}") from None
