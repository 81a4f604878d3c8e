"""The tool calls of one agent, round by round, with what came of them."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ..fingerprint import fingerprint
from ..step.repetition import LONGEST_PERIOD, period_of

__all__ = ("MAIL_TOOLS", "CallHistory", "Round")

MAIL_TOOLS = frozenset({"send_message", "ask_peer", "wait_for_messages", "list_peers"})
"""Tools of the channel: what they do shows in the messages, and their outputs say nothing new of the world."""

CALLS_KEPT = 64
"""Calls of one round that are looked at."""


@dataclass(frozen=True, slots=True)
class Round:
    """One model reply's calls.

    Attributes:
        digest: Of all calls with their results, in no order, for they end in any.
        tools: Their names.
        at: When the round was over.
    """

    digest: str
    tools: tuple[str, ...]
    at: float


@dataclass(frozen=True, slots=True)
class CallHistory:
    """What an agent did since something new came to it: a task, or mail.

    Attributes:
        kept: How many rounds are remembered.
        calls: The calls of the round that is not over, each as tool, signature and digest of its result.
        rounds: The newest rounds, oldest first.
        work: Digest of all it did with other tools than the channel's in the rounds that are over; empty: nothing.
    """

    kept: int
    calls: tuple[tuple[str, str, str], ...] = ()
    rounds: tuple[Round, ...] = ()
    work: str = ""

    @classmethod
    def begin(cls, times: int) -> "CallHistory":
        """Nothing was done yet; cycles that come round so many times are to be seen."""
        return cls(times * LONGEST_PERIOD)

    def ended(self, tool: str, signature: str, result: str) -> "CallHistory":
        """A call came to an output."""
        return replace(self, calls=(*self.calls, (tool, signature, result))[:CALLS_KEPT])

    def replied(self, at: float) -> "CallHistory":
        """The model was heard again: the round of the calls before is over."""
        if not self.calls:
            return self
        calls = sorted(self.calls)
        own = [call for call in calls if call[0] not in MAIL_TOOLS]
        now = Round(digest_of(calls), tuple(dict.fromkeys(tool for tool, _, _ in calls)), at)
        work = digest_of([(self.work, "", ""), *own]) if own else self.work
        return replace(self, calls=(), rounds=(*self.rounds, now)[-self.kept :], work=work)

    def renewed(self) -> "CallHistory":
        """Something new came to it: whatever it does from now on may be done for the first time."""
        return CallHistory(self.kept)

    def period(self, times: int) -> int:
        """Length in rounds of the cycle that it went through so many times, with the same results; 0: none."""
        return period_of([each.digest for each in self.rounds], times)


def digest_of(calls: Iterable[tuple[str, ...]]) -> str:
    """16 hex digits of some calls, in this order."""
    return fingerprint("\1".join("\0".join(call) for call in calls))
