"""What the pages show, made of rows, accounts and notices."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.protocols.amounts import Amount
from amrita_fleet.protocols.approval import Approval
from amrita_fleet.protocols.checkin import AgentStatus
from amrita_fleet.protocols.ids import AgentId, Incarnation, MessageId, RunId
from amrita_fleet.protocols.insight import Insight, Letter, Said
from amrita_fleet.protocols.limits import Limits
from amrita_fleet.protocols.messages import Json
from amrita_fleet.protocols.notices import Notice, NoticeType
from amrita_fleet.runtime.dashboard import agent_model
from amrita_fleet.runtime.dashboard.agent_model import timeline_rows
from amrita_fleet.runtime.dashboard.alerts_model import LONGEST, alert_rows, evidence
from amrita_fleet.runtime.dashboard.budgets_model import DRAWN, account_rows, burn_down, joined, members, spending
from amrita_fleet.runtime.dashboard.chronicle import ALERTS, POINTS, TOLD, Chronicle
from amrita_fleet.runtime.dashboard.fleet_model import agent_rows, summary
from amrita_fleet.runtime.dashboard.live_grid import patch
from amrita_fleet.runtime.dashboard.messages_model import MOST, graph, letter_rows
from amrita_fleet.runtime.dashboard.transcript_pane import common
from amrita_fleet.runtime.supervision.account import Account


def row(name: str, phase: str = "idle", *, waiting: int = 0, note: str = "", stopped: str = "") -> AgentStatus:
    return AgentStatus(AgentId(name), Incarnation(1), phase, 5.0, waiting=waiting, note=note, stopped=stopped)


def notice(kind: str, agent: str = "ana", number: int = 1, step: int = 0, **data: Json) -> Notice:
    whole, _, event = kind.partition(".")
    return Notice(NoticeType(whole), event, AgentId(agent), kind, step=step, data=data, number=number, at=float(number))


def chronicle(*notices: Notice) -> Chronicle:
    told = Chronicle()
    for each in notices:
        told.add(each)
    return told


def replied(tokens: int, number: int = 1) -> Notice:
    return notice("model.replied", number=number, prompt=tokens, completion=0)


def test_a_row_says_the_state_in_words_and_in_a_colour_and_why_an_agent_may_not_go_on() -> None:
    first, second = agent_rows([row("ana", "winding_down", note="a\nlimit"), row("bob", "dead", stopped="by hand")])
    assert (first["state"], first["tone"], first["note"]) == ("winding down", "hold", "a limit")
    assert (second["tone"], second["note"]) == ("bad", "by hand")


def test_the_fleet_in_short_counts_states_and_names_the_part_of_the_limit_that_is_spent() -> None:
    account = Account(("fleet",), Limits(tokens=200), settled=Amount(50))
    short = summary([row("ana"), row("bob"), row("cid", "acting")], [account])
    assert short.phases == (("idle", 2), ("acting", 1))
    assert (short.spent, short.share) == ("50 of 200 tokens", 0.25)
    assert summary([], []).share is None


def test_a_timeline_marks_where_another_step_begins() -> None:
    rows = timeline_rows([notice("step.intro", step=1), notice("tool.ended", step=1), notice("step.intro", step=2)])
    assert [each["first"] for each in rows] == [True, False, True]


def test_evidence_leaves_out_what_says_nothing() -> None:
    assert evidence({"tool": "weigh", "period": 0, "node": "", "agents": ["ana"], "none": None}) == (
        'tool weigh, period 0, agents ["ana"]'
    )


def test_alerts_are_troubles_and_not_all_that_happens() -> None:
    told = chronicle(notice("run.started"), notice("step.stall", number=2), notice("budget.limited", number=3))
    assert [each["kind"] for each in alert_rows(told.alerts)] == ["step.stall"]


def test_a_call_waits_until_it_is_answered_or_its_run_is_over() -> None:
    asked = [notice("tool.approval", id="ana.1.1.5"), notice("tool.approval", agent="bob", number=2, id="bob.1.1.5")]
    assert set(chronicle(*asked, notice("tool.approved", number=3, id="ana.1.1.5")).waiting) == {"bob.1.1.5"}
    assert set(chronicle(*asked, notice("run.finished", agent="bob", number=3)).waiting) == {"ana.1.1.5"}
    assert set(chronicle(*asked, notice("agent.died", number=3)).waiting) == {"bob.1.1.5"}
    assert len(chronicle(*asked, notice("agent.died", number=3, restarts=True)).waiting) == 2


def test_who_needs_more_asks_until_it_goes_on() -> None:
    asked = replace(notice("budget.asked", account="ana"), at=replied(5, 2).at - 1)
    assert set(chronicle(asked).asking) == {"ana"}
    assert chronicle(asked, replied(5, 2)).asking == {}
    early = replace(replied(5, 2), at=asked.at - 1)  # an agent's own report comes after the Supervisor's notice
    assert set(chronicle(asked, early).asking) == {"ana"}
    assert chronicle(asked, notice("agent.stopped", number=2)).asking == {}


def test_letters_count_those_of_agents_as_sent_and_those_of_a_person_as_read() -> None:
    told = chronicle(
        notice("mail.sent", recipient="bob"),
        notice("mail.consumed", agent="bob", number=2, sender="ana"),
        notice("mail.consumed", number=3, sender="user"),
    )
    assert dict(told.mail.letters) == {("ana", "bob"): 1, ("user", "ana"): 1}


def sent(number: int, sender: str, recipient: str) -> Notice:
    return notice("mail.sent", agent=sender, number=number, id=f"m{number}", recipient=recipient)


def test_a_message_is_unread_until_it_is_read_in_whichever_order_that_is_told() -> None:
    read = notice("mail.consumed", agent="bob", number=2, id="m1", sender="ana")
    assert [each.id for each in chronicle(sent(1, "ana", "bob")).mail.unread()] == ["m1"]
    assert chronicle(sent(1, "ana", "bob"), read).mail.unread() == ()
    assert chronicle(read, sent(1, "ana", "bob")).mail.unread() == ()


def test_a_way_is_stalled_where_nobody_reads_or_writes_any_more() -> None:
    mail = chronicle(sent(1, "ana", "bob"), notice("step.waiting", agent="cid", number=2, senders=["bob"])).mail
    assert mail.stalled([row("ana"), row("bob", "thinking"), row("cid", "waiting")]) == {}
    stalled = mail.stalled([row("ana"), row("bob", "paused"), row("cid", "waiting")])
    assert stalled == {("ana", "bob"): "unread: bob is paused", ("cid", "bob"): "cid waits for bob, which is paused"}
    rows = letter_rows(mail.letters, mail.unread(), stalled)
    assert [(each["id"], each["count"], each["unread"]) for each in rows] == [("ana > bob", 1, 1), ("cid > bob", 0, 0)]
    links = graph([row("ana"), row("bob"), row("cid")], mail.letters, stalled)["links"]
    assert [each["lineStyle"]["type"] for each in links] == ["dashed", "dashed"]


def test_messages_in_circles_stall_until_a_run_of_theirs_ends() -> None:
    found = notice("watch.found", number=3, trouble="message_loop", agents=["ana", "bob"])
    told = [sent(1, "ana", "bob"), sent(2, "bob", "ana"), found]
    assert set(chronicle(*told).mail.stalled([])) == {("ana", "bob"), ("bob", "ana")}
    assert chronicle(*told, notice("run.finished", agent="bob", number=4)).mail.stalled([]) == {}


def test_a_teams_spending_is_that_of_its_agents_in_the_order_of_time() -> None:
    accounts = [Account(("f", "team:red")), Account(("f", "team:red", "ana")), Account(("f", "bob"))]
    told = chronicle(
        replied(5, 1), notice("model.replied", agent="bob", number=2, prompt=7, completion=0), replied(3, 3)
    )
    assert [each.tokens for each in joined(map(AgentId, ("ana", "bob")), told.spent_by)] == [5, 12, 15]
    assert members(accounts[0], accounts) == ("ana",)


def test_the_graph_shows_waiting_mail_as_size_and_draws_only_so_many() -> None:
    small, large = graph([row("ana"), row("bob", waiting=5)], {("ana", "bob"): 2}, {})["nodes"]
    assert small["symbolSize"] < large["symbolSize"]
    assert (small["name"], large["name"]) == ("ana", "bob")
    many = graph([row(f"a{each}") for each in range(MOST + 50)], {("a340", "a341"): 1}, {})
    assert len(many["nodes"]) == MOST
    assert {"a340", "a341"} <= {each["name"] for each in many["nodes"]}
    assert len(many["links"]) == 1


def test_an_account_has_parts_of_its_limit_and_none_without_one() -> None:
    limited = Account(("f", "ana"), Limits(tokens=400), settled=Amount(100), reserved=Amount(40))
    (first, second) = account_rows([limited, Account(("f", "bob"), settled=Amount(3))])
    assert (first["settled_part"], first["reserved_part"], first["name"]) == (25.0, 10.0, "ana")
    assert second["settled_part"] is None
    limits = Limits(tokens=1_000, dollars=2.0, model_calls=4)
    (third,) = account_rows(
        [Account(("f",), limits, settled=Amount(100, model_calls=3), reserved=Amount(model_calls=1))]
    )
    assert (third["settled_part"], third["reserved_part"], third["of"]) == (75.0, 25.0, "4 model calls")
    assert third["limit"] == "1,000 tokens, $2.00, 4 model calls"


@given(st.lists(st.integers(0, 5000), max_size=60), st.integers(0, 10_000), st.none() | st.integers(1, 10**6))
def test_a_burn_down_ends_where_the_account_is_and_never_rises(costs: list[int], lost: int, limit: int | None) -> None:
    told = chronicle(*(replied(each, number) for number, each in enumerate(costs, 1)))
    now = sum(costs) + lost
    curve = [value for _, value in burn_down(told.spent, now, limit)]
    if curve:
        assert curve[-1] == (now if limit is None else max(0, limit - now))
    assert curve == sorted(curve, reverse=limit is not None)


def test_a_curve_has_a_bounded_number_of_points_and_ends_where_it_ends() -> None:
    told = chronicle(*(replied(1, number) for number in range(1, 3 * DRAWN)))
    curve = spending(told.spent, 3 * DRAWN - 1)
    assert (len(curve), curve[-1][1]) == (DRAWN, 3 * DRAWN - 1)


def test_reports_that_come_late_do_not_turn_the_curve_back() -> None:
    late = Notice(NoticeType.MODEL, "replied", AgentId("bob"), "", data={"prompt": 1}, number=2, at=0.5)
    times = [each.at for each in chronicle(replied(1, 1), late, replied(1, 3)).spent]
    assert times == sorted(times)


def test_of_a_row_that_changed_only_the_fields_are_sent_that_did() -> None:
    (before,), (now,) = agent_rows([row("ana")]), agent_rows([row("ana", waiting=3)])
    assert patch(before, now) == {"id": "ana", "waiting": 3}


def test_what_is_kept_is_bounded() -> None:
    told = Chronicle()
    for number in range(1, 5 * POINTS):
        told.add(replied(1, number))
        told.add(notice("step.stall", number=number))
    assert len(told.spent) <= 2 * POINTS
    assert told.spent[-1].tokens == 5 * POINTS - 1
    assert (len(told.alerts), len(told.told("ana"))) == (ALERTS, TOLD)


def test_which_calls_wait_is_known_from_the_agents_where_notices_are_missing() -> None:
    def waits(name: str) -> Approval:
        return Approval(f"{name}.1.1.5", AgentId(name), RunId("r"), 2, "delete", "{}", "it asks", 5.0)

    told = chronicle(*(notice("tool.approval", agent=each, number=1, id=f"{each}.1.1.5") for each in ("ana", "bob")))
    told.add(notice("tool.approval", agent="eve", number=7, id="eve.1.1.5"))
    told.wait_for((waits("bob"), waits("fay")), last=6)
    assert set(told.waiting) == {"bob.1.1.5", "fay.1.1.5", "eve.1.1.5"}
    assert told.waiting["fay.1.1.5"].data["arguments"] == "{}"


SIZES = ((LONGEST, 0), (LONGEST + 1, 0), (LONGEST + 1_000, 7))


def test_a_text_that_is_cut_says_how_much_is_left_out() -> None:
    letters = [Letter(MessageId(str(cut)), AgentId("ana"), "peer", "x" * size, 1.0, cut) for size, cut in SIZES]
    assert [row["text"].lstrip("x") for row in agent_model.letter_rows(letters)] == [
        "",
        " ... (1 characters more)",
        " ... (1,007 characters more)",
    ]


TURNS = tuple(Said("user", str(number)) for number in range(12))


@given(st.integers(0, 12), st.integers(0, 12), st.integers(0, 12), st.integers(0, 12), st.booleans())
def test_of_a_transcript_that_went_on_only_what_is_new_is_made(
    first: int, until: int, later: int, end: int, compacted: bool
) -> None:
    def seen(begin: int, stop: int, turns: tuple[Said, ...]) -> Insight:
        return Insight(AgentId("ana"), 1, transcript=turns[begin:stop], earlier=begin)

    before = seen(first, until, TURNS)
    now = seen(later, end, tuple(reversed(TURNS)) if compacted else TURNS)
    gone, kept = common(before, now)
    assert (*before.transcript[gone:], *now.transcript[kept:]) == now.transcript
    if not compacted and first <= later <= until <= end:
        assert (gone, kept) == (later - first, until - later)
