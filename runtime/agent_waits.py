"""An agent's waits for mail as the Supervisor and people see them: how the agent stands, and the way to end a wait."""

from collections.abc import Callable
from datetime import UTC, datetime

from ..protocols.checkin import AgentStatus
from ..protocols.ids import Incarnation
from ..protocols.waits import Standing, WaitRefusal
from .driver import Driver
from .questions import Questions
from .step.events import WaitEnded
from .step.phases import Op, Phase, WaitFor, Waiting

__all__ = ("AgentWaits",)


class AgentWaits:
    """The waits of one agent. From any thread."""

    def __init__(
        self,
        driver: Driver,
        feed: Callable[[WaitEnded], None],
        status: Callable[[], AgentStatus],
        questions: Questions,
        begins: Callable[[], bool],
    ) -> None:
        """Keep the ends.

        Args:
            driver: Drives the agent.
            feed: Hands it an event.
            status: Gives the agent's row of the fleet's table.
            questions: Sends its answers.
            begins: Whether something is there that begins a run as soon as there is none.
        """
        self._driver = driver
        self._feed = feed
        self._status = status
        self._questions = questions
        self._begins = begins

    def standing(self) -> Standing:
        """How the agent stands now; one that changes while it is looked at stirs."""
        driver, state = self._driver, self._driver.state
        status, outgoing = self._status(), self._questions.outgoing
        stirs = driver.busy or driver.mail_wanted or (state.phase is Phase.IDLE and self._begins())
        doing = state.doing
        op, senders = (doing.op, doing.wait.senders) if isinstance(doing, Waiting) else (0, ())
        return Standing(
            incarnation=status.incarnation,
            phase=status.phase,
            run=status.run,
            step=state.step,
            wait=op,
            senders=senders,
            stirs=stirs or driver.state is not state,
            paused=state.pause is not None,
            outgoing=outgoing,
            sent=status.sent,
            consumed=status.consumed,
        )

    def end(self, incarnation: Incarnation, op: int, refusal: WaitRefusal) -> None:
        """End a wait of this life, if it is not over."""
        if self._status().incarnation == incarnation:
            self._feed(WaitEnded(Op(op), refusal.cause, refusal.why, refusal.agents))

    @property
    def note(self) -> str:
        """For whom it waits, since when, and for how long at most; empty: it does not wait."""
        doing = self._driver.state.doing
        return waiting_note(doing.wait, self._driver.since, self._driver.until) if isinstance(doing, Waiting) else ""


def waiting_note(wait: WaitFor, since: float, until: float) -> str:
    """That an agent waits for mail, with times in Unix seconds; `until` is 0 while it has only just begun."""
    whom = f"mail of {' or '.join(wait.senders)}" if wait.senders else "mail"
    times = [f"since {clock_time(since)}", *([f"until {clock_time(until)}"] if until else [])]
    return f"waits for {whom} {', '.join(times)} UTC"


def clock_time(at: float) -> str:
    """Unix seconds as people read them."""
    return f"{datetime.fromtimestamp(at, UTC):%H:%M:%S}"
