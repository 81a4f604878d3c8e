"""Which questions a run still has to answer, and how long the chains are that its answers go on with."""

from dataclasses import replace

import pytest

from amrita_fleet.protocols.ids import AgentId, MessageId
from amrita_fleet.runtime.step.correspondence import KEPT_CHAINS, Chain, Question, chains_with, hops_after
from amrita_fleet.runtime.step.effects import Finish, RunTool
from amrita_fleet.runtime.step.events import ToolEnded
from amrita_fleet.runtime.step.phases import Mail

from .play import Play, calls, mail, says

BOB, CYD = AgentId("bob"), AgentId("cyd")


def question(sender: str, number: int = 1) -> Mail:
    return replace(mail("How many?", sender=sender, number=number), question=True, hops=number)


def open_at_the_end(wrote: tuple[AgentId, ...], *letters: Mail) -> list[str]:
    """Who still waits for an answer when a run ends that read these and had one call, which wrote to some."""
    play = Play([calls("tell"), says("Three.")], held=("tell", Finish), mailbox=list(letters)).ask()
    op = next(op for op, effect in play.pending.items() if isinstance(effect, RunTool))
    play.feed(ToolEnded(op, "Accepted.", "d", wrote=wrote))
    return [each.sender for each in play.state.current.questions]


def test_a_run_has_to_answer_the_questions_that_it_read() -> None:
    assert open_at_the_end((), question("bob"), mail("By the way.", sender="dan"), question("cyd")) == [BOB, CYD]


def test_whom_a_call_wrote_to_has_an_answer() -> None:
    assert open_at_the_end((BOB,), question("bob"), question("cyd")) == [CYD]


def test_a_question_that_is_read_after_its_sender_was_written_to_is_still_open() -> None:
    play = Play([calls("tell")], held=("tell",)).ask()
    op = next(op for op, effect in play.pending.items() if isinstance(effect, RunTool))
    play.mailbox.append(question("bob"))
    play.feed(ToolEnded(op, "Accepted.", "d", mail_waits=True, wrote=(BOB,)))

    assert play.state.current.questions == (Question(question("bob").id, BOB, 1),)


def test_the_next_run_has_nothing_to_answer_that_was_asked_of_the_last_one() -> None:
    play = Play([says("Three."), calls("look")], held=("look",), mailbox=[question("bob")]).ask().ask()

    assert play.state.current.questions == ()


@pytest.mark.parametrize(("reply_to", "hops"), [("", 0), ("bob.1.ana.7", 8), ("bob.1.ana.1", 1), ("never read", 1)])
def test_an_answer_has_one_hop_more_than_what_it_answers(reply_to: str, hops: int) -> None:
    letters = [replace(mail("So it is.", number=7), hops=7), mail("Hello.", number=1)]
    play = Play([says("Yes.")], mailbox=letters).ask()

    assert play.state.hops_after(reply_to) == hops


def test_so_many_chains_are_remembered_the_newest_ones() -> None:
    chains: tuple[Chain, ...] = ()
    for number in range(1, KEPT_CHAINS + 2):
        chains = chains_with(chains, (replace(mail("So.", number=number), hops=number),))

    assert len(chains) == KEPT_CHAINS
    assert hops_after(chains, MessageId("bob.1.ana.2")) == 3
    assert hops_after(chains, MessageId("bob.1.ana.1")) == 1
