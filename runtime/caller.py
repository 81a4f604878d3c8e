"""A model call from the request to its settlement: draft, bound, check-in, attempt, report.

This is the shell of `step/asking.py`; it decides nothing. What it keeps is what makes the next request cheap: the
last draft, whose pieces are used again, and the last count, which makes the next bound tight.
"""

import logging
from dataclasses import dataclass, replace

from ..protocols.checkin import AttemptResult, CheckIn, Directive, Grant, Proceed, Settlement, Stop, Wait
from ..protocols.errors import FleetError, ProviderError
from ..protocols.ids import AgentId, Incarnation
from ..protocols.messages import Finish, Reply, Turn
from ..protocols.presets import ModelPreset
from ..protocols.prices import Price
from ..protocols.providers.base import Draft, Provider, ToolSchema, Watcher
from ..protocols.providers.connection import connect
from .ports import Clock, SupervisorLink
from .step.budget import Counted, request_bound
from .step.phases import Asking, Purpose
from .step.requests import request
from .step.state import AgentState

__all__ = ("Caller", "Model")

log = logging.getLogger(__name__)

UNREACHABLE_TRIES = 30
"""Check-ins that may fail in a row before the run is stopped: without a Supervisor nothing new is begun. An agent that
has a lease stands still before it comes to that, and waits for the next Supervisor."""

UNREACHABLE_PAUSE = 1.0
"""Seconds between them."""

TOOLS_A_REPLY = 32
"""Calls of tools that a reply may make where these are limited: more, and one agent would hold what others need."""


@dataclass
class Model:
    """One preset's provider, and what is kept of its last request.

    Attributes:
        name: What the provider calls it.
        key: What shares the provider's rate limits.
        output: The most output tokens one call may ask for.
        draft: The last request of the conversation.
        counted: The last one whose prompt the provider counted.
        price: What its tokens cost; None: nobody says.
        beside: Tokens that a call may be billed beyond its output, as far as is known.
    """

    provider: Provider
    name: str
    key: str
    output: int
    draft: Draft | None = None
    counted: Counted | None = None
    price: Price | None = None
    beside: int = 0

    @classmethod
    def of(cls, preset: ModelPreset) -> "Model":
        """The model of a preset; nothing is opened before its first call.

        Raises:
            PresetInvalid: The adapter cannot work with it.
        """
        return cls(
            connect(preset),
            preset.model,
            preset.provider_key,
            preset.config.max_tokens,
            price=preset.price,
            beside=preset.beside or 0,
        )

    def write(self, turns: tuple[Turn, ...], tools: tuple[ToolSchema, ...], *, aside: bool) -> Draft:
        """Write a request. One that stands `aside` from the conversation is not built upon by the next."""
        if aside:
            return self.provider.draft(turns, tools, None)
        self.draft = self.provider.draft(turns, tools, self.draft)
        return self.draft

    def came_to(self, spent: Settlement, reply: Reply, tools: int | None) -> Settlement:
        """What an attempt came to that was answered, whose reply may make so many calls of `tools`; None: any number.

        They count when the reply makes them, whatever comes of them. Of a reply that was cut off none will run. An
        estimate of tokens may be too low, and then a limit would be passed: what was not counted is spent in full.
        """
        calls, usage = 0 if reply.finish is Finish.LENGTH else len(reply.message.calls), reply.usage
        return replace(
            spent,
            tokens=None if usage.estimated else usage.total,
            nanodollars=0 if self.price is None else self.price.cost(usage),
            tool_calls=calls if tools is None else min(calls, tools),
            result=AttemptResult.OK,
        )

    def bound(self, draft: Draft) -> int:
        """The most tokens the request's prompt can be counted as."""
        return request_bound(draft.head, draft.fragments, draft.hidden_prompt, self.counted)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request that leave was asked for; one that is `aside` from the conversation counts for no later bound."""

    model: Model
    draft: Draft
    aside: bool


class Caller:
    """Makes one agent's model calls, one at a time. The run's state says which of the presets is asked."""

    def __init__(
        self, agent: AgentId, incarnation: Incarnation, models: tuple[Model, ...], link: SupervisorLink, last_input: int
    ) -> None:
        """Keep the ports. `last_input` is the bytes of text a last answer's request may have."""
        self._agent = agent
        self._incarnation = incarnation
        self._models = models
        self._link = link
        self._last_input = last_input
        self._prepared: dict[str, Prepared] = {}
        self._attempt = 0
        self._lost = False
        self._told = False
        self._unreachable = 0
        self._held: set[str] = set()
        self._unsettled: dict[str, Settlement] = {}

    async def ask_leave(
        self, state: AgentState, doing: Asking, tools: tuple[ToolSchema, ...], output: int
    ) -> Directive:
        """Write the request and check in. A Supervisor that cannot be reached grants nothing."""
        model, aside = self._models[state.current.preset], doing.purpose is not Purpose.THINK
        turns = request(state, doing, tools, self._last_input)
        draft = model.write(turns, () if aside else tools, aside=aside)
        # A check-in whose answer was lost may have reserved: asked under the same number, it is the same reservation.
        # One that was told to wait has its turn under its number. One that is still unanswered is another matter: its
        # grant will be declined, so this one needs its own number.
        again, self._lost = self._lost, False
        told, self._told = self._told, False
        self._attempt += not (again or told)
        prepared = Prepared(model, draft, aside)
        asked = self._check_in(state, doing, prepared, tools, output)
        try:
            await self.settle_rest()
            directive = await self._link.check_in(asked)
        except FleetError as error:
            self._lost = asked.attempt == self._attempt
            return self._without_supervisor(error)
        self._unreachable = 0
        if isinstance(directive, Proceed):
            self._prepared[directive.grant.reservation] = prepared
        elif isinstance(directive, Wait):  # so nothing is reserved
            self._told = asked.attempt == self._attempt
        elif again:
            self._unsettled[asked.reservation] = self._nothing(asked.reservation)  # the lost one may have reserved
        return directive

    def _check_in(
        self, state: AgentState, doing: Asking, prepared: Prepared, tools: tuple[ToolSchema, ...], output: int
    ) -> CheckIn:
        """What leave is asked for."""
        model, run = prepared.model, state.current
        output = min(output, model.output)
        return CheckIn(
            agent=self._agent,
            incarnation=self._incarnation,
            run=run.id,
            step=state.step,
            phase=state.phase.value,
            attempt=self._attempt,
            provider=model.key,
            bound=model.bound(prepared.draft),
            output=output,
            floor=min(output, 256),
            last_answer=doing.purpose is Purpose.LAST,
            rates=None if model.price is None else model.price.rates,
            tools=0 if prepared.aside or not tools else TOOLS_A_REPLY,
            beside=model.beside,
            limit=run.limit,
        )

    def _without_supervisor(self, error: FleetError) -> Directive:
        self._unreachable += 1
        if self._unreachable >= UNREACHABLE_TRIES:
            return Stop(f"the Supervisor cannot be reached: {error}")
        return Wait(UNREACHABLE_PAUSE, f"the Supervisor cannot be reached: {error}")

    def hold(self, grant: Grant) -> None:
        """Take a grant for a call that is about to begin; `call` uses it, `release` gives it back if it did not."""
        self._held.add(grant.reservation)

    def release(self, grant: Grant) -> None:
        """Give a held grant back, if its call never began."""
        if grant.reservation in self._held:
            self._held.discard(grant.reservation)
            self.decline(grant)

    @property
    def owes(self) -> bool:
        """An attempt was not reported yet."""
        return bool(self._unsettled)

    async def call(self, grant: Grant, clock: Clock, watch: Watcher | None) -> Reply:
        """Make the attempt that was granted, and report what it came to.

        Raises:
            ProviderError: The attempt failed.
        """
        asked = self._prepared.pop(grant.reservation)
        spent = self._nothing(grant.reservation)
        self._held.discard(grant.reservation)
        try:
            if grant.after > 0:
                await clock.sleep(grant.after)
            spent, began = replace(spent, tokens=None, model_calls=1), clock.monotonic()
            reply = await asked.model.provider.call(asked.draft, grant.output, watch)
            reply = replace(reply, model=asked.model.name, seconds=clock.monotonic() - began)
            spent = asked.model.came_to(spent, reply, 0 if asked.aside else grant.tools)
        except ProviderError as error:
            spent = replace(spent, result=AttemptResult.of(error), after=error.after)
            if not error.billed:
                spent = replace(spent, tokens=0, model_calls=0)
            raise
        finally:
            self._unsettled[grant.reservation] = spent
        if not (reply.usage.estimated or asked.aside):
            asked.model.counted = Counted(asked.draft.head, asked.draft.fragments, reply.usage.prompt)
        return reply

    def decline(self, grant: Grant) -> None:
        """Give a grant back unused; its reservation is reported as nothing spent."""
        self._prepared.pop(grant.reservation, None)
        self._unsettled[grant.reservation] = self._nothing(grant.reservation)

    def _nothing(self, reservation: str) -> Settlement:
        return Settlement(self._agent, self._incarnation, reservation, 0, model_calls=0)

    async def settle_rest(self) -> None:
        """Report every attempt that was not reported yet; reports are idempotent.

        Raises:
            FleetError: The Supervisor cannot be reached; what is left is reported later.
        """
        for reservation, settlement in tuple(self._unsettled.items()):
            await self._link.settle(settlement)
            self._unsettled.pop(reservation, None)

    async def settle_soon(self) -> None:
        """Report at once; a report that fails is repeated before the next check-in."""
        try:
            await self.settle_rest()
        except FleetError as error:
            log.warning("a settlement of %s waits for the Supervisor: %s", self._agent, error)

    async def aclose(self) -> None:
        """Close the providers' connections."""
        for model in self._models:
            await model.provider.aclose()
