"""A fleet as the watch hears of it: what agents do becomes the facts that the product makes of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import count

from amrita_fleet.protocols.checkin import AgentStatus, CheckIn, Directive, Grant, Proceed, Settlement
from amrita_fleet.protocols.ids import AgentId, Incarnation, MessageId, RunId
from amrita_fleet.protocols.messages import Json
from amrita_fleet.protocols.notices import Notice, NoticeType
from amrita_fleet.runtime.fingerprint import fingerprint
from amrita_fleet.runtime.mail.content import content_digest
from amrita_fleet.runtime.supervision.advice import notice_of
from amrita_fleet.runtime.supervision.facts import CheckedIn, Heard, Pulse, Seen, Settled
from amrita_fleet.runtime.supervision.finding import Finding, Trouble
from amrita_fleet.runtime.supervision.ladder import Action, Ladder
from amrita_fleet.runtime.supervision.policy import Rung, WatchPolicy
from amrita_fleet.runtime.supervision.verdict import Verdict
from amrita_fleet.runtime.supervision.watch import Watch
from amrita_fleet.runtime.tools.digest import signature

ANA, BOB, CAT, DAN = (AgentId(name) for name in ("ana", "bob", "cat", "dan"))


@dataclass
class Watched:
    """Agents, the watch over them and its ladder; `passes` lets time go on, with a look every few seconds."""

    policy: WatchPolicy = field(default_factory=WatchPolicy)
    now: float = 1000.0
    findings: list[Finding] = field(default_factory=list[Finding])
    actions: list[tuple[float, Action]] = field(default_factory=list[tuple[float, Action]])

    def __post_init__(self) -> None:
        self.watch = Watch(self.policy.deadlines)
        self.ladder = Ladder(self.policy)
        self.rows: dict[AgentId, AgentStatus] = {}
        self.pulses: dict[AgentId, tuple[bool, bool]] = {}
        self._numbers = count(1)

    # --- what agents do -----------------------------------------------------------------------------------------------

    def admit(self, *agents: AgentId, parent: AgentId | None = None, life: int = 1) -> None:
        for agent in agents:
            data: dict[str, Json] = {"incarnation": life, "parent": parent, "limit": None, "pid": 1}
            self.tell(NoticeType.AGENT, "admitted", agent, "joined the fleet", data)
            self.rows[agent] = AgentStatus(agent, Incarnation(life), "idle", 0.0, parent=parent)
            self.pulses[agent] = (True, True)

    def starts(self, *agents: AgentId) -> None:
        for agent in agents:
            self.rows[agent] = replace(self.rows[agent], run=self._run(agent, next(self._numbers)), phase="entering")
            self.tell(NoticeType.RUN, "started", agent, "do it")

    def asks(
        self, agent: AgentId, directive: Directive | None = None, attempt: int = 0, provider: str = "p"
    ) -> CheckIn:
        """Asks for leave, and makes the call if nothing else is said."""
        row = self.rows[agent] = replace(self.rows[agent], phase="thinking")
        asked = CheckIn(
            agent,
            row.incarnation,
            row.run or self._run(agent),
            1,
            "thinking",
            attempt or next(self._numbers),
            provider,
            bound=10,
            output=10,
        )
        self.watch.take(CheckedIn(asked, directive or Proceed(Grant(asked.reservation, 10))), self.now)
        return asked

    def settles(self, asked: CheckIn, tokens: int | None = 20) -> None:
        settlement = Settlement(asked.agent, asked.incarnation, asked.reservation, tokens)
        self.watch.take(Settled(settlement), self.now)

    def thinks(self, agent: AgentId, seconds: float = 1.0) -> None:
        """A whole round of the model."""
        asked = self.asks(agent)
        self.passes(seconds)
        self.settles(asked)
        self.tell(NoticeType.MODEL, "replied", agent, "20 tokens", {"prompt": 10, "completion": 10})

    def calls(self, agent: AgentId, tool: str, arguments: str = "{}") -> Mapping[str, Json]:
        """A call begins; gives what its end needs."""
        self.rows[agent] = replace(self.rows[agent], phase="acting", tools=(tool,))
        data: dict[str, Json] = {"tool": tool, "call": next(self._numbers)}
        self.tell(NoticeType.TOOL, "started", agent, tool, data)
        return {**data, "signature": signature(tool, arguments)}

    def ends(self, agent: AgentId, call: Mapping[str, Json], output: str, *, failed: bool = False) -> None:
        self.rows[agent] = replace(self.rows[agent], tools=())
        how, data = "failed" if failed else "ended", {**call, "digest": fingerprint(output), "bytes": len(output)}
        self.tell(NoticeType.TOOL, how, agent, f"{call['tool']}: {output}", data)

    def works(
        self, agent: AgentId, tool: str, arguments: str = "{}", output: str = "ok", *, failed: bool = False
    ) -> None:
        """One round: the model calls a tool, which comes to this at once."""
        self.thinks(agent)
        self.ends(agent, self.calls(agent, tool, arguments), output, failed=failed)

    def sends(self, agent: AgentId, to: AgentId, body: str) -> MessageId:
        """One round: the model sends a message, as a tool call."""
        self.thinks(agent)
        call = self.calls(agent, "send_message", f'{{"to": "{to}", "body": "{body}"}}')
        message = MessageId(f"{agent}.1.{next(self._numbers)}")
        data: dict[str, Json] = {"id": message, "recipient": to, "digest": content_digest(body), "refusal": ""}
        self.tell(NoticeType.MAIL, "sent", agent, f"to {to}: {body}", data)
        self.ends(agent, call, f"Accepted by {to}.")
        return message

    def reads(self, agent: AgentId, sender: AgentId, message: MessageId) -> None:
        self.rows[agent] = replace(self.rows[agent], phase="entering", step=self.rows[agent].step + 1)
        self.tell(NoticeType.MAIL, "consumed", agent, f"from {sender}", {"id": message, "sender": sender})

    def passes_on(self, agent: AgentId, to: AgentId, body: str) -> None:
        """Sends a message that is read."""
        message = self.sends(agent, to, body)
        self.reads(to, agent, message)

    def waits(self, agent: AgentId, *senders: AgentId) -> None:
        self.rows[agent] = replace(self.rows[agent], phase="waiting")
        data: dict[str, Json] = {"senders": [*senders], "seconds": 3600.0}
        self.tell(NoticeType.STEP, "waiting", agent, "waits for mail", data)

    def is_(self, agent: AgentId, phase: str, note: str = "") -> None:
        """What its row says from now on."""
        self.rows[agent] = replace(self.rows[agent], phase=phase, note=note)

    def dies(self, agent: AgentId, reason: str, *, restarts: bool = False) -> None:
        data: dict[str, Json] = {"incarnation": self.rows[agent].incarnation, "restarts": restarts}
        self.tell(NoticeType.AGENT, "died", agent, reason, data)
        self.rows[agent] = replace(self.rows[agent], phase="restarting" if restarts else "dead", note=reason)
        del self.pulses[agent]

    def tell(
        self,
        kind: NoticeType,
        extra: str,
        agent: AgentId,
        text: str,
        data: Mapping[str, Json] | None = None,
        run: RunId | None = None,
    ) -> None:
        mine = run if run or agent not in self.rows else self.rows[agent].run
        self.watch.take(Heard(Notice(kind, extra, agent, text, mine, data=data or {})), self.now)

    def _run(self, agent: AgentId, number: int = 1) -> RunId:
        return RunId(f"{agent}.{self.rows[agent].incarnation}.{number}")

    # --- time ---------------------------------------------------------------------------------------------------------

    def passes(self, seconds: float) -> None:
        """Time goes on; every few seconds the watch looks, as the shell does."""
        end = self.now + seconds
        while self.now < end:
            due = (self.now // self.policy.period + 1) * self.policy.period
            self.now = min(due, end)
            if self.now == due:
                self.looks()

    def looks(self) -> None:
        for agent, row in self.rows.items():
            self.watch.take(Seen(row), self.now)
            if agent in self.pulses:
                control, loop = self.pulses[agent]
                self.watch.take(Pulse(agent, row.incarnation, control, loop), self.now)
        found = self.watch.look(self.now)
        self.findings += found
        for action in self.ladder.climb(found, self.now):
            self.actions.append((self.now, action))
            self.watch.take(Heard(notice_of(action)), self.now)

    # --- what came of it ----------------------------------------------------------------------------------------------

    def why(self, agent: AgentId) -> str:
        return self.verdict(agent).why

    def verdict(self, agent: AgentId) -> Verdict:
        return self.watch.verdict(self.rows[agent], self.now)

    @property
    def troubles(self) -> set[tuple[Trouble, tuple[AgentId, ...]]]:
        return {(finding.trouble, finding.agents) for finding in self.findings}

    @property
    def climbed(self) -> list[Rung]:
        return [action.rung for _, action in self.actions]

    def acted(self, rung: Rung) -> float:
        """When a rung was climbed first."""
        return next(at for at, action in self.actions if action.rung is rung)
