"""What a tally makes of a fleet's notices."""

from amrita_fleet import Notice
from amrita_fleet.protocols.ids import AgentId, RunId
from amrita_fleet.protocols.messages import Json
from amrita_fleet.protocols.notices import NoticeType
from amrita_fleet.runtime.cli.tally import Letter, Tally

ANA, BOB, RUN = AgentId("ana"), AgentId("bob"), RunId("ana.1.1")


def tallied(*notices: Notice) -> Tally:
    tally = Tally()
    for notice in notices:
        tally.add(notice)
    return tally


def started(agent: AgentId = ANA, run: RunId = RUN) -> Notice:
    return Notice(NoticeType.RUN, "started", agent, "a task", run)


def sent(message: str = "m1") -> Notice:
    return Notice(NoticeType.MAIL, "sent", ANA, "to bob: hello: you", step=2, data={"id": message, "recipient": "bob"})


def consumed(message: str = "m1") -> Notice:
    data: dict[str, Json] = {"id": message, "sender": "ana"}
    return Notice(NoticeType.MAIL, "consumed", BOB, "from ana: hello: you", step=5, data=data)


def died() -> Notice:
    return Notice(NoticeType.AGENT, "died", ANA, "its process was killed", data={"incarnation": 1})


def test_a_run_is_open_until_it_is_finished() -> None:
    tally = tallied(started())
    assert tally.open == {RUN: ANA}
    assert not tally.over(RUN, ANA)
    facts: dict[str, Json] = {"outcome": "stalled", "text": "t", "reason": "r", "tokens": 7, "rounds": 3}
    tally.add(Notice(NoticeType.RUN, "finished", ANA, "stalled: r", RUN, 4, facts))
    assert tally.over(RUN, ANA)
    assert tally.open == {}
    (end,) = tally.ends_of(ANA)
    assert (end.outcome, end.text, end.reason, end.tokens, end.rounds, end.step) == ("stalled", "t", "r", 7, 3, 4)
    assert not end.answered


def test_the_runs_of_an_agent_that_dies_are_over() -> None:
    tally = tallied(started(), died())
    assert tally.over(RUN, ANA)
    assert tally.over(RunId("ana.1.2"), ANA), "one that had not begun as well"
    assert [end.outcome for end in tally.ends_of(ANA)] == ["died"]
    assert tally.gone == {ANA: "its process was killed"}


def test_a_run_of_a_new_life_is_not_over_because_an_older_one_died() -> None:
    tally = tallied(died(), Notice(NoticeType.AGENT, "admitted", ANA, "came back to the fleet, life 2"))
    assert tally.over(RUN, ANA)
    assert not tally.over(RunId("ana.2.1"), ANA)
    assert tally.gone == {}


def test_a_letter_has_the_steps_of_both_its_ends_whichever_is_heard_of_first() -> None:
    whole = {"m1": Letter("m1", "ana", "bob", "hello: you", sent=2, consumed=5)}
    assert tallied(sent(), consumed()).letters == whole
    assert tallied(consumed(), sent()).letters == whole


def test_a_letter_that_was_never_consumed_says_why() -> None:
    data: dict[str, Json] = {"id": "m1", "sender": "ana", "refusal": "stopped"}
    dead = Notice(NoticeType.MAIL, "dead", BOB, "m1 from ana was never consumed: stopped", data=data)
    assert tallied(sent(), dead).letters == {"m1": Letter("m1", "ana", "bob", "hello: you", sent=2, lost="stopped")}


def test_a_letter_that_was_refused_says_why() -> None:
    data: dict[str, Json] = {"id": "m1", "recipient": "bob", "refusal": "full"}
    refused = Notice(NoticeType.MAIL, "refused", ANA, "to bob: hello", step=3, data=data)
    assert tallied(refused).letters == {"m1": Letter("m1", "ana", "bob", "hello", sent=3, lost="full")}


def test_it_is_quiet_when_no_run_is_open_and_no_letter_waits_for_a_reader() -> None:
    died = Notice(NoticeType.AGENT, "died", BOB, "its process was killed")
    assert tallied().quiet
    assert not tallied(started()).quiet
    assert not tallied(sent()).quiet
    assert tallied(sent(), consumed()).quiet
    assert tallied(sent(), died).quiet


def test_stalls_and_limits_are_kept_and_the_latest_news_of_each_agent() -> None:
    stall = Notice(NoticeType.STEP, "stall", ANA, "again and again", RUN)
    limit = Notice(NoticeType.BUDGET, "wind_down", BOB, "no tokens left")
    leave = Notice(NoticeType.STEP, "leave", ANA, "Step 1 ends", RUN)
    tally = tallied(stall, limit, leave)
    assert (tally.stalls, tally.limits) == ([stall], [limit])
    assert tally.latest == {ANA: "again and again", BOB: "no tokens left"}
