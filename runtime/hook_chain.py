"""Asks an agent's hooks, one after the other. What a hook does wrong is told and never spreads."""

import logging
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from inspect import isawaitable, iscoroutinefunction
from types import MappingProxyType
from typing import TypeAlias, cast

from ..protocols.messages import Json
from ..protocols.notices import NoticeType
from ..protocols.plural import plural
from .errors import HookFailed
from .hooks import (
    AddNote,
    Answer,
    Decision,
    EndRun,
    ExtendRounds,
    HookPoint,
    Hooks,
    LimitReached,
    NeedsApproval,
    RefuseCall,
    ReplaceOutput,
    ReplaceSummary,
    RewriteArguments,
    StepBegun,
    StepEnded,
    ToolAsked,
    ToolDone,
    check_hook,
)
from .leash import GRACE, Gave, Late, Leash, Raised
from .step.raised import sentence
from .tools.threads import Threads

__all__ = ("HookChain", "Ruling")

log = logging.getLogger(__name__)

PATIENCE = 30.0
"""Seconds a hook may take for one decision."""

Tell: TypeAlias = Callable[[NoticeType, str, str, dict[str, str]], None]
"""Tells the watchers: what the notice is about, which event, one line, the facts."""

POINTS: Mapping[type[HookPoint], tuple[str, tuple[type[Decision], ...]]] = MappingProxyType(
    {
        StepBegun: ("before_step", (AddNote, EndRun)),
        StepEnded: ("after_step", (ReplaceSummary,)),
        ToolAsked: ("before_tool", (RewriteArguments, RefuseCall, NeedsApproval)),
        ToolDone: ("after_tool", (ReplaceOutput,)),
        LimitReached: ("on_limit", (ExtendRounds,)),
    }
)
"""The method that is asked about each thing, and the decisions it may give."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """What the hooks say of a call: the arguments if they rewrote them, and what stands against running it now."""

    arguments: Mapping[str, Json] | None = None
    against: RefuseCall | NeedsApproval | None = None


class HookChain:
    """The hooks of one agent, on one event loop. False when there are none."""

    def __init__(
        self,
        hooks: Iterable[Hooks],
        tell: Tell,
        *,
        patience: float = PATIENCE,
        threads: Threads | None = None,
        grace: float = GRACE,
    ) -> None:
        """Keep those that do something at each point.

        Args:
            hooks: In the order in which they are asked.
            tell: Tells the watchers.
            patience: Seconds a decision may take.
            threads: Where sync hooks run; None: as many as an agent has.
            grace: Seconds a cancelled async hook has to put things in order.

        Raises:
            PresetInvalid: A hook would guard nothing, or fail whenever it is asked.
        """
        hooks = tuple(hooks)
        for hook in hooks:
            check_hook(hook)
        self._asked = {kind: tuple(h for h in hooks if overrides(h, name)) for kind, (name, _) in POINTS.items()}
        self._tell = tell
        self._patience = patience
        self._threads = threads or Threads()
        self._grace = grace

    def __bool__(self) -> bool:
        """Whether any hook does anything."""
        return any(self._asked.values())

    async def before_step(self, step: StepBegun) -> AddNote | EndRun | None:
        """The first decision. A hook that fails ends the run: nobody knows what it would have forbidden."""
        for hook in self._asked[StepBegun]:
            try:
                decision = await self._ask(hook, step)
            except HookFailed as error:
                return EndRun(str(error))
            if isinstance(decision, AddNote | EndRun):
                return decision
        return None

    async def after_step(self, step: StepEnded) -> ReplaceSummary | None:
        """The last summary; each hook sees that of the one before it."""
        last: ReplaceSummary | None = None
        for hook in self._asked[StepEnded]:
            decision = await self._ask_kindly(hook, step)
            if isinstance(decision, ReplaceSummary):
                last, step = decision, replace(step, summary=decision.text)
        return last

    async def before_tool(self, call: ToolAsked, *, approved: bool = False) -> Ruling:
        """What stands against the call: a refusal, whichever hook has one, or else the first wish for a person's leave.

        Each hook sees the arguments as the one before it left them.

        Args:
            call: What is about to run.
            approved: A person has allowed just this call, so that hooks may refuse it and no more.

        Raises:
            HookFailed: A hook failed, so the call must not run.
        """
        arguments: Mapping[str, Json] | None = None
        asked: NeedsApproval | None = None
        for hook in self._asked[ToolAsked]:
            match await self._ask(hook, deepcopy(call)):  # what one hook changes in place, the next must not see
                case RewriteArguments() as rewrite if not approved:
                    arguments = rewrite.arguments
                    call = replace(call, arguments=arguments)
                case RefuseCall() as refusal:
                    return Ruling(arguments, refusal)
                case NeedsApproval() as wish if not approved:
                    asked = asked or wish
                case _:
                    pass
        return Ruling(arguments, asked)

    async def after_tool(self, result: ToolDone) -> ReplaceOutput | None:
        """The last output; each hook sees that of the one before it."""
        last: ReplaceOutput | None = None
        for hook in self._asked[ToolDone]:
            decision = await self._ask_kindly(hook, result)
            if isinstance(decision, ReplaceOutput):
                last, result = decision, replace(result, output=decision.text)
        return last

    async def on_limit(self, limit: LimitReached) -> ExtendRounds | None:
        """The first extension. Whether the limit can be extended is not for hooks to know."""
        for hook in self._asked[LimitReached]:
            decision = await self._ask_kindly(hook, limit)
            if isinstance(decision, ExtendRounds):
                return decision
        return None

    async def _ask_kindly(self, hook: Hooks, point: HookPoint) -> Decision | None:
        """A hook's decision; none when it fails, which has been told."""
        try:
            return await self._ask(hook, point)
        except HookFailed:
            return None

    async def _ask(self, hook: Hooks, point: HookPoint) -> Decision | None:
        """A hook's decision.

        Raises:
            HookFailed: It raised, took too long, or decided what it cannot at this point; the watchers know.
        """
        name, kinds = POINTS[type(point)]
        method = getattr(hook, name)
        work = self._answer(method, point)
        match await Leash(work, f"The hook {named(hook)}.{name}", self._grace).within(self._patience):
            case Gave(decision) if decision is None or isinstance(decision, kinds):
                return decision
            case Gave(other):
                takes = ", ".join(kind.__name__ for kind in kinds)
                wrong = TypeError(f"it gave a {type(other).__name__}, not {takes} or None")
                raise self._failed(hook, name, sentence(wrong), wrong)
            case Raised(error):
                raise self._failed(hook, name, sentence(error), error) from error
            case Late() as late:
                end = late if iscoroutinefunction(method) else Late.LEFT  # a thread cannot be stopped
                raise self._failed(hook, name, f"it took longer than {plural(self._patience, 'second')} and {end}")

    async def _answer(self, method: Callable[[HookPoint], Answer[Decision]], point: HookPoint) -> Decision | None:
        if iscoroutinefunction(method):
            answer = cast("Answer[Decision]", method(point))
        else:
            answer = await self._in_thread(method, point)
        return await answer if isawaitable(answer) else answer

    async def _in_thread(self, method: Callable[[HookPoint], Answer[Decision]], point: HookPoint) -> Answer[Decision]:
        async with self._threads.turn():
            if self._threads.spent:
                raise RuntimeError("too many earlier hooks are stuck in their threads")
            return await self._threads.run(partial(method, point))

    def _failed(self, hook: Hooks, name: str, reason: str, cause: BaseException | None = None) -> HookFailed:
        """The error for a hook's failure, once it has been told."""
        failure = HookFailed(hook=named(hook), point=name, reason=reason)
        log.warning("%s", failure)
        log.debug("where %s.%s failed", failure.hook, name, exc_info=cause)
        facts = {"hook": failure.hook, "point": name, "reason": reason}
        self._tell(NoticeType.AGENT, "hook_failed", str(failure), facts)
        return failure


def overrides(hook: Hooks, name: str) -> bool:
    """Whether a hook does anything at a point, by its class or by a method put on the object itself."""
    return getattr(getattr(hook, name), "__func__", None) is not getattr(Hooks, name)


def named(hook: Hooks) -> str:
    """What a hook is called."""
    return type(hook).__name__
