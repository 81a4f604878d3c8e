"""What the parts of a Supervisor share: the books, the lock, and how one thing is done after the other.

Its lock is held for one short piece of policy at a time; what follows for others (notes to parents, waking watchers)
is done after it is released.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import Lock
from typing import TypeAlias
from zlib import crc32

from ...protocols.ids import AgentId
from ...protocols.limits import Limits
from ...protocols.messages import Json
from ...protocols.notices import Notice, NoticeType
from .account import Level, Path, team_name
from .command_log import CommandLog, Unrecorded
from .commands import Command
from .feed import NoticeFeed
from .gate import Gate
from .ledger import Ledger
from .restart import Restarts
from .roster import Roster
from .state import BEGINNING, SupervisorState

__all__ = ("Bench", "Facts")

Facts: TypeAlias = dict[str, Json]


class Bench:
    """Keeps the books of one fleet, for the parts of its Supervisor.

    Any thread may call any method; each is quick and waits for nobody.

    Attributes:
        feed: The fleet's notices, to read and to subscribe to.
        log: Takes what is asked of it. An answer may go out once it is `written`.
        owner: Who opened the fleet last; empty: nobody said so.
    """

    def __init__(
        self,
        *,
        fleet: str,
        limit: Limits | None,
        now: Callable[[], float],
        post: Callable[[AgentId, str], None],
        log: CommandLog | None = None,
        state: SupervisorState = BEGINNING,
    ) -> None:
        """Begin a fleet without agents, or go on with one.

        Args:
            fleet: Its name.
            limit: The most that all agents together may spend; None: no limit. Until the fleet is begun again, that of
                the `state` counts, if there is one.
            now: Gives Unix seconds.
            post: Sends a note of one line to an agent, from any thread. It must return at once and raise nothing.
            log: Keeps what is asked, for another process to go on from; None: nobody does.
            state: What an earlier Supervisor of this fleet was when it was last written down as a whole.
        """
        self.log = log or Unrecorded(now)
        self.feed = NoticeFeed(self._now, state.notices)
        self._at = 0.0
        self._clock = now
        self._post = post
        # Not an RLock: a method that ran inside another would call `post` while the outer one still holds the lock.
        self._lock = Lock()
        self._ledger = Ledger(fleet, limit, state.ledger)
        self._gate = Gate()
        self._gate.restore(state.ledger.open)
        self._roster = Roster(state.roster)
        self._restarts = Restarts(state.restarts, state.policy)
        self._users = state.users
        self.owner = state.owner
        self._teams = {account.name: account.path for account in self._ledger.accounts() if account.level is Level.TEAM}
        self._runs = {
            AgentId(account.path[-2]): account.path for account in self._ledger.accounts() if account.level is Level.RUN
        }
        self._notes: list[tuple[AgentId, str]] = []
        self._untold: dict[AgentId, str] = {}

    @contextmanager
    def _turn(self, command: Command) -> Generator[None, None, None]:
        """Hold the lock while something changes that another process would go on with."""
        with self._locked():
            self._record(command)
            yield

    @contextmanager
    def _locked(self) -> Generator[None, None, None]:
        """Hold the lock; tell others afterwards what came of what was done."""
        with self._lock:
            yield
            notes, self._notes = self._notes, []
        self.feed.wake_all()
        for agent, text in () if self.log.replaying else notes:
            self._post(agent, text)

    def _record(self, command: Command) -> None:
        self._at = self.log.note(command, self._state)

    def _jitter(self, key: str) -> float:
        """A number in [0, 1) that is another one each time and in each fleet, and the same in a replay."""
        return crc32(f"{self._ledger.root}/{key}/{self._at}".encode()) / 2**32

    def _state(self) -> SupervisorState:
        """All that the commands so far have come to; the lock is held, for about a millisecond."""
        parts = self._ledger.state(), self._roster.state(), self._restarts.state(), self.feed.state()
        return SupervisorState(*parts, self._users, self.owner, self._restarts.policy)

    def _now(self) -> float:
        """When what is being done was asked for."""
        return self._at

    def _path(self, agent: AgentId) -> Path:
        member = self._roster.latest(agent)
        team = "" if member is None else member.team
        return (*self._ledger.root, *((team_name(team),) if team else ()), agent)

    def _tell(self, kind: NoticeType, event: str, agent: AgentId, text: str, facts: Facts | None = None) -> None:
        self.feed.append(Notice(type=kind, extra_type=event, agent=agent, text=text, data=facts or {}))

    def _note(self, agent: AgentId | None, text: str) -> None:
        member = None if agent is None else self._roster.latest(agent)
        if agent is not None and member is not None and (member.active or member.restarts):
            self._notes.append((agent, text))
