"""A process may die at any point: the next one goes on from its records, and nothing is lost or done twice."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from amrita_fleet.protocols.checkin import Wait
from amrita_fleet.protocols.ids import AgentId, RunId
from amrita_fleet.protocols.outcome import Ending, Limit, Outcome
from amrita_fleet.runtime.step.advance import advance
from amrita_fleet.runtime.step.compaction import CompactionRules
from amrita_fleet.runtime.step.effects import (
    AskApproval,
    AskLeave,
    Commit,
    Effect,
    Finish,
    LookForMail,
    Notify,
    RunTool,
    StartDeadline,
    TakeMail,
    WaitForMail,
)
from amrita_fleet.runtime.step.events import Directed, PauseAsked, Resumed, Revived, TimerFired
from amrita_fleet.runtime.step.phases import Ask, Done, Op, Phase, WaitFor, WindingDown
from amrita_fleet.runtime.step.prompts import INTERRUPTED
from amrita_fleet.runtime.step.rules import Rules
from amrita_fleet.runtime.step.state import AgentState, Run

from .lives import Killed, Life, Tale, World
from .pairing import flaw, messages_flaw
from .play import Failure, Play, Result, call, calls, came_to, mail, plan, says

pytestmark = pytest.mark.slow


def numbered(name: str, number: int) -> str:
    return f'{{"{name}": {number}}}'


def waits(asked: object) -> Result:
    return Result("What comes stands in your next message.", WaitFor((AgentId("bob"),), 60.0))


COUNT = [call("count", numbered("file", number)) for number in range(6)]
DROP = [call("drop", numbered("table", number)) for number in range(4)]
LOOK = call("look", "{}")

TALES = {
    "rounds": Tale((calls(COUNT[0]), calls(DROP[0]), says("Done.")), safe=("count",)),
    "parallel": Tale((calls(COUNT[0], DROP[0], COUNT[1], DROP[1]), says("Done.")), safe=("count",)),
    "safe only": Tale((calls(COUNT[0], COUNT[1]), calls(COUNT[2]), says("Done.")), safe=("count",)),
    "plan": Tale(
        (
            plan(a="", b="a"),
            calls(DROP[0]),
            says("A is done."),
            came_to("dropped", "a table"),
            calls(COUNT[0]),
            says("B is done."),
            came_to("counted", "a file"),
            says("All is done."),
        ),
        Rules(plan="always"),
        safe=("count",),
    ),
    "compaction": Tale(
        (*(calls(one) for one in COUNT), says("What was."), says("What was then."), says("Done."), says("Done.")),
        Rules(step_rounds=2, compaction=CompactionRules(messages=6)),
        safe=("count",),
    ),
    "waiting": Tale((calls(LOOK), says("Nobody wrote."), says("Done.")), safe=("look",), tools=waits),
    "waited for": Tale((calls(LOOK), says("Bob wrote.")), safe=("look",), tools=waits, late=(mail("Hello."),)),
    "mail": Tale(
        (calls(COUNT[0], DROP[0]), calls(COUNT[1]), says("I read it."), says("Done.")),
        safe=("count",),
        letters={"count": mail("First."), "drop": mail("Second.", number=2)},
    ),
    "approval": Tale((calls(DROP[0], COUNT[0]), says("Done.")), safe=("count",), approval=("drop",)),
    "approved and safe": Tale((calls(COUNT[0], DROP[0]), says("Done.")), safe=("count",), approval=("count",)),
    "refusal": Tale((calls(DROP[0], COUNT[0]), says("Done.")), safe=("count",), approval=("drop",), allowed=False),
    "wind-down": Tale((calls(DROP[0]), calls(COUNT[0]), says("As far as I came.")), Rules(rounds=2), safe=("count",)),
    "typed": Tale((says("bad"), calls(DROP[0]), says("good")), flawed=("bad",)),
    "busy": Tale((Failure(), calls(DROP[0]), Failure(), says("Done.")), directives=(Wait(1.0, "held"),)),
    "empty": Tale((says(""), calls(DROP[0]), says("Done."))),
    "two runs": Tale((calls(DROP[0]), says("One."), calls(DROP[1]), says("Two.")), tasks=("First.", "Second.")),
    "forgetful": Tale((calls(DROP[0]), says("One."), says("Two.")), Rules(memory="run"), tasks=("First.", "Second.")),
}
QUICK = ("parallel", "mail", "approval")
TALE = pytest.mark.parametrize(
    "tale",
    [pytest.param(tale, id=name, marks=() if name in QUICK else pytest.mark.slow) for name, tale in TALES.items()],
)


def lived(tale: Tale) -> tuple[World, Life]:
    """The tale without a kill."""
    world = World(tale)
    return world, Life(world).live()


def killed_at(tale: Tale, *kills: int) -> tuple[World, Life]:
    """The tale with a process for each kill, and one more."""
    world = World(tale)
    for kill in kills:
        try:
            return world, Life(world, kill=kill).live()
        except Killed:
            continue
    return world, Life(world).live()


def around_commits(life: Life) -> Iterator[int]:
    """Right before and right after each record."""
    for place, effect in enumerate(life.effects):
        if isinstance(effect, Commit):
            yield place
            yield place + 1


def check(tale: Tale, world: World, life: Life, kills: int) -> None:
    """Nothing was lost, nothing done twice."""
    assert world.over
    assert life.state.phase is Phase.IDLE
    assert all(len(set(map(repr, outcomes))) == 1 for outcomes in world.outcomes.values()), "one outcome for each run"
    turns = life.state.transcript.turns
    assert flaw(turns) is None
    assert messages_flaw(turns) is None
    for name, times in world.ran.items():
        assert times == 1 or name.startswith(tale.safe), f"{name} ran {times} times"
        assert len(world.keys[name]) == 1, "a call that runs again is the same call"
    assert set(world.taken.values()) <= {1}
    assert not world.mailbox
    said = "\n".join(turn.content for turn in turns)
    assert all(said.count(f"[Message {letter} ") == 1 for letter in world.came)
    failures = sum(isinstance(line, Failure) for line in tale.lines)
    assert sum(world.attempts.values()) <= len(world.answers) + kills + failures, "one call more for each kill"


@TALE
def test_a_process_may_die_around_each_record(tale: Tale) -> None:
    whole, first = lived(tale)
    check(tale, whole, first, kills=0)

    for kill in around_commits(first):
        world, life = killed_at(tale, kill)
        check(tale, world, life, kills=1)
        assert set(world.ran) >= {name for name in whole.ran if name.startswith(tale.safe)}


@pytest.mark.slow
@TALE
def test_two_processes_may_die_at_any_effect(tale: Tale) -> None:
    _, first = lived(tale)
    length = len(first.effects)

    for kill in range(length):
        world, life = killed_at(tale, kill, 7 * kill % (length - kill))
        check(tale, world, life, kills=2)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("plan", "step.node_done"),
        ("compaction", "step.compress"),
        ("waiting", "step.waiting"),
        ("mail", "mail.consumed"),
        ("approval", "tool.approved"),
        ("refusal", "tool.refused"),
        ("wind-down", "step.winding_down"),
        ("typed", "model.flawed"),
        ("busy", "model.retry"),
        ("empty", "model.empty"),
    ],
)
def test_a_tale_tells_what_it_is_named_after(name: str, kind: str) -> None:
    _, life = lived(TALES[name])

    assert kind in {f"{one.type}.{one.extra_type}" for one in life.effects if isinstance(one, Notify)}


@pytest.mark.parametrize(
    "name", ["waited for", *(pytest.param(name, marks=pytest.mark.slow) for name in ("safe only", "compaction"))]
)
def test_where_every_call_is_safe_nothing_shows_that_a_process_died(name: str) -> None:
    tale = TALES[name]
    whole, first = lived(tale)

    for kill in around_commits(first):
        world, life = killed_at(tale, kill)
        assert life.state.transcript == first.state.transcript
        assert {run: outcomes[0] for run, outcomes in world.outcomes.items()} == {
            run: outcomes[0] for run, outcomes in whole.outcomes.items()
        }


@TALE
def test_what_has_ended_stays_ended(tale: Tale) -> None:
    world, first = lived(tale)
    asked = sum(world.attempts.values())

    again = Life(world).live()

    assert again.state.transcript == first.state.transcript
    assert again.state.phase is Phase.IDLE
    assert sum(world.attempts.values()) == asked
    newest: list[Outcome] = world.outcomes[world.runs[-1]]
    assert newest == [newest[0]] * 2, "it is handed out once more, to one who knows it already"


# --- one phase after another ------------------------------------------------------------------------------------------


def begun(play: Play, event: Revived | None = None) -> list[Effect]:
    """What a revival begins, after it is recorded; nothing of it is answered."""
    before = len(play.effects)
    play.held = (*play.held, TakeMail, LookForMail, AskLeave, RunTool, AskApproval, Finish)
    play.pending.clear()
    play.feed(event or Revived())
    _, commit, *effects = play.effects[before:]
    assert isinstance(commit, Commit)
    return effects


@pytest.mark.parametrize("kind", [TakeMail, LookForMail, AskLeave, Finish])
def test_what_was_awaited_is_asked_for_again_under_a_new_op(kind: type[Effect]) -> None:
    play = Play([says("Done.")], held=(kind,)).ask()
    old = play.effects[-1]

    [new] = begun(play)

    assert type(new) is type(old) is kind
    assert play.state.open_ops == (play.state.next_op - 1,)
    assert not play.state.awaits(getattr(old, "op"))  # noqa: B009  not every effect has one


def test_a_finished_run_hands_out_the_same_outcome() -> None:
    play = Play([says("Done.")], held=(Finish,)).ask()
    assert isinstance(play.state.doing, Done)
    outcome = play.state.doing.outcome

    [again] = begun(play)

    assert isinstance(again, Finish)
    assert again.outcome == outcome


def test_a_batch_goes_on_where_it_was() -> None:
    play = Play([calls("a", "b", "c"), says("Done.")], held=("a", "b"), approval=("c",)).ask()
    play.end("b", "found it")

    begun(play)

    assert play.state.phase is Phase.ACTING, "the held call is still to be decided"
    assert play.told("agent.revived")[0].data == {"phase": "acting", "again": ["c"], "may_have_run": ["a"]}
    play.decide(allowed=False)
    assert play.outputs[:2] == [INTERRUPTED, "found it"]


def test_a_person_is_asked_again_about_the_very_call_that_was_shown_before() -> None:
    shown = call("rm", '{"path":"/tmp/1"}')
    play = Play(
        [calls("rm"), says("Done.")], tools=lambda _: Result("Gone.", None, "it deletes", shown.arguments)
    ).ask()

    [_, asked] = begun(play)

    assert isinstance(asked, AskApproval)
    assert asked.call == shown
    play.decide(allowed=True)
    ran = play.effects[-1]
    assert isinstance(ran, RunTool)
    assert (ran.call, ran.approved) == (shown, True)


def test_a_batch_in_which_nothing_can_run_again_is_closed_at_once() -> None:
    play = Play([calls("a", "b"), says("Done.")], held=("a", "b")).ask()

    [*_, asked] = begun(play)

    assert play.outputs == [INTERRUPTED, INTERRUPTED]
    assert isinstance(asked, LookForMail), "mail may have come meanwhile"


def test_the_time_that_a_run_and_a_wait_have_left_goes_on() -> None:
    play = Play([calls("wait")], tools=waits).ask("Wait.", 100.0)

    assert [type(one) for one in play.pending.values()] == [StartDeadline, WaitForMail]
    timer, waiting = begun(play, Revived(ran=70.0, waited=20.0))

    assert isinstance(timer, StartDeadline)
    assert timer.seconds == 30.0
    assert isinstance(waiting, WaitForMail)
    assert waiting.wait.seconds == 40.0


def test_time_that_is_over_ends_a_run_in_its_next_life() -> None:
    play = Play([calls("wait")], tools=waits).ask("Wait.", 100.0)

    timer, _ = begun(play, Revived(ran=1e6))

    assert isinstance(timer, StartDeadline)
    assert timer.seconds == 0.0


def test_a_pause_lasts_into_the_next_life_until_it_is_ended() -> None:
    play = Play([calls("a"), says("Done.")], held=("a",)).ask().feed(PauseAsked("a look"))
    assert isinstance(play.effects[-1], Commit)
    play.end("a", "done", mail_waits=True)
    assert play.phase is Phase.PAUSED

    assert begun(play) == []
    assert play.phase is Phase.PAUSED
    play.held = ()
    play.feed(Resumed())
    assert str(play.outcome) == "answered"


def test_an_idle_agent_has_nothing_to_begin() -> None:
    play = Play()

    assert begun(play) == []
    assert play.phase is Phase.IDLE


def test_a_last_answer_that_waited_for_its_turn_is_not_begun_a_second_time() -> None:
    state = AgentState.begin(AgentId("ana"), Rules(rounds=1))
    run = Run(RunId("r"), task="Go.", rounds=1)
    doing = WindingDown(Ask(op=Op(1)), Ending.LIMIT, "the run has had its 1 rounds", Limit.ROUNDS)
    state = replace(state, run=run, doing=doing, next_op=Op(2), transcript=state.transcript.note("Go."))

    def begins(before: AgentState) -> list[bool]:
        _, effects = advance(before, Revived(1.0, 0.0))
        return [effect.first for effect in effects if isinstance(effect, AskLeave)]

    assert begins(state) == [True], "a hook was not asked yet"
    state, _ = advance(state, Directed(Op(1), Wait(1.0, "3rd of 9", queued=True)))
    state, _ = advance(state, TimerFired(Op(2)))
    assert begins(state) == [False]
