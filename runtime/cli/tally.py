"""What a fleet's notices come to: runs, messages, stalls and limits. Pure; notices go in in order."""

from dataclasses import dataclass, field, replace

from ...protocols.ids import AgentId, RunId, life_of
from ...protocols.notices import Notice, NoticeType

__all__ = ("Letter", "RunEnd", "Tally")

QUIET = {
    (NoticeType.AGENT, "admitted"),
    (NoticeType.STEP, "intro"),
    (NoticeType.STEP, "leave"),
    (NoticeType.TOOL, "started"),
    (NoticeType.TOOL, "ended"),
}
"""What is no news: it always happens, or another notice has said it."""


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How a run ended.

    Attributes:
        outcome: `answered`, `limit:tokens` and so on, or `died`.
        text: The last answer.
        reason: Why it did not simply answer.
        step: Steps of the agent's life when it ended.
        error: Class of the last error that a model call failed with for good.
    """

    run: RunId
    agent: AgentId
    outcome: str
    text: str = ""
    reason: str = ""
    tokens: int = 0
    rounds: int = 0
    step: int = 0
    error: str = ""

    @property
    def answered(self) -> bool:
        """It ended by itself, with an answer."""
        return self.outcome == "answered"


@dataclass(frozen=True, slots=True)
class Letter:
    """A message and where in its sender's and its recipient's life it was sent and consumed, in Steps.

    Attributes:
        sent: None: by the runtime or a person, who take no Steps.
        consumed: None: not yet, or never.
        lost: Why it never will be.
    """

    id: str
    sender: str
    recipient: str
    body: str = ""
    sent: int | None = None
    consumed: int | None = None
    lost: str = ""


@dataclass
class Tally:
    """Counts what happens. A notice that says the same twice counts once.

    Attributes:
        ends: Runs that ended, in that order.
        letters: Messages by id, in the order they were first heard of.
        stalls: Notices of agents that went in circles.
        limits: Notices of agents that were told to come to an end.
        open: Runs that have begun and not ended, with their agents.
        gone: Agents that died or failed and did not come back, with the reason.
        fallen: The latest life of each agent that died, by its number.
        errors: Runs in which a model call failed for good, with the error's class.
        latest: The last thing worth telling about each agent.
    """

    ends: dict[RunId, RunEnd] = field(default_factory=dict[RunId, RunEnd])
    letters: dict[str, Letter] = field(default_factory=dict[str, Letter])
    stalls: list[Notice] = field(default_factory=list[Notice])
    limits: list[Notice] = field(default_factory=list[Notice])
    open: dict[RunId, AgentId] = field(default_factory=dict[RunId, AgentId])
    gone: dict[AgentId, str] = field(default_factory=dict[AgentId, str])
    fallen: dict[AgentId, int] = field(default_factory=dict[AgentId, int])
    errors: dict[RunId, str] = field(default_factory=dict[RunId, str])
    latest: dict[AgentId, str] = field(default_factory=dict[AgentId, str])

    def add(self, notice: Notice) -> None:
        """Take one notice in."""
        if tells(notice):
            self.latest[notice.agent] = notice.text
        match notice.type, notice.extra_type:
            case NoticeType.RUN, "started" if notice.run:
                self.open[notice.run] = notice.agent
            case NoticeType.RUN, "finished" if notice.run:
                self._finished(notice, notice.run)
            case NoticeType.MODEL, "failed" if notice.run:
                self.errors[notice.run] = str(notice.data.get("error", ""))
            case NoticeType.AGENT, "admitted":
                self.gone.pop(notice.agent, None)
            case NoticeType.AGENT, "died" | "failed" if not notice.data.get("restarts"):
                self._died(notice)
            case NoticeType.STEP, "stall":
                self.stalls.append(notice)
            case NoticeType.BUDGET, "wind_down":
                self.limits.append(notice)
            case NoticeType.MAIL, _:
                self._mail(notice)
            case _:
                pass

    @property
    def quiet(self) -> bool:
        """Nobody works, and no letter waits for a reader: the run that it begins may just not have been heard of."""
        return not self.open and not any(map(self._waits, self.letters.values()))

    def goes_on(self, run: RunId, agent: AgentId) -> None:
        """Take in that a run is under way or waits for its turn, although its agent died: its next life has it."""
        self.ends.pop(run, None)
        self.open[run] = agent

    def over(self, run: RunId, agent: AgentId) -> bool:
        """Whether this run has ended, in whatever way."""
        return run in self.ends or (run not in self.open and self.fallen.get(agent, 0) >= life_of(run))

    def ends_of(self, agent: AgentId) -> tuple[RunEnd, ...]:
        """How the runs of one agent ended, oldest first."""
        return tuple(end for end in self.ends.values() if end.agent == agent)

    def _waits(self, letter: Letter) -> bool:
        return letter.consumed is None and not letter.lost and letter.recipient not in self.gone

    def _finished(self, notice: Notice, run: RunId) -> None:
        data = notice.data
        self.open.pop(run, None)
        self.ends[run] = RunEnd(
            run,
            notice.agent,
            str(data.get("outcome", "")),
            str(data.get("text", "")),
            str(data.get("reason", "")),
            number(data.get("tokens")),
            number(data.get("rounds")),
            notice.step,
            self.errors.get(run, ""),
        )

    def _died(self, notice: Notice) -> None:
        self.gone[notice.agent] = notice.text
        self.fallen[notice.agent] = number(notice.data.get("incarnation"))
        for run in [run for run, agent in self.open.items() if agent == notice.agent]:
            del self.open[run]
            self.ends[run] = RunEnd(run, notice.agent, "died", reason=notice.text, step=notice.step)

    def _mail(self, notice: Notice) -> None:
        data = notice.data
        key, body = str(data.get("id", "")), notice.text.partition(": ")[2]
        sender, recipient = str(data.get("sender", notice.agent)), str(data.get("recipient", notice.agent))
        letter = self.letters.get(key, Letter(key, sender, recipient))
        match notice.extra_type:
            case "consumed":
                letter = replace(letter, consumed=notice.step, body=body)
            case "dead":
                letter = replace(letter, lost=str(data.get("refusal", "")))
            case _:  # sent; refused; pending, when nobody knows yet whether it arrived
                letter = replace(letter, sent=notice.step, body=body, lost=str(data.get("refusal", "")))
        self.letters[key] = letter


def tells(notice: Notice) -> bool:
    """Whether it is worth a line."""
    return (notice.type, notice.extra_type) not in QUIET


def number(value: object) -> int:
    """A count among a notice's facts."""
    return value if isinstance(value, int) else 0
