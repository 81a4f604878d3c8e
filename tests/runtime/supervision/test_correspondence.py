"""Circles of messages are found wherever they are, and nowhere else."""

from dataclasses import dataclass, field
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.protocols.ids import AgentId, MessageId
from amrita_fleet.runtime.supervision.correspondence import PAIRS_KEPT, Correspondence, Letter
from amrita_fleet.runtime.supervision.deadlines import Deadlines

AGENTS = tuple(AgentId(name) for name in ("ana", "bob", "cat", "dan", "eve"))
ROUNDS = Deadlines().message_rounds


@dataclass
class Post:
    """Letters that are written and read one after the other."""

    letters: Correspondence = field(default_factory=lambda: Correspondence(Deadlines()))
    numbers: "count[int]" = field(default_factory=lambda: count(1))

    def sends(self, sender: AgentId, to: AgentId, content: str, work: str = "") -> MessageId:
        number = next(self.numbers)
        message = MessageId(str(number))
        self.letters.sent(Letter(message, sender, to, content, work, float(number)))
        return message

    def passes_on(self, sender: AgentId, to: AgentId, content: str, work: str = "") -> None:
        self.letters.read(to, sender, self.sends(sender, to, content, work))

    def circles(self) -> list[tuple[int, set[AgentId]]]:
        """Period and agents of each."""
        return [(len(each) // ROUNDS, {letter.sender for letter in each}) for each in self.letters.circles()]


steps = st.lists(
    st.tuples(st.sampled_from(("send", "read", "begin")), st.sampled_from(AGENTS), st.sampled_from(AGENTS)),
    max_size=200,
)


@given(steps)
def test_whoever_writes_whatever_to_whom_is_in_no_circle_while_no_content_comes_twice(
    happenings: list[tuple[str, AgentId, AgentId]],
) -> None:
    post, mail = Post(), dict[tuple[AgentId, AgentId], MessageId]()
    for number, (what, one, other) in enumerate(happenings):
        if what == "begin":
            post.letters.begun(one)
        elif what == "send" and one != other:
            mail[one, other] = post.sends(one, other, f"content {number}")
        elif (other, one) in mail:
            post.letters.read(one, other, mail[other, one])
        assert post.circles() == []


@given(
    agents=st.permutations(AGENTS),
    period=st.integers(2, 4),
    noise=st.lists(steps, min_size=ROUNDS, max_size=ROUNDS),
    same=st.booleans(),
)
def test_a_planted_ring_is_found_when_its_fourth_round_is_over_and_not_before(
    agents: list[AgentId], period: int, noise: list[list[tuple[str, AgentId, AgentId]]], same: bool
) -> None:
    ring, post, numbers = agents[:period], Post(), count(1)
    outside = [agent for agent in agents if agent not in ring]
    for number in range(ROUNDS):
        assert post.circles() == []
        for place, agent in enumerate(ring):
            # Others write to those in the ring at any time, each time something new.
            for _, writer, reader in noise[number][place * 3 : place * 3 + 3]:
                if writer in outside and reader in ring:
                    post.passes_on(writer, reader, f"news {next(numbers)}")
                    break
            post.passes_on(agent, ring[(place + 1) % period], "round" if same else f"from {place}")
    assert post.circles() == [(period, set(ring))]


@given(st.integers(0, 3))
def test_a_circle_whose_work_is_new_each_time_is_none(place: int) -> None:
    post = Post()
    for number in range(3 * ROUNDS):
        for at in range(4):
            sender, to = AGENTS[at % 2], AGENTS[(at + 1) % 2]
            post.passes_on(sender, to, f"message {at}", work=f"page {number}" if at == place else "")
    assert post.circles() == []


def test_a_circle_is_told_once_until_something_of_it_is_new() -> None:
    post = Post()
    for _ in range(2 * ROUNDS):
        post.passes_on(AGENTS[0], AGENTS[1], "ping")
        post.passes_on(AGENTS[1], AGENTS[0], "pong")
    assert post.circles() == [(2, set(AGENTS[:2]))]
    assert post.circles() == []
    post.passes_on(AGENTS[0], AGENTS[1], "ping")
    assert post.circles() == [(2, set(AGENTS[:2]))]


def test_who_says_the_same_again_and_again_and_gets_no_answer_is_in_no_circle() -> None:
    post = Post()
    for _ in range(20):
        post.passes_on(AGENTS[0], AGENTS[1], "hello?")
    assert post.circles() == []


def test_a_message_that_is_sent_again_after_a_crash_is_the_same_one() -> None:
    post = Post()
    for number in range(ROUNDS - 1):
        for sender, to in ((AGENTS[0], AGENTS[1]), (AGENTS[1], AGENTS[0])):
            letter = Letter(MessageId(f"{sender}{number}"), sender, to, "same", "", float(number))
            for _ in range(3):
                post.letters.sent(letter)
                post.letters.read(to, sender, letter.id)
    assert post.circles() == []


@pytest.mark.parametrize("pairs", [2 * PAIRS_KEPT], ids=["twice as many pairs as are kept"])
def test_what_is_remembered_is_bounded(pairs: int) -> None:
    post = Post()
    for number in range(pairs):
        for _ in range(3):
            post.passes_on(AgentId(f"a{number}"), AGENTS[0], "x")
    for _ in range(1000):
        post.passes_on(AGENTS[0], AGENTS[1], "x")
    kept = post.letters.size
    assert kept <= 3 * PAIRS_KEPT + 4 * ROUNDS
    assert post.circles() == []
