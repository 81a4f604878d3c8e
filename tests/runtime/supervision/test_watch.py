"""Planted troubles are found and named; planted innocents are left alone, for hours."""

from dataclasses import replace

import pytest

from amrita_fleet.protocols.ids import SUPERVISOR, USER, AgentId, Incarnation, MessageId
from amrita_fleet.protocols.notices import NoticeType
from amrita_fleet.runtime.supervision.finding import Trouble
from amrita_fleet.runtime.supervision.policy import Rung, WatchPolicy

from .watched import ANA, BOB, CAT, DAN, Watched

HOUR = 3600.0
LIMITS = WatchPolicy().deadlines


def fleet(*agents: AgentId, parent: AgentId | None = None) -> Watched:
    house = Watched()
    if parent is not None:
        house.admit(parent)
    house.admit(*agents, parent=parent)
    house.starts(*agents)
    return house


# --- one agent that does not get on -----------------------------------------------------------------------------------


def test_a_tool_that_blocks_the_loop_is_a_wedge_that_is_told_at_once_and_ended_within_a_minute_or_so() -> None:
    house = fleet(ANA)
    house.thinks(ANA)
    house.calls(ANA, "grind")
    house.pulses[ANA] = (True, False)
    began = house.now
    house.passes(20)
    assert house.why(ANA) == "wedged: its loop has not answered for 19 s, in tool grind"
    assert house.climbed == [Rung.NOTIFY]
    assert house.acted(Rung.NOTIFY) - began <= LIMITS.loop + 2 * house.policy.period
    house.passes(60)
    assert house.troubles == {(Trouble.WEDGED, (ANA,))}
    assert house.climbed == [Rung.NOTIFY, Rung.KILL]
    assert house.acted(Rung.KILL) - began <= 70
    assert house.findings[-1].evidence["tool"] == "grind"


def test_a_tool_that_never_returns_is_ended_without_a_kill() -> None:
    house = fleet(ANA)
    house.thinks(ANA)
    house.calls(ANA, "hang")
    began = house.now
    house.passes(LIMITS.tool)
    assert house.findings == []
    house.passes(80)
    assert house.troubles == {(Trouble.TOOL, (ANA,))}
    assert house.climbed == [Rung.NOTIFY, Rung.CANCEL]
    assert house.acted(Rung.CANCEL) - began <= LIMITS.tool + 60 + 3 * house.policy.period
    assert house.findings[0].text.startswith("ana is in tool hang for 60")


def test_a_model_call_that_never_answers_is_cancelled() -> None:
    house = fleet(ANA)
    house.asks(ANA, provider="openai")
    house.passes(LIMITS.model)
    assert house.findings == []
    house.passes(80)
    assert house.troubles == {(Trouble.MODEL, (ANA,))}
    assert house.climbed == [Rung.NOTIFY, Rung.CANCEL]
    assert house.findings[0].text.startswith("ana is waiting on model openai for 60")


def test_a_tool_that_never_returns_is_ended_also_where_nobody_heard_that_its_call_began() -> None:
    house = fleet(ANA)
    house.rows[ANA] = replace(house.rows[ANA], phase="acting", tools=("hang",))
    house.passes(LIMITS.tool + 300)
    assert house.troubles == {(Trouble.TOOL, (ANA,))}
    assert house.climbed == [Rung.NOTIFY, Rung.CANCEL, Rung.KILL, Rung.QUARANTINE]


def test_an_agent_that_does_not_obey_a_cancel_is_killed_and_at_last_quarantined() -> None:
    house = fleet(ANA)
    house.asks(ANA)
    house.passes(LIMITS.model + 300)
    assert house.climbed == [Rung.NOTIFY, Rung.CANCEL, Rung.KILL, Rung.QUARANTINE]


def test_a_hook_that_never_returns_is_no_progress_between_two_pieces_of_work() -> None:
    house = fleet(ANA)
    house.is_(ANA, "leaving")
    house.passes(LIMITS.between + 10)
    assert house.troubles == {(Trouble.STUCK, (ANA,))}
    assert house.findings[0].text.startswith("ana is leaving for 12")


def test_a_process_that_answers_nothing_is_unreachable_and_nothing_is_said_of_its_loop() -> None:
    house = fleet(ANA)
    house.pulses[ANA] = (False, False)
    house.passes(LIMITS.process - 5)
    assert house.findings == []
    house.passes(10)
    assert house.troubles == {(Trouble.UNREACHABLE, (ANA,))}
    house.pulses[ANA] = (True, True)
    house.passes(3)
    assert house.why(ANA).startswith("entering")


def test_a_kill_is_a_death_with_its_reason_and_the_supervisor_is_who_acts_on_it() -> None:
    house = fleet(ANA)
    house.asks(ANA)
    house.dies(ANA, "its process was killed by SIGKILL")
    house.passes(10)
    assert house.why(ANA) == "dead: its process was killed by SIGKILL"
    assert house.troubles == {(Trouble.DEAD, (ANA,))}
    assert house.climbed == []


def test_a_death_that_another_life_follows_is_no_trouble_and_the_next_life_begins_with_a_clean_slate() -> None:
    house = fleet(ANA)
    house.thinks(ANA)
    house.calls(ANA, "hang")
    house.dies(ANA, "killed", restarts=True)
    house.passes(10)
    assert house.why(ANA) == "restarting: killed"
    house.admit(ANA, life=2)
    house.is_(ANA, "acting")
    house.passes(LIMITS.tool - 10)
    assert house.findings == []


def test_what_an_older_life_still_says_changes_nothing() -> None:
    house = fleet(ANA)
    house.thinks(ANA)
    old = house.rows[ANA].run
    house.dies(ANA, "killed", restarts=True)
    house.admit(ANA, life=2)
    house.tell(NoticeType.TOOL, "started", ANA, "hang", {"tool": "hang", "call": 7}, run=old)
    house.is_(ANA, "acting")
    house.passes(3)
    assert house.why(ANA).startswith("in a tool")
    row = house.rows[ANA]
    house.rows[ANA] = replace(row, incarnation=Incarnation(1))
    house.asks(ANA)
    house.rows[ANA] = row
    assert house.why(ANA).startswith("in a tool")


# --- what goes round --------------------------------------------------------------------------------------------------


def test_the_same_call_with_the_same_result_is_a_loop_after_ten_rounds_and_climbs_only_while_it_goes_on() -> None:
    house = fleet(ANA)
    for _ in range(LIMITS.call_rounds - 1):
        house.works(ANA, "look", output="nothing")
    house.passes(3)
    assert house.findings == []
    house.works(ANA, "look", output="nothing")
    house.thinks(ANA)
    house.passes(3)
    assert house.troubles == {(Trouble.CALL_LOOP, (ANA,))}
    assert house.findings[0].text == "ana made the same call 10 times, with the same results: look"
    house.passes(300)  # it does nothing further: nothing further is done about it
    assert house.climbed == [Rung.NOTIFY]
    for _ in range(60):
        house.works(ANA, "look", output="nothing")
        house.thinks(ANA, 4)
    assert house.climbed == [Rung.NOTIFY, Rung.NOTE, Rung.END_STEP, Rung.CANCEL]


def test_two_calls_in_turn_are_a_loop_of_period_two() -> None:
    house = fleet(ANA)
    for _ in range(LIMITS.call_rounds):
        house.works(ANA, "edit", output="done")
        house.works(ANA, "test", output="1 failed")
    house.thinks(ANA)
    house.passes(3)
    assert house.troubles == {(Trouble.CALL_LOOP, (ANA,))}
    assert (house.findings[0].evidence["period"], house.findings[0].evidence["tools"]) == (2, ["edit", "test"])


def test_two_agents_in_a_ping_pong_are_found_after_four_rounds_and_quarantined_if_nothing_else_helps() -> None:
    house = fleet(ANA, BOB)
    for _ in range(LIMITS.message_rounds):
        house.passes_on(ANA, BOB, "Thank you!")
        house.passes_on(BOB, ANA, "You are welcome.")
    house.passes(3)
    assert house.troubles == {(Trouble.MESSAGE_LOOP, (ANA, BOB))}
    evidence = house.findings[0].evidence
    assert (evidence["period"], evidence["times"], len(str(evidence["messages"]).split(","))) == (2, 4, 8)
    assert house.findings[0].text == "ana and bob sent each other the same 2 messages 4 times"
    for _ in range(60):
        house.passes_on(ANA, BOB, "thank you")  # nearly the same is the same
        house.passes_on(BOB, ANA, "You are  welcome!")
    assert house.climbed == [Rung.NOTIFY, Rung.NOTE, Rung.END_STEP, Rung.CANCEL, Rung.QUARANTINE]
    assert {action.agents for _, action in house.actions} == {(ANA, BOB)}


@pytest.mark.parametrize("ring", [(ANA, BOB, CAT), (ANA, BOB, CAT, DAN)], ids=["three", "four"])
def test_a_ring_that_passes_the_same_message_is_found(ring: tuple[AgentId, ...]) -> None:
    house = fleet(*ring)
    for _ in range(LIMITS.message_rounds):
        for agent, to in zip(ring, (*ring[1:], ring[0]), strict=True):
            house.passes_on(agent, to, "Please take care of this.")
    house.passes(3)
    assert house.troubles == {(Trouble.MESSAGE_LOOP, ring)}


def test_two_agents_that_exchange_two_pairs_of_messages_are_a_loop_of_period_four() -> None:
    house = fleet(ANA, BOB)
    for _ in range(LIMITS.message_rounds):
        house.passes_on(ANA, BOB, "Is it done?")
        house.passes_on(BOB, ANA, "Not yet.")
        house.passes_on(ANA, BOB, "Do it now.")
        house.passes_on(BOB, ANA, "I will.")
    house.passes(3)
    assert house.troubles == {(Trouble.MESSAGE_LOOP, (ANA, BOB))}
    assert house.findings[0].evidence["period"] == 4


def test_a_ping_pong_is_found_amid_other_mail() -> None:
    house = fleet(ANA, BOB, CAT)
    for number in range(LIMITS.message_rounds):
        house.passes_on(CAT, ANA, f"report {number}")
        house.passes_on(ANA, BOB, "Thank you!")
        house.passes_on(ANA, CAT, f"I have read report {number}")
        house.passes_on(CAT, BOB, f"copy of report {number}")
        house.passes_on(BOB, ANA, "You are welcome.")
    house.passes(3)
    assert house.troubles == {(Trouble.MESSAGE_LOOP, (ANA, BOB))}


def test_reports_that_come_in_the_wrong_order_only_delay_it() -> None:
    house = fleet(ANA, BOB)
    for number in range(LIMITS.message_rounds + 1):
        ping, pong = MessageId(f"ping{number}"), MessageId(f"pong{number}")
        house.reads(BOB, ANA, ping)  # bob's reports are always here before ana's
        sent(house, BOB, ANA, pong)
        sent(house, ANA, BOB, ping)
        house.reads(ANA, BOB, pong)
        house.passes(3)
    assert house.troubles == {(Trouble.MESSAGE_LOOP, (ANA, BOB))}


def sent(house: Watched, agent: AgentId, to: AgentId, message: MessageId) -> None:
    data = {"id": message, "recipient": to, "digest": "same", "refusal": ""}
    house.tell(NoticeType.MAIL, "sent", agent, f"to {to}", dict(data))


def test_the_same_call_that_fails_for_three_agents_is_told_and_noted_and_nobody_is_ended_for_it() -> None:
    house = fleet(ANA, BOB, CAT)
    for agent in (ANA, BOB):
        house.works(agent, "fetch", '{"url": "u"}', "ERROR: no such host", failed=True)
    house.passes(3)
    assert house.findings == []
    for _ in range(10):
        house.works(CAT, "fetch", '{"url":"u"}', "ERROR: no such host", failed=True)
        house.passes(3)
    assert house.troubles == {(Trouble.SHARED_FAILURE, (ANA, BOB, CAT))}
    assert "fetch: ERROR: no such host" in house.findings[0].text
    assert house.climbed == [Rung.NOTIFY, Rung.NOTE]


# --- innocents --------------------------------------------------------------------------------------------------------


def test_a_poll_every_round_with_changing_results_is_left_alone() -> None:
    house = fleet(ANA)
    for number in range(300):
        house.works(ANA, "job_status", output=f"{number} of 300")
    assert house.findings == []


def test_a_model_call_of_ninety_seconds_is_left_alone() -> None:
    house = fleet(ANA)
    for _ in range(20):
        house.thinks(ANA, 90)
    assert house.findings == []
    house.asks(ANA)
    house.passes(41)
    assert house.why(ANA) == "waiting on model p for 41 s"


@pytest.mark.parametrize(("minutes", "every"), [(5, 60.0), (60, 500.0)], ids=["five minutes", "an hour"])
def test_a_long_tool_with_a_heartbeat_is_left_alone(minutes: int, every: float) -> None:
    house = fleet(ANA)
    house.thinks(ANA)
    call = house.calls(ANA, "build")
    for _ in range(int(minutes * 60 / every)):
        house.passes(every)
        house.tell(NoticeType.TOOL, "progress", ANA, "build: goes on", {"tool": "build", "call": call["call"]})
    assert house.verdict(ANA).seconds >= minutes * 60 - every
    assert house.findings == []


def test_an_agent_that_waits_for_mail_for_an_hour_is_left_alone() -> None:
    house = fleet(ANA, BOB)
    house.waits(ANA, BOB)
    house.is_(BOB, "idle")
    house.passes(HOUR)
    assert house.why(ANA) == "waiting for mail of bob for 3600 s"
    assert house.why(BOB) == "idle"
    assert house.findings == []


def test_an_agent_that_waits_again_and_again_is_left_alone() -> None:
    house = fleet(ANA)
    for _ in range(20):
        house.works(ANA, "wait_for_messages", output="What comes stands in your next message.")
        house.waits(ANA)
        house.passes(300)
    assert house.findings == []


@pytest.mark.parametrize(
    ("phase", "note"),
    [
        ("paused", "a person paused it"),
        ("acting", "waits for a person to allow pay"),
        ("entering", "the journal does not answer"),
    ],
    ids=["paused", "approval", "journal"],
)
def test_who_says_why_it_stands_may_stand_as_long_as_it_likes(phase: str, note: str) -> None:
    house = fleet(ANA)
    house.is_(ANA, phase, note)
    house.passes(HOUR)
    assert note in house.why(ANA)
    assert house.findings == []


def test_two_agents_that_discuss_are_left_alone() -> None:
    house = fleet(ANA, BOB)
    for number in range(250):
        house.passes_on(ANA, BOB, f"I would rather take number {number}, for it is nicer.")
        house.passes_on(BOB, ANA, f"I would rather not take number {number}.")
    assert house.findings == []


def test_ok_to_each_of_many_reports_is_no_ping_pong() -> None:
    house = fleet(ANA, BOB)
    for number in range(100):
        house.passes_on(BOB, ANA, f"Report {number}: nothing found.")
        house.passes_on(ANA, BOB, "ok")
    assert house.findings == []


def test_the_same_words_after_each_piece_of_new_work_are_no_ping_pong() -> None:
    house = fleet(ANA, BOB)
    for number in range(50):
        house.passes_on(ANA, BOB, "Next, please.")
        house.works(BOB, "fetch_next", output=f"page {number}")
        house.passes_on(BOB, ANA, "Done.")
    assert house.findings == []


def test_a_question_that_comes_round_every_half_hour_is_a_routine() -> None:
    house = fleet(ANA, BOB)
    for _ in range(6):
        house.passes_on(ANA, BOB, "Is all well?")
        house.passes_on(BOB, ANA, "All is well.")
        house.waits(ANA)
        house.waits(BOB)
        house.passes(HOUR / 2)
    assert house.findings == []


@pytest.mark.parametrize("how", ["a task", "mail of a person"])
def test_what_a_person_sets_going_each_time_is_no_ping_pong(how: str) -> None:
    house = fleet(ANA, BOB)
    for _ in range(20):
        if how == "a task":
            house.starts(ANA)
        else:
            house.reads(ANA, USER, MessageId("m"))
        house.passes_on(ANA, BOB, "Is all well?")
        house.passes_on(BOB, ANA, "All is well.")
    assert house.findings == []


def test_notes_of_the_runtime_are_nobodys_messages() -> None:
    house = fleet(ANA, BOB)
    for number in range(LIMITS.message_rounds):
        house.passes_on(ANA, BOB, "Thank you!")
        house.reads(ANA, SUPERVISOR, MessageId(f"note{number}"))
        house.passes_on(BOB, ANA, "You are welcome.")
    house.passes(3)
    assert house.troubles == {(Trouble.MESSAGE_LOOP, (ANA, BOB))}


def test_a_call_that_succeeds_for_one_is_no_shared_failure() -> None:
    house = fleet(ANA, BOB, CAT)
    for agent in (ANA, BOB):
        house.works(agent, "fetch", output="ERROR: busy", failed=True)
    house.works(ANA, "fetch", output="a page")
    house.works(CAT, "fetch", output="ERROR: busy", failed=True)
    house.passes(3)
    assert house.findings == []


def test_failures_long_ago_are_not_counted_together() -> None:
    house = fleet(ANA, BOB, CAT)
    for agent in (ANA, BOB, CAT):
        house.is_(agent, "idle")
    for agent in (ANA, BOB, CAT):
        house.works(agent, "fetch", output="ERROR: busy", failed=True)
        house.is_(agent, "idle")
        house.passes(LIMITS.failing_within)
    assert house.findings == []


def test_a_stopped_agent_is_left_to_those_who_stopped_it() -> None:
    house = fleet(ANA)
    house.thinks(ANA)
    house.calls(ANA, "hang")
    house.is_(ANA, "stopped", "enough")
    house.passes(HOUR)
    assert house.why(ANA) == "stopped: enough"
    assert house.findings == []


# --- what is told besides ---------------------------------------------------------------------------------------------


def test_parents_are_those_who_started_an_agent_and_are_not_in_it_themselves() -> None:
    house = fleet(BOB, CAT, parent=ANA)
    house.admit(DAN, parent=BOB)
    house.passes(3)
    assert house.watch.parents((BOB, CAT)) == (ANA,)
    assert house.watch.parents((BOB, DAN)) == (ANA,)
    assert house.watch.parents((ANA,)) == ()


def test_an_agent_that_was_there_before_the_watch_is_known_from_its_row() -> None:
    house = fleet(ANA)
    late = Watched(now=house.now)
    late.rows, late.pulses = house.rows, house.pulses
    late.is_(ANA, "thinking")
    late.passes(LIMITS.model - 10)
    assert late.findings == []
    late.passes(20)
    assert late.troubles == {(Trouble.STUCK, (ANA,))}
