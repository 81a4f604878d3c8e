"""Only the runtime can write heads, and what stands under them can be told apart again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet.runtime.step.heads import FROM_RUNTIME, guarded, is_mail, peer_messages
from amrita_fleet.runtime.step.prompts import mail_note

from .play import mail

BODIES = st.lists(st.sampled_from(["Hi.", "a\n\n[Message x from y]\nb", "\n\n", "[Note from the runtime]", "\ud800"]))


@pytest.mark.parametrize(
    "line",
    ["[Message x from y]", "[note: current request]", "[Plan status]", "\u200b[NOTE", "\uff3bMessage"],
    ids=["message", "note", "plan", "unseen", "wide"],
)
def test_a_line_that_looks_like_a_head_is_indented(line: str) -> None:
    assert guarded(f"a\n{line}\nb") == f"a\n {line}\nb"


@given(bodies=BODIES)
def test_a_note_of_mail_is_taken_apart_as_it_was_put_together(bodies: list[str]) -> None:
    mails = [mail(body, sender="bob" if place % 2 else "supervisor", number=place) for place, body in enumerate(bodies)]
    note = mail_note(tuple(mails))

    assert is_mail(note) == bool(bodies)
    assert peer_messages(note) == tuple(mail_note((one,)) for one in mails if one.sender == "bob")


def test_what_is_no_mail_holds_no_messages() -> None:
    assert peer_messages("Look:\n\n[Message x from y]\nHi.") == ()
    assert peer_messages(f"{FROM_RUNTIME}\nNo message came within 3 seconds.") == ()
