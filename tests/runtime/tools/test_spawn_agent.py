"""What a model reads of the tools by which agents spawn agents, and what it is answered."""

import json
from dataclasses import dataclass, field

import pytest

from amrita_fleet import SystemUnavailable
from amrita_fleet.protocols.checkin import AgentStatus
from amrita_fleet.protocols.ids import AgentId, Incarnation, MessageId, RunId
from amrita_fleet.protocols.limits import Limits
from amrita_fleet.protocols.mail import BODY_LIMIT, Kind, Receipt, ReceiptState, Refusal
from amrita_fleet.protocols.spawning import (
    Allowance,
    SpawnAnswer,
    SpawnCause,
    Spawned,
    SpawnRefusal,
    SpawnRequest,
    StopAnswer,
    StopRequest,
)
from amrita_fleet.runtime.errors import PeerUnreachable
from amrita_fleet.runtime.tools.executor import Executor
from amrita_fleet.runtime.tools.output import ToolContext, ToolOutput
from amrita_fleet.runtime.tools.spawn_agent import KindOffer, spawning_tools

pytestmark = pytest.mark.anyio

TOO_FEW = (
    "ERROR: Nothing was spawned: with tokens={} it could not make a single model call; ask for 2,200 or more, or leave "
    "tokens out to give it as many as its kind may spend."
)

KID, FIRST = AgentId("kid"), Incarnation(1)
OFFERS = {
    "reader": KindOffer("reads files", Limits(tokens=20_000, dollars=2), Allowance(children=2), priced=True),
    "writer": KindOffer(""),
    "payer": KindOffer("", Limits(dollars=1)),
}


@dataclass
class Household:
    """The ports `Children` and `Channel`: whoever is spawned takes its task, unless the test says otherwise."""

    answer: SpawnAnswer = field(default_factory=lambda: Spawned(KID, FIRST, Limits(tokens=20_000)))
    stopped: StopAnswer = field(default_factory=StopAnswer)
    refusal: Refusal | None = None
    away: bool = False
    asked: list[SpawnRequest] = field(default_factory=list)
    stops: list[StopRequest] = field(default_factory=list)
    sent: list[tuple[str, str, str, Kind]] = field(default_factory=list)

    async def spawn(self, request: SpawnRequest) -> SpawnAnswer:
        self._line()
        self.asked.append(request)
        return self.answer

    async def stop_child(self, request: StopRequest) -> StopAnswer:
        self._line()
        self.stops.append(request)
        return self.stopped

    def _line(self) -> None:
        if self.away:
            raise PeerUnreachable(agent="supervisor", reason="the line is cut")

    async def send(
        self,
        recipient: AgentId,
        body: str,
        reply_to: str = "",  # noqa: ARG002
        message: MessageId | None = None,
        kind: Kind = Kind.PEER,
    ) -> Receipt:
        self.sent.append((recipient, body, message or "", kind))
        state = ReceiptState.ACCEPTED if self.refusal is None else ReceiptState.REFUSED
        return Receipt(message or MessageId("m"), recipient, state, self.refusal)

    async def receipt(self, message: MessageId) -> Receipt | None: ...

    async def peers(self) -> tuple[AgentStatus, ...]:
        return ()

    async def call(self, tool: str, **arguments: object) -> ToolOutput:
        (made,) = [each for each in spawning_tools(OFFERS, self) if each.name == tool]
        context = ToolContext(AgentId("lead"), FIRST, RunId("lead.1.1"), 3, 7, self)
        return await Executor().run(made, json.dumps(arguments), context)

    async def spawning(self, kind: str = "reader", task: str = "Read a.txt.", **more: object) -> ToolOutput:
        return await self.call("spawn_agent", kind=kind, name="kid", task=task, **more)


async def test_the_model_is_told_which_kinds_there_are_and_what_each_is_for() -> None:
    spawn, stop = spawning_tools(OFFERS, Household())
    assert spawn.description.endswith("Kinds: reader: reads files; writer; payer")
    properties = spawn.schema.parameters["properties"]
    assert isinstance(properties, dict)
    assert properties["kind"] == {
        "type": "string",
        "enum": ["reader", "writer", "payer"],
        "description": "Which kind of agent.",
    }
    assert (spawn.schema.parameters["required"], stop.schema.parameters["required"]) == (
        ["kind", "name", "task"],
        ["name"],
    )


async def test_a_child_gets_its_task_as_a_question_under_the_calls_own_id() -> None:
    household = Household()
    output = await household.spawning()
    assert output == ToolOutput(
        "Spawned kid (reader), which works on its task. It may spend 20,000 tokens. Its answer comes as a message from "
        "kid: go on, or wait for it with wait_for_messages."
    )
    assert household.asked == [
        SpawnRequest(
            AgentId("lead"),
            FIRST,
            "reader",
            KID,
            "lead.1.1.7",
            Limits(tokens=20_000, dollars=2),
            Allowance(children=2),
            priced=True,
        )
    ]
    assert household.sent == [("kid", "Read a.txt.", "lead.1.1.7.kid", Kind.QUESTION)]


@pytest.mark.parametrize(
    ("kind", "tokens", "limit"),
    [
        ("reader", 5_000, Limits(tokens=5_000, dollars=2)),
        ("reader", 50_000, Limits(tokens=20_000, dollars=2)),
        ("writer", 2_700, Limits(tokens=2_700)),
        ("writer", None, None),
        ("payer", None, Limits(dollars=1)),
        ("payer", 2_700, Limits(tokens=2_700, dollars=1)),
    ],
)
async def test_a_child_may_spend_what_is_asked_for_up_to_what_its_kind_may(
    kind: str, tokens: int | None, limit: Limits | None
) -> None:
    household = Household()
    more: dict[str, object] = {} if tokens is None else {"tokens": tokens}
    await household.call("spawn_agent", kind=kind, name="kid", task="Read a.txt.", **more)
    assert household.asked[0].limit == limit


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"kind": "reeder"}, "ERROR: There is no kind 'reeder'. Choose one of: reader."),
        ({"kind": "clown"}, "ERROR: There is no kind 'clown'. Choose one of: reader, writer, payer."),
        ({"task": " "}, "ERROR: Nothing was spawned: its task is blank."),
        *(
            (
                {"tokens": tokens},
                TOO_FEW.format(tokens),
            )
            for tokens in (-1, 0, 10, 2_199)
        ),
        (
            {"task": "x" * (BODY_LIMIT + 1)},
            "ERROR: Nothing was spawned: its task has more than 65,536 bytes; write a shorter one.",
        ),
    ],
)
async def test_what_cannot_be_is_refused_before_anybody_is_asked(arguments: dict[str, object], said: str) -> None:
    household = Household()
    assert await household.spawning(**arguments) == ToolOutput(said, failed=True)  # type: ignore[arg-type]
    assert household.asked == []


async def test_a_refusal_is_an_output_with_its_reason() -> None:
    household = Household(answer=SpawnRefusal(SpawnCause.LIVE, "4 do."))
    assert await household.spawning() == ToolOutput("ERROR: kid was not spawned. 4 do.", failed=True)
    assert household.sent == []


async def test_a_child_that_refuses_its_task_is_named() -> None:
    output = await Household(refusal=Refusal.STOPPED).spawning()
    said = "ERROR: kid was spawned, but has not got its task. kid refused the message: it was stopped."
    assert output == ToolOutput(said, failed=True)


async def test_that_nobody_answered_is_said_and_what_to_look_at() -> None:
    household = Household(away=True)
    assert (await household.spawning()).content == (
        "ERROR: 'supervisor' cannot be reached now: the line is cut. Whether kid was spawned is not known; look with "
        "list_peers before you try again."
    )
    assert (await household.call("stop_agent", name="kid")).content.endswith("is not known; try again.")


async def test_a_stop_says_who_was_stopped_with_it() -> None:
    household = Household(stopped=StopAnswer((KID, AgentId("cub"))))
    output = await household.call("stop_agent", name="kid")
    assert output == ToolOutput("kid is stopped for good, and with it cub.")
    assert household.stops == [StopRequest(AgentId("lead"), FIRST, KID)]
    refused = await Household(stopped=StopAnswer(why="You may not.")).call("stop_agent", name="kid")
    assert refused == ToolOutput("ERROR: You may not.", failed=True)


async def test_where_nobody_brings_children_to_life_there_are_no_such_tools() -> None:
    with pytest.raises(SystemUnavailable, match="nobody who brings the children of agents to life"):
        spawning_tools(OFFERS, None)
