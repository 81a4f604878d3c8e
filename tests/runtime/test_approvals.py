"""What waits for a person in one agent, and that each of it is answered once."""

import threading
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.protocols.approval import Approval, agent_of
from amrita_fleet.protocols.codec import decode, encode
from amrita_fleet.protocols.ids import AgentId, RunId
from amrita_fleet.protocols.messages import ToolCall
from amrita_fleet.runtime.approvals import PendingApprovals, held_calls
from amrita_fleet.runtime.errors import ApprovalUnknown
from amrita_fleet.runtime.step.events import Decided
from amrita_fleet.runtime.step.phases import Acting, Op, Slot
from amrita_fleet.runtime.step.rules import Rules
from amrita_fleet.runtime.step.state import AgentState, Run

ANA = AgentId("ana")
RUN = RunId("ana.1.2")


def slot(op: int, *, held: str = "", output: str | None = None, rewritten: str = "") -> Slot:
    return Slot(ToolCall("c", "delete", f'{{"path":{op}}}'), "s", Op(op), output, held=held, rewritten=rewritten)


def state(*slots: Slot) -> AgentState:
    begun = AgentState.begin(ANA, Rules())
    return replace(begun, run=Run(RUN), step=3, doing=Acting(slots))


def approval(op: int) -> Approval:
    return Approval(f"{RUN}.{op}", ANA, RUN, 3, "delete", f'{{"path":{op}}}', "it is marked", 12.0)


def test_held_calls_are_those_that_nobody_has_decided_about() -> None:
    acting = state(slot(4), slot(5, held="it is marked"), slot(6, output="done"), slot(7, held="it is marked"))
    assert held_calls(acting, 12.0) == (approval(5), approval(7))
    assert held_calls(AgentState.begin(ANA, Rules()), 12.0) == ()


def test_a_held_call_is_shown_as_it_will_run() -> None:
    (shown,) = held_calls(state(slot(5, held="it is marked", rewritten='{"path":"/tmp/1"}')), 12.0)
    assert shown == replace(approval(5), arguments='{"path":"/tmp/1"}')


def test_an_approval_crosses_processes_and_names_its_agent() -> None:
    assert decode(encode((approval(5),)), tuple[Approval, ...]) == (approval(5),)
    assert agent_of(approval(5).id) == ANA
    assert str(approval(5)) == 'ana.1.2.5: delete {"path":5} (it is marked)'


class Bench:
    """Pending approvals over calls that the test holds."""

    def __init__(self, *ops: int) -> None:
        self.held = tuple(approval(op) for op in ops)
        self.fed: list[Decided] = []
        self.waiting = PendingApprovals(lambda: self.held, self.fed.append)

    @property
    def pending(self) -> list[str]:
        return [each.id for each in self.waiting.pending()]


def test_an_answered_call_waits_no_longer_though_its_agent_has_not_taken_the_answer_yet() -> None:
    bench = Bench(5, 7)
    bench.waiting.answer(f"{RUN}.5", allowed=True, reason="")
    assert bench.fed == [Decided(Op(5), allowed=True)]
    assert bench.pending == [f"{RUN}.7"]
    with pytest.raises(ApprovalUnknown) as again:
        bench.waiting.answer(f"{RUN}.5", allowed=False, reason="no")
    assert again.value.pending == (f"{RUN}.7",)
    assert str(again.value).endswith("it was answered, its run has ended, or there was none; pending there: ana.1.2.7.")


@pytest.mark.parametrize("unknown", ["", "ana", "ana.1.2", "ana.1.2.5 ", "ana.1.1.5", "bob.1.2.5"])
def test_what_does_not_wait_cannot_be_answered(unknown: str) -> None:
    bench = Bench(5)
    with pytest.raises(ApprovalUnknown, match="is pending"):
        bench.waiting.answer(unknown, allowed=True, reason="")
    assert bench.fed == []


def test_a_call_that_is_held_no_more_cannot_be_answered() -> None:
    bench = Bench(5)
    bench.held = ()
    with pytest.raises(ApprovalUnknown, match="nothing is pending there"):
        bench.waiting.answer(f"{RUN}.5", allowed=True, reason="")


@given(st.lists(st.tuples(st.integers(1, 4), st.booleans()), max_size=12))
def test_every_call_is_answered_at_most_once_and_by_the_first(answers: list[tuple[int, bool]]) -> None:
    bench, first = Bench(1, 2, 3), dict[int, bool]()
    for op, allowed in answers:
        known = op <= 3 and op not in first
        try:
            bench.waiting.answer(f"{RUN}.{op}", allowed=allowed, reason="r")
        except ApprovalUnknown:
            assert not known
        else:
            assert known
            first[op] = allowed
    assert bench.fed == [Decided(Op(op), allowed, "r") for op, allowed in first.items()]
    assert bench.pending == [f"{RUN}.{op}" for op in (1, 2, 3) if op not in first]


def test_of_many_threads_one_gets_its_answer_through() -> None:
    bench, refused, start = Bench(5), list[ApprovalUnknown](), threading.Barrier(8)

    def answer() -> None:
        start.wait()
        try:
            bench.waiting.answer(f"{RUN}.5", allowed=True, reason="")
        except ApprovalUnknown as error:
            refused.append(error)

    threads = [threading.Thread(target=answer) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(bench.fed), len(refused)) == (1, 7)
