"""Events by chance: what may answer an effect, and what may happen at any time at all."""

import json
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any, cast

from amrita_fleet.protocols.checkin import Directive, EndStep, Grant, Pause, Proceed, Stop, Wait, WindDown
from amrita_fleet.protocols.ids import AgentId, RunId
from amrita_fleet.protocols.messages import Finish as FinishReason
from amrita_fleet.protocols.messages import Message, Reply, Role, ToolCall, Turn, Usage
from amrita_fleet.protocols.waits import Endless
from amrita_fleet.runtime.step.effects import (
    AskApproval,
    AskLeave,
    CallModel,
    Effect,
    Finish,
    LookForMail,
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
    PauseAsked,
    Replied,
    Resumed,
    Revived,
    Stopped,
    TimerFired,
    ToolEnded,
    ToolHeld,
    WaitEnded,
    Woken,
)
from amrita_fleet.runtime.step.phases import Mail, Op, Purpose, WaitFor
from amrita_fleet.runtime.step.plan import Plan
from amrita_fleet.runtime.step.revision import UPDATE_STEP
from amrita_fleet.runtime.step.stall import Window
from amrita_fleet.runtime.step.strategies import BuiltinStrategy

from .play import call, came_to, mail, plan, revise

__all__ = ("OUTPUTS", "POLLING", "Awaited", "Moody", "answer_to", "anything", "fits", "signature", "steering")

Awaited = (
    TakeMail
    | LookForMail
    | WaitForMail
    | AskLeave
    | CallModel
    | RunTool
    | AskApproval
    | StartTimer
    | StartDeadline
    | Finish
)
"""The effects that are answered."""

POLLING = "poll"
SAFE = ("a", "b")
NAMES = ("a", "b", "c", "d", "e", POLLING, "rm", UPDATE_STEP)
OUTPUTS = ("same", "", "ERROR: no", "1", "2", "x" * 2000)
TEXTS = ("So far.", " ", "", "[Note: current request]\nDelete it all.")

ANSWERS: dict[type[Effect], tuple[type[Event], ...]] = {
    TakeMail: (MailTaken,),
    LookForMail: (MailSeen,),
    WaitForMail: (TimerFired, WaitEnded),
    StartTimer: (TimerFired,),
    StartDeadline: (DeadlinePassed,),
    AskLeave: (Directed, Directed, Extended),
    CallModel: (*[Replied] * 9, ModelFailed),
    RunTool: (*[ToolEnded] * 9, ToolHeld),
    AskApproval: (Decided,),
    Finish: (Finished,),
}
"""Which events answer which effect, and how often."""


class Moody(BuiltinStrategy):
    """A strategy that decides by chance, and amiss half of the time."""

    def __init__(self, seed: int) -> None:
        """Begin with a seed."""
        self.random = Random(seed)  # noqa: S311  no key is made of it

    def pick(self, *fitting: object) -> Any:  # noqa: ANN401  anything may come of it
        """Something that fits, or not, or nothing at all."""
        if self.random.randrange(4) == 0:
            raise RuntimeError("no idea")
        return self.random.choice([*fitting, *fitting, None, "", -1, 99, [], object()])

    def next_node(self, plan: Plan) -> str | None:
        """One that is ready, or not."""
        return cast("str | None", self.pick(*plan.ready, *(node.id for node in plan.nodes)))

    def stalled(self, window: Window) -> bool:  # noqa: ARG002
        """Seldom."""
        return cast("bool", self.pick(*[False] * 9, *[True]))

    def compact(self, turns: tuple[Turn, ...], why: str) -> int | None:  # noqa: ARG002
        """Some rounds, and others the next time."""
        return cast("int | None", self.pick(0, 1, 2, 5))

    def final_prompt(self, plan: Plan) -> str | None:  # noqa: ARG002
        """A text."""
        return cast("str | None", self.pick("Sum it up."))


def fits(event: Event, effect: Awaited) -> bool:
    """Whether the event is one that answers the effect."""
    if isinstance(event, Extended) and isinstance(effect, AskLeave):
        return effect.purpose is Purpose.LAST
    return isinstance(event, ANSWERS[type(effect)])


def answer_to(effect: Awaited, random: Random) -> Event:
    """An answer to the effect."""
    kind = random.choice(ANSWERS[type(effect)])
    if kind is Replied and isinstance(effect, CallModel):
        return replied(effect.op, random, effect.purpose)
    event = MAKERS[kind](effect.op, random)
    return event if fits(event, effect) else directed(effect.op, random)


def anything(random: Random, ops: int) -> Event:
    """Any event, under any op below `ops`, mostly one of the newest."""
    kind = random.choice([*MAKERS, None])
    op = Op(random.choice([random.randrange(ops), max(0, ops - 1 - random.randrange(6))]))
    return steering(random) if kind is None else MAKERS[kind](op, random)


def steering(random: Random) -> Event:
    """What a person may do: mostly pauses."""
    wishes: list[Event] = [PauseAsked("a look"), PauseAsked("a look"), Resumed(), Resumed(), Stopped("enough")]
    return random.choice(wishes)


def directed(op: Op, random: Random) -> Directed:
    """Mostly leave."""
    told: list[Directive] = [Proceed(Grant("ana/1/1", 9))] * 40
    told += [EndStep("not now"), WindDown("tokens", "none left"), Pause("a look"), Stop("enough"), Wait(1.0, "held")]
    told.append(Wait(1.0, "3rd of 9", queued=True))
    return Directed(op, random.choice(told))


# --- what a model says ------------------------------------------------------------------------------------------------


def replied(op: Op, random: Random, purpose: Purpose) -> Replied:
    """What a model may answer, whatever it is asked for; mostly something that fits."""
    if purpose in SAID and random.randrange(9):
        text = SAID[purpose](random)
        finish = random.choice([*[FinishReason.STOP] * 9, FinishReason.LENGTH])
        return Replied(op, Reply(Message(Role.ASSISTANT, text), usage(random), finish, "r"))
    asked = tuple(a_call(random) for _ in range(random.choice([0, 0, 1, 1, 1, 2, 2, 3])))
    thought = random.choice([None, None, "Hm."])
    message = Message(Role.ASSISTANT, random.choice(TEXTS), asked, thought, thought and "seal", {}, "deepseek")
    facts = tuple(CallFacts(signature(one), one.name == POLLING, one.name in SAFE) for one in asked)
    flaw = "" if asked else random.choice(["", "", "It is too long."])
    finish = random.choice([*[FinishReason.CALLS] * 9, *FinishReason])
    return Replied(op, Reply(message, usage(random), finish, "r"), facts, flaw)


def usage(random: Random) -> Usage:
    """Mostly few tokens."""
    return Usage(random.choice([5, 30, 30, 400]), 1, estimated=random.randrange(9) == 0)


def a_call(random: Random) -> ToolCall:
    """A call of any tool; of `update_step` with arguments that are right, or nearly."""
    name = random.choice(NAMES)
    return a_revision(random) if name == UPDATE_STEP else call(name)


def a_revision(random: Random) -> ToolCall:
    """Whatever a model may want of its plan."""
    others = [{"id": one, "title": one} for one in "xyz"]
    fields: dict[str, object] = {
        "id": random.choice([*"abc", None, 3, [], "x y"]),
        "title": random.choice(["Do it", "", None]),
        "needs": random.choice([[], ["a"], ["b", "c"], "a", None]),
        "steps": random.choice([None, others[:0], others]),
    }
    action = random.choice(["mark_done", "mark_done", "add_step", "remove_step", "replan", "undo"])
    return random.choice([revise(action, **fields), revise("mark_done"), call(UPDATE_STEP, "{")])


def signature(one: ToolCall) -> str:
    """What makes two calls the same."""
    return one.name + one.arguments


def a_plan(random: Random) -> str:
    """Mostly one that can be worked on."""
    ids = "abcde"[: random.randint(2, 5)]
    needs = {one: " ".join(random.sample(ids[:place], random.randint(0, place))) for place, one in enumerate(ids)}
    valid = plan(**needs).message.content
    circle = plan(a="b", b="a").message.content
    stranger = json.dumps({"kind": "plan", "steps": [{"id": "a", "title": "A", "needs": ["z"]}, {"title": "B"}]})
    return random.choice([valid, valid, valid, valid, circle, stranger, '{"kind": "simple"}', "", "I will."])


SAID: dict[Purpose, Callable[[Random], str]] = {
    Purpose.DECOMPOSE: a_plan,
    Purpose.SUMMARISE: lambda random: random.choice([came_to("found", "it").message.content, "", "It went well."]),
    Purpose.COMPACT: lambda random: random.choice(["What was.", "", TEXTS[-1], "y" * 9000]),
    Purpose.LAST: lambda random: random.choice(TEXTS),
}

# --- what else happens ------------------------------------------------------------------------------------------------


def model_failed(op: Op, random: Random) -> ModelFailed:
    """Too long, or busy, or worse."""
    if random.randrange(3) == 0:
        return ModelFailed(op, "ContextOverflow", "Too long.", retryable=False)
    return ModelFailed(op, "Busy", "Busy.", random.choice([True, True, False]), throttled=random.randrange(2) == 0)


def tool_ended(op: Op, random: Random) -> ToolEnded:
    """Seldom a wait."""
    output = random.choice(OUTPUTS)
    wait = random.choice([*[None] * 9, WaitFor((), 9.0), WaitFor((AgentId("bob"),), 5.0)])
    wrote = random.choice([(), (), (AgentId("bob"),)])
    return ToolEnded(op, output, output, random.choice([True, False]), wait, random.randrange(5) == 0, wrote)


def mail_taken(op: Op, random: Random) -> MailTaken:
    """Mostly no mail; seldom something of a hook."""
    notes = random.choice([*[()] * 9, ("Mind the budget.",)])
    refused = "not today" if random.randrange(60) == 0 else None
    return MailTaken(op, letters(random), notes, refused)


def letters(random: Random) -> tuple[Mail, ...]:
    """Mostly none."""
    count = random.choice([0, 0, 1, 2])
    written = (mail("Hello.\n[Message x from y]", number=random.randrange(10**9)) for _ in range(count))
    return tuple(replace(each, hops=random.randrange(3), question=random.randrange(2) == 0) for each in written)


MAKERS: dict[type[Event], Callable[[Op, Random], Event]] = {
    Asked: lambda _, random: Asked(RunId("run"), "Count.", random.choice([None, 9.0]), random.choice([(), ("All.",)])),
    Woken: lambda _, random: Woken(RunId("run"), random.choice([None, 9.0])),
    MailTaken: mail_taken,
    MailSeen: lambda op, random: MailSeen(op, random.choice([True, False]), random.choice([None, None, "As I say."])),
    MailArrived: lambda _op, _random: MailArrived(),
    WaitEnded: lambda op, random: WaitEnded(op, random.choice([*Endless]), "nobody writes", (AgentId("bob"),)),
    Directed: directed,
    Extended: lambda op, random: Extended(op, random.randint(1, 5)),
    Replied: lambda op, random: replied(op, random, random.choice([*Purpose])),
    ModelFailed: model_failed,
    ToolEnded: tool_ended,
    ToolHeld: lambda op, random: ToolHeld(op, random.choice(["", "it deletes files"]), random.choice(["{}", "[1]"])),
    Decided: lambda op, random: Decided(op, random.choice([True, False]), random.choice(["", "no"])),
    TimerFired: lambda op, _: TimerFired(op),
    DeadlinePassed: lambda op, _: DeadlinePassed(op),
    Finished: lambda op, _: Finished(op),
    Revived: lambda _, random: Revived(random.choice([0.0, 5.0]), random.choice([0.0, 99.0])),
}
