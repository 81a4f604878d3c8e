"""What came to a boundary enters the transcript."""

from dataclasses import replace

from ...protocols.notices import NoticeType
from ...protocols.outcome import Ending
from .compacting import think_within
from .correspondence import chains_with, questions_in
from .effects import Commit, Moved, Notify
from .ending import finish
from .events import MailTaken
from .phases import Mail
from .planning import with_status
from .prompts import MAIL_GONE, mail_note
from .state import AgentState

__all__ = ("mail_taken",)

NOTHING_TO_DO = "the mail that woke the agent is gone"


def mail_taken(state: AgentState, _: object, event: MailTaken) -> Moved:
    """What came to a boundary enters the transcript, and the model is asked."""
    if event.refused is not None:
        return finish(state, Ending.STOPPED, state.transcript.last_text, reason=event.refused)
    told = tuple(
        Notify(
            NoticeType.MAIL,
            "consumed",
            f"from {mail.sender}: {mail.body[:200]}",
            {"id": mail.id, "sender": mail.sender},
        )
        for mail in event.mails
    )
    if event.mails:
        state = remembered(state, event.mails).noted(mail_note(event.mails))
    if not state.transcript.of_run:
        return finish(state, Ending.STOPPED, "", reason=NOTHING_TO_DO)
    for note in event.notes:
        state = state.noted(note)
    state, planned = with_status(state)
    if state.transcript.answered:
        state = state.noted(MAIL_GONE)
    taken = tuple(mail.id for mail in event.mails)
    commit = (Commit(taken),) if taken or event.notes or planned else ()
    state, effects = think_within(state)
    return state, (*commit, *told, *planned, *effects)


def remembered(state: AgentState, mails: tuple[Mail, ...]) -> AgentState:
    """The agent that has read these, and that its run has to answer the questions among them."""
    run = replace(state.current, questions=(*state.current.questions, *questions_in(mails)))
    return replace(state, run=run, chains=chains_with(state.chains, mails))
