"""What agents do again and again: the same calls, the same messages, and the same call that fails for several."""

from ...protocols.ids import SUPERVISOR, USER, AgentId, MessageId
from ...protocols.messages import Json
from ...protocols.notices import Notice, NoticeType
from ...protocols.plural import plural
from .call_history import CallHistory
from .correspondence import Correspondence, Letter
from .deadlines import Deadlines
from .failures import Failure, Failures
from .finding import Finding, Trouble
from .hearing import word

__all__ = ("Loops",)

SAID_SHOWN = 120
"""Characters of a failure that a finding quotes."""


class Loops:
    """The doings of a fleet's agents, as far as they may repeat themselves."""

    def __init__(self, deadlines: Deadlines) -> None:
        """Nobody did anything yet."""
        self._deadlines = deadlines
        self._histories: dict[AgentId, CallHistory] = {}
        self._letters = Correspondence(deadlines)
        self._failures = Failures(deadlines)

    def heard(self, notice: Notice, at: float) -> None:
        """Something happened to an agent."""
        agent = notice.agent
        match notice.type, notice.extra_type:
            case NoticeType.RUN, "started" | "finished":
                self.forget(agent)
            case NoticeType.STEP, "waiting":
                self._renew(agent)
            case NoticeType.MODEL, "replied":
                self._histories[agent] = self._history(agent).replied(at)
            case NoticeType.TOOL, "ended" | "failed":
                self._called(notice, at)
            case NoticeType.MAIL, "sent":
                self._sent(notice, at)
            case NoticeType.MAIL, "consumed":
                self._consumed(notice)
            case _:
                pass

    def forget(self, agent: AgentId) -> None:
        """Its life or its run is over, or another one begins: what it does next follows from something new."""
        self._histories.pop(agent, None)
        self._letters.begun(agent)

    def found(self, at: float) -> tuple[Finding, ...]:
        """What goes round. Of messages and shared failures, only what came to since the last look."""
        times = self._deadlines.call_rounds
        calls = (call_loop(agent, history, times) for agent, history in self._histories.items())
        circles = (message_loop(circle, self._deadlines.message_rounds) for circle in self._letters.circles())
        shared = (shared_failure(failure) for failure in self._failures.shared(at))
        return (*(finding for finding in calls if finding is not None), *circles, *shared)

    def _history(self, agent: AgentId) -> CallHistory:
        return self._histories.get(agent) or CallHistory.begin(self._deadlines.call_rounds)

    def _renew(self, agent: AgentId) -> None:
        """Something new came to an agent, or it slept: its calls may be the same and yet no loop."""
        if agent in self._histories:
            self._histories[agent] = self._histories[agent].renewed()

    def _called(self, notice: Notice, at: float) -> None:
        tool, signature, result = (word(notice.data.get(name)) for name in ("tool", "signature", "digest"))
        if not signature:  # `update_step` that was refused: it never ran
            return
        self._histories[notice.agent] = self._history(notice.agent).ended(tool, signature, result)
        if notice.extra_type == "failed":
            self._failures.failed(notice.agent, tool, signature, notice.text, at)
        else:
            self._failures.succeeded(tool, signature)

    def _sent(self, notice: Notice, at: float) -> None:
        id_, recipient, content = (word(notice.data.get(name)) for name in ("id", "recipient", "digest"))
        work = self._history(notice.agent).work
        self._letters.sent(Letter(MessageId(id_), notice.agent, AgentId(recipient), content, work, at))

    def _consumed(self, notice: Notice) -> None:
        """Mail was read. What a person writes begins something new; what the runtime does is no message of anybody."""
        self._renew(notice.agent)
        sender, message = (word(notice.data.get(name)) for name in ("sender", "id"))
        if sender == USER:
            self._letters.begun(notice.agent)
        elif sender != SUPERVISOR:
            self._letters.read(notice.agent, AgentId(sender), MessageId(message))


def call_loop(agent: AgentId, history: CallHistory, times: int) -> Finding | None:
    """One agent's circle of calls; None: it is in none."""
    if not (period := history.period(times)):
        return None
    rounds = history.rounds[-period * times :]
    tools = tuple(dict.fromkeys(tool for each in rounds[:period] for tool in each.tools))
    calls = "the same calls" if period > 1 or len(tools) > 1 else "the same call"
    text = f"{agent} made {calls} {plural(times, 'time')}, with the same results: {', '.join(tools)}"
    evidence: dict[str, Json] = {
        "period": period,
        "times": times,
        "tools": list(tools),
        "seconds": round(rounds[-1].at - rounds[0].at, 1),
    }
    return Finding(Trouble.CALL_LOOP, f"{Trouble.CALL_LOOP}/{agent}", (agent,), text, rounds[-2 * period].at, evidence)


def message_loop(circle: tuple[Letter, ...], times: int) -> Finding:
    """A circle of messages, its letters newest first."""
    period = len(circle) // times
    writers = tuple(dict.fromkeys(letter.sender for letter in reversed(circle)))
    begin = writers.index(min(writers))  # wherever it was first seen to be closed, it is the same circle
    agents = (*writers[begin:], *writers[:begin])
    text = f"{' and '.join(agents)} sent each other the same {plural(period, 'message')} {plural(times, 'time')}"
    evidence: dict[str, Json] = {
        "period": period,
        "times": times,
        "messages": [letter.id for letter in reversed(circle)],
        "seconds": round(circle[0].at - circle[-1].at, 1),
    }
    key = f"{Trouble.MESSAGE_LOOP}/{'+'.join(sorted(agents))}"
    return Finding(Trouble.MESSAGE_LOOP, key, agents, text, circle[2 * period - 1].at, evidence)


def shared_failure(failure: Failure) -> Finding:
    """A call that fails for several agents."""
    agents = tuple(agent for agent, _ in failure.agents)
    text = f"the same call of {failure.tool} failed for {', '.join(agents)}: {failure.said[:SAID_SHOWN]}"
    times = [at for _, at in failure.agents]
    evidence: dict[str, Json] = {
        "tool": failure.tool,
        "signature": failure.signature,
        "count": failure.count,
        "seconds": round(max(times) - min(times), 1),
    }
    key = f"{Trouble.SHARED_FAILURE}/{failure.tool}/{failure.signature}"
    return Finding(Trouble.SHARED_FAILURE, key, agents, text, failure.agents[-1][1], evidence)
