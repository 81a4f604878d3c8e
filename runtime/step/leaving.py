"""What follows the end of a Step: the next one, a wait for mail, or the end of the run."""

from dataclasses import replace
from typing import assert_never

from ...protocols.messages import Json
from ...protocols.notices import NoticeType
from .boundary import enter
from .effects import Cancel, Commit, Moved, Notify, WaitForMail
from .ending import finish_answered
from .events import MailArrived, MailSeen, TimerFired, WaitEnded
from .phases import Answer, Leaving, NodeDone, WaitFor, Waiting
from .plan import NodeStatus
from .planning import end_node
from .prompts import NO_MAIL, WAIT_ENDED
from .stalling import stalled
from .state import AgentState

__all__ = ("mail_arrived", "mail_seen", "wait_ended", "wait_over")


def mail_seen(state: AgentState, doing: Leaving, event: MailSeen) -> Moved:
    """Mail opens another Step, if there is a round left for it; else what was to follow does.

    A node that is done is done: mail is read at the beginning of the next.
    """
    match doing.then:
        case NodeDone(summary=summary):
            state, told = end_node(state, NodeStatus.DONE, event.summary or summary)
            state, effects = enter(state)
            return state, (told, Commit(), *effects)
        case _ if event.waits and state.rounds_left > 0:
            return enter(state)
        case Answer() as answer:
            return finish_answered(state, answer)
        case WaitFor() as wait:
            state, op = state.with_op()
            facts: dict[str, Json] = {"senders": [*wait.senders], "seconds": wait.seconds}
            told = Notify(NoticeType.STEP, "waiting", f"waits for mail, {wait.seconds:g} s at most", facts)
            return replace(state, doing=Waiting(op, wait)), (told, Commit(), WaitForMail(op, wait))
        case None if state.current.window.period:  # seen after the round already, and here once more: nobody slips by
            return stalled(state, None)
        case None:
            return enter(state)
        case _ as unknown:
            assert_never(unknown)


def wait_over(state: AgentState, doing: Waiting, _: TimerFired) -> Moved:
    """No mail came in time: the model is told, and the next Step begins."""
    return enter(replace(state, transcript=state.transcript.note(NO_MAIL.format(seconds=doing.wait.seconds))))


def mail_arrived(state: AgentState, doing: Waiting, _: MailArrived) -> Moved:
    """What the agent waited for is there."""
    state, effects = enter(state)
    return state, (Cancel((doing.op,)), *effects)


def wait_ended(state: AgentState, doing: Waiting, event: WaitEnded) -> Moved:
    """Nobody would ever end the wait: the model is told why and what to do, and the next Step begins."""
    data: dict[str, Json] = {"cause": event.cause.value, "agents": [*event.agents], "senders": [*doing.wait.senders]}
    told = Notify(NoticeType.STEP, "wait_ended", f"waits no longer: {event.why}", data)
    state, effects = enter(state.noted(WAIT_ENDED[event.cause].format(why=event.why)))
    return state, (Cancel((doing.op,)), told, *effects)
