"""Events by chance: what may answer an effect, and what may happen at any time at all."""

from collections.abc import Callable
from random import Random

from amrita_fleet.protocols.checkin import Directive, EndStep, Grant, Pause, Proceed, Stop, Wait, WindDown
from amrita_fleet.protocols.ids import AgentId, RunId
from amrita_fleet.protocols.messages import Finish as FinishReason
from amrita_fleet.protocols.messages import Message, Reply, Role, Usage
from amrita_fleet.runtime.step.effects import (
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
    Directed,
    Event,
    Finished,
    MailArrived,
    MailSeen,
    MailTaken,
    ModelFailed,
    PauseAsked,
    Replied,
    Resumed,
    Stopped,
    TimerFired,
    ToolEnded,
    Woken,
)
from amrita_fleet.runtime.step.phases import Mail, Op, WaitFor

from .play import call, mail

__all__ = ("ANSWERS", "OUTPUTS", "POLLING", "Awaited", "answer_to", "anything", "steering")

Awaited = TakeMail | LookForMail | WaitForMail | AskLeave | CallModel | RunTool | StartTimer | StartDeadline | Finish
"""The effects that are answered."""

POLLING = "poll"
NAMES = ("a", "b", "c", "d", "e", POLLING)
OUTPUTS = ("same", "", "ERROR: no", "1", "2", "3")

ANSWERS: dict[type[Effect], tuple[type[Event], ...]] = {
    TakeMail: (MailTaken,),
    LookForMail: (MailSeen,),
    WaitForMail: (TimerFired,),
    StartTimer: (TimerFired,),
    StartDeadline: (DeadlinePassed,),
    AskLeave: (Directed,),
    CallModel: (Replied, ModelFailed),
    RunTool: (ToolEnded,),
    Finish: (Finished,),
}
"""Which events answer which effect."""


def answer_to(effect: Awaited, random: Random) -> Event:
    """An answer to the effect."""
    return MAKERS[random.choice(ANSWERS[type(effect)])](effect.op, random)


def anything(random: Random, ops: int) -> Event:
    """Any event, under any op below `ops`."""
    kind = random.choice([*MAKERS, None])
    return steering(random) if kind is None else MAKERS[kind](Op(random.randrange(ops)), random)


def steering(random: Random) -> Event:
    """What a person may do: mostly pauses."""
    wishes: list[Event] = [PauseAsked("a look"), PauseAsked("a look"), Resumed(), Resumed(), Stopped("enough")]
    return random.choice(wishes)


def directed(op: Op, random: Random) -> Directed:
    """Mostly leave."""
    told: list[Directive] = [Proceed(Grant("ana/1/1", 9))] * 30
    told += [EndStep("not now"), WindDown("tokens", "none left"), Pause("a look"), Stop("enough"), Wait(1.0, "held")]
    return Directed(op, random.choice(told))


def replied(op: Op, random: Random) -> Replied:
    """Mostly calls."""
    names = [random.choice(NAMES) for _ in range(random.choice([0, 1, 1, 1, 2, 2, 3]))]
    finish = random.choice([*[FinishReason.CALLS] * 9, *FinishReason])
    message = Message(Role.ASSISTANT, random.choice(["So far.", " ", ""]), tuple(call(name) for name in names))
    facts = tuple(CallFacts(name, name == POLLING) for name in names)
    return Replied(op, Reply(message, Usage(random.randrange(30), 1), finish, "r"), facts)


def tool_ended(op: Op, random: Random) -> ToolEnded:
    """Seldom a wait."""
    output = random.choice(OUTPUTS)
    wait = random.choice([*[None] * 9, WaitFor((), 9.0), WaitFor((AgentId("bob"),), 5.0)])
    return ToolEnded(op, output, output, random.choice([True, False]), wait, mail_waits=random.randrange(5) == 0)


def letters(random: Random) -> tuple[Mail, ...]:
    """Mostly none."""
    return tuple(mail("Hello.\n[Message x from y]", number=number) for number in range(random.choice([0, 0, 1, 2])))


MAKERS: dict[type[Event], Callable[[Op, Random], Event]] = {
    Asked: lambda _, random: Asked(RunId("run"), "Count.", random.choice([None, 9.0])),
    Woken: lambda _, random: Woken(RunId("run"), random.choice([None, 9.0])),
    MailTaken: lambda op, random: MailTaken(op, letters(random)),
    MailSeen: lambda op, random: MailSeen(op, random.choice([True, False])),
    MailArrived: lambda _op, _random: MailArrived(),
    Directed: directed,
    Replied: replied,
    ModelFailed: lambda op, random: ModelFailed(op, "Busy", "Busy.", random.choice([True, False])),
    ToolEnded: tool_ended,
    TimerFired: lambda op, _: TimerFired(op),
    DeadlinePassed: lambda op, _: DeadlinePassed(op),
    Finished: lambda op, _: Finished(op),
}
