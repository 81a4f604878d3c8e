"""What Supervisors are asked, and processes that write it down."""

from collections.abc import Callable
from dataclasses import replace
from typing import assert_never

from hypothesis import strategies as st

from amrita_fleet.protocols.checkin import AgentStatus, CheckIn, Settlement
from amrita_fleet.protocols.ids import USER, AgentId, Incarnation, MessageId, RunId
from amrita_fleet.protocols.limits import Limits
from amrita_fleet.protocols.mail import DeadLetter, Refusal
from amrita_fleet.protocols.notices import Notice, NoticeType
from amrita_fleet.protocols.prices import Rates
from amrita_fleet.protocols.restarts import Restart, RestartPolicy
from amrita_fleet.protocols.spawning import Allowance, SpawnRequest, StopRequest
from amrita_fleet.runtime.clock import VirtualClock
from amrita_fleet.runtime.errors import RunError
from amrita_fleet.runtime.journal.fleet_log import FleetLog
from amrita_fleet.runtime.journal.memory import MemoryJournal
from amrita_fleet.runtime.ports import Clock
from amrita_fleet.runtime.supervision.command_log import Cadence, JournaledCommands
from amrita_fleet.runtime.supervision.commands import (
    Admit,
    AdmitUser,
    Begin,
    Bury,
    ChangeLimit,
    Check,
    CloseMailbox,
    Command,
    FormTeams,
    GrantNoMore,
    LifeCommand,
    Newcomer,
    PauseAgents,
    Settle,
    Spawn,
    StopAgents,
    StopChild,
    Team,
    Tell,
)
from amrita_fleet.runtime.supervision.replay import perform
from amrita_fleet.runtime.supervision.state import SupervisorState
from amrita_fleet.runtime.supervision.supervisor import Supervisor

__all__ = ("ANA", "BOB", "CEM", "LIMIT", "NAMES", "Process", "answer", "commands", "quiet", "spend")

ANA, BOB, CEM = NAMES = AgentId("ana"), AgentId("bob"), AgentId("cem")
LIMIT = Limits(tokens=2_000)

TEAM = "team"
LIMITS = (
    Limits(tokens=700),
    Limits(tokens=700, carved=True),
    Limits(tokens=800, on_exhaustion="pause"),
    Limits(model_calls=2, tool_calls=3, on_exhaustion="ask"),
    Limits(dollars=0.000_01, seconds=40.0, on_exhaustion="stop"),
)
RUNS = (Limits(tokens=400), Limits(tokens=400, carved=True), Limits(model_calls=1, on_exhaustion="stop"))

names = st.sampled_from(NAMES)
places = st.sampled_from(["", TEAM, *NAMES, "r1"])
lives = st.integers(1, 3).map(Incarnation)
attempts = st.integers(1, 4)
tokens = st.none() | st.integers(-1, 900)
allowances = st.none() | st.builds(Allowance, st.integers(1, 2), st.integers(1, 2), st.integers(1, 2), st.none())


def check_in(agent: AgentId, life: Incarnation, attempt: int, bound: int = 0, output: int = 0) -> CheckIn:
    return CheckIn(agent, life, RunId("r"), 1, "thinking", attempt, "p", bound, output, floor=50)


@st.composite
def check_ins(draw: st.DrawFn) -> Command:
    asked = check_in(draw(names), draw(lives), draw(attempts), draw(st.integers(-1, 900)), draw(st.integers(0, 500)))
    rates, limit = draw(st.sampled_from([None, Rates(3_000, 9_000)])), draw(st.sampled_from([None, *RUNS]))
    run, last = RunId(f"r{draw(st.integers(1, 2))}"), draw(st.booleans())
    return Check(replace(asked, run=run, rates=rates, tools=draw(st.integers(0, 4)), limit=limit, last_answer=last))


@st.composite
def settlements(draw: st.DrawFn) -> Command:
    agent, life = draw(names), draw(lives)
    reservation = check_in(agent, life, draw(attempts)).reservation
    spent = Settlement(agent, life, reservation, draw(tokens), estimated=draw(st.booleans()))
    return Settle(replace(spent, nanodollars=draw(st.integers(0, 9_000)), tool_calls=draw(st.integers(0, 3))))


@st.composite
def admissions(draw: st.DrawFn) -> Command:
    limit, team = draw(st.sampled_from([None, *LIMITS])), draw(st.sampled_from(["", "", TEAM, "nobodys"]))
    word: Restart = draw(st.sampled_from(("permanent", "temporary")))
    newcomer = Newcomer(draw(names), draw(st.none() | names), limit, team, draw(st.booleans()), restart=word)
    return Admit((newcomer._replace(allowance=draw(allowances), again=draw(st.booleans())),), 1)


@st.composite
def spawns(draw: st.DrawFn) -> Command:
    limit, call = draw(st.sampled_from([None, *LIMITS])), draw(st.sampled_from(["r.1", "r.2"]))
    asks = draw(names), draw(lives), "kind", draw(names), call, limit
    request = SpawnRequest(*asks, allowance=draw(allowances), priced=draw(st.booleans()))
    return Spawn(request, 1)


def told(agent: AgentId, life: Incarnation, phase: str, number: int) -> Tell:
    """A report with one notice; those with a number may come again."""
    notice = Notice(NoticeType.RUN, "finished", agent, "done", RunId("r1"), data={"outcome": "failed"}, number=number)
    return Tell(AgentStatus(agent, life, phase, since=1.0), (notice,))


def quiet(agent: AgentId, life: Incarnation, phase: str) -> Tell:
    """A report without news."""
    return Tell(AgentStatus(agent, life, phase, since=1.0), ())


def closing(agent: AgentId, life: Incarnation) -> CloseMailbox:
    """A mailbox is closed that held one message."""
    return CloseMailbox(agent, life, Incarnation(life + 1), (DeadLetter(MessageId("m"), BOB, Refusal.DIED),))


policies = st.sampled_from([RestartPolicy(), RestartPolicy(intensity=0), RestartPolicy(intensity=1, period=2)])

commands = st.one_of(
    admissions(),
    spawns(),
    st.builds(StopChild, st.builds(StopRequest, names, lives, names)),
    st.builds(
        Begin,
        st.sampled_from(["one", "two"]),
        st.sampled_from([None, Limits(tokens=1), Limits(tokens=50), LIMIT]),
        policies,
    ),
    st.just(AdmitUser()),
    st.builds(Bury, names, lives, st.just("gone"), st.booleans()),
    st.builds(closing, names, lives),
    check_ins(),
    settlements(),
    st.builds(told, names, lives, st.sampled_from(["idle", "thinking"]), st.integers(0, 3)),
    st.builds(StopAgents, st.sampled_from([(), (ANA,), (BOB, CEM)]), st.just("enough")),
    st.builds(PauseAgents, st.sampled_from([(), (ANA,)]), st.sampled_from([None, "a look"])),
    st.builds(FormTeams, st.sampled_from([(Team(TEAM, None),), (Team(TEAM, LIMITS[0]), Team(ANA, None))])),
    st.builds(ChangeLimit, places, st.sampled_from([None, *LIMITS, LIMIT])),
    st.builds(GrantNoMore, places),
)


def answer(supervisor: Supervisor, command: Command) -> object:
    """What a Supervisor says to a command, or why it refuses it."""
    try:
        return said(supervisor, command)
    except (RunError, ValueError) as error:
        return type(error), str(error)


def said(supervisor: Supervisor, command: Command) -> object:
    found: object = None
    match command:
        case Begin() | Admit() | Spawn() | AdmitUser() | Bury() | CloseMailbox():
            found = lived(supervisor, command)
        case Check(asked=asked):
            found = supervisor.check_in(asked)
        case Settle(settlement=settlement):
            supervisor.settle(settlement)
        case Tell(status=status, notices=notices):
            supervisor.report(status, notices)
        case _:
            found = steered(supervisor, command)
    return found


def lived(supervisor: Supervisor, command: LifeCommand) -> object:
    match command:
        case Begin(owner=owner, limit=limit, restarts=restarts):
            supervisor.begin(owner, limit, restarts)
        case Admit(newcomers=newcomers, pid=pid):
            return supervisor.admit_all(newcomers, pid)
        case Spawn(request=request, pid=pid):
            return supervisor.spawn(request, pid)
        case AdmitUser():
            return supervisor.admit(USER, None, None, 0)
        case Bury(agent=agent, incarnation=incarnation, reason=reason, restart=restart):
            return supervisor.died(agent, incarnation, reason, restart=restart)
        case CloseMailbox(agent=agent, incarnation=incarnation, under=under, letters=letters):
            supervisor.close_mailbox(agent, incarnation, under, letters)
        case _ as unknown:
            assert_never(unknown)
    return None


def steered(
    supervisor: Supervisor, command: StopAgents | StopChild | PauseAgents | FormTeams | ChangeLimit | GrantNoMore
) -> object:
    match command:
        case StopAgents(agents=agents, reason=reason):
            return supervisor.stop(agents, reason)
        case StopChild(request=request):
            return supervisor.stop_child(request)
        case PauseAgents(agents=agents, reason=reason):
            return supervisor.pause(agents, reason)
        case FormTeams(teams=teams):
            supervisor.form_teams(teams)
            return None
        case ChangeLimit(of=of, limit=limit):
            return supervisor.limit(of, limit)
        case GrantNoMore(of=of):
            return supervisor.grant_no_more(of)
        case _ as unknown:
            assert_never(unknown)


class Watched(JournaledCommands):
    """Can tell what the Supervisor was when it was last asked something."""

    state: SupervisorState

    def note(self, command: Command, state: Callable[[], SupervisorState]) -> float:
        self.state = state()
        return super().note(command, state)


class Process:
    """A Supervisor that writes its commands into a journal."""

    def __init__(
        self, journal: MemoryJournal, clock: Clock, cadence: Cadence | None = None, limit: Limits = LIMIT
    ) -> None:
        self.journal = journal
        self.clock = clock
        self.cadence = cadence
        self.limit = limit
        self.notes: list[tuple[AgentId, str]] = []

    async def open(self) -> "Process":
        writer = await FleetLog(self.journal, "f").ledger(self.clock)
        self.log = Watched(writer, self.clock, self.cadence)
        state = await self.log.open()
        self.supervisor = Supervisor(
            fleet="f",
            limit=self.limit,
            now=self.clock.now,
            post=lambda agent, text: self.notes.append((agent, text)),
            log=self.log,
            state=state,
        )
        self.log.begin(lambda command: perform(self.supervisor, command))
        return self

    def facts(self) -> tuple[object, ...]:
        """All that can be seen of the Supervisor."""
        return self.supervisor.statuses(), self.supervisor.accounts(), self.supervisor.feed.read(0, 100_000)

    def state(self) -> SupervisorState:
        """All that the Supervisor is."""
        perform(self.supervisor, quiet(AgentId("nobody"), Incarnation(1), "idle"))
        return self.log.state

    async def asked(self, asked: list[Command], clock: VirtualClock) -> None:
        """Be asked for these, some of them at once, and have them written."""
        for number, command in enumerate(asked):
            perform(self.supervisor, command)
            if number % 3 == 0:
                await clock.advance(1.0)
        await self.log.written()


def spend(supervisor: Supervisor, agent: AgentId, attempt: int, count: int | None = 10) -> None:
    """Make one attempt of a call."""
    asked = check_in(agent, Incarnation(1), attempt, 10, 10)
    supervisor.check_in(asked)
    supervisor.settle(Settlement(agent, asked.incarnation, asked.reservation, count))
