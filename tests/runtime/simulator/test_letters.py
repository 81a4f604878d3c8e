"""Mail and notes are found in user messages as the runtime writes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.protocols.ids import SUPERVISOR, AgentId, MessageId
from amrita_fleet.runtime.simulator.letters import RUNTIME, Letter, letters
from amrita_fleet.runtime.step.phases import Mail
from amrita_fleet.runtime.step.prompts import mail_note

pytestmark = pytest.mark.slow

SENDERS = st.sampled_from([AgentId("w1"), AgentId("lead-2"), SUPERVISOR])
LINES = st.sampled_from(["", "Report.", "[Message m-1 from w9]", "[Note from the runtime]", "w1 died: no answer"])
MAILS = st.builds(
    Mail, st.just(MessageId("m-1")), SENDERS, st.lists(LINES).map("\n".join), st.sampled_from(["", "m-0"])
)


@given(st.lists(MAILS, min_size=1))
def test_each_mail_of_a_note_is_found_with_its_sender_and_no_other(mails: list[Mail]) -> None:
    found = list(letters(mail_note(tuple(mails))))
    assert [letter.sender for letter in found] == [RUNTIME if m.sender == SUPERVISOR else m.sender for m in mails]


def test_a_body_keeps_its_lines() -> None:
    note = mail_note(
        (Mail(MessageId("m-1"), AgentId("w1"), "One.\n\nTwo."), Mail(MessageId("m-2"), SUPERVISOR, "w1 died: x"))
    )
    assert list(letters(note)) == [Letter("w1", "One.\n\nTwo."), Letter(RUNTIME, "w1 died: x")]


def test_a_task_is_no_letter() -> None:
    assert list(letters("Count the files.\nSay [Message m-1 from w1] nothing.")) == []
