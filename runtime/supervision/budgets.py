"""What becomes of those who need more than is left, and how people change limits: a part of the Supervisor."""

from collections.abc import Iterable
from dataclasses import replace
from difflib import get_close_matches
from typing import assert_never

from ...protocols.checkin import CheckIn, Directive, EndStep, Pause, Stop, WindDown
from ...protocols.ids import AgentId
from ...protocols.limits import Exhaustion, Limits, run_limit
from ...protocols.notices import NoticeType
from ...protocols.outcome import Limit
from ..errors import ArgumentInvalid
from ..limit_errors import AccountUnknown, PriceMissing
from . import wording
from .account import Account, Level, Path, run_name
from .admissions import Admissions
from .bench import Facts
from .commands import ChangeLimit, GrantNoMore
from .ledger import Short
from .member import PAUSED, Member
from .permission import permit, without

__all__ = ("Budgets",)


class Budgets(Admissions):
    """Lets calls be paid, does what an account says when it is exhausted, and limits accounts anew."""

    def limit(self, of: str, limit: Limits | None) -> tuple[AgentId, ...]:
        """Limit an agent, a team or a run anew; the fleet, if none is named. What is spent or granted stays so.

        Who is paused until there is more may go on, and asks again.

        Args:
            of: A name, or the id of a run that has an account: it has a limit of its own and has asked for a call.
            limit: The new limit; None: no limit of its own.

        Returns:
            Those that live and must now be told that they may go on.

        Raises:
            AccountUnknown: There is neither an agent, a team nor a run under way with a limit of its own of that name.
            LimitTooLarge: It is carved, and does not fit into what is above it.
            PresetInvalid: It is one in seconds, and of a run.
            PriceMissing: Money is to be limited, and a preset does not say what its model costs.
        """
        with self._turn(ChangeLimit(of, limit)):
            path = self._account_of(of)
            if Account(path).level is Level.RUN:
                limit = run_limit(limit)
            members = self._spending(path)
            if limit is not None and limit.dollars is not None:
                self._check_prices(of or path[-1], members)
            name = self._ledger.account(path).name
            self._check_opened(name, self._ledger.limit(path, limit))
            facts: Facts = {"account": name, "limit": "" if limit is None else str(limit)}
            text = f"{name} may spend {limit or 'any amount'} from now on"
            self._tell(NoticeType.BUDGET, "limited", self._whose(path), text, facts)
            self._let_go(path)
            return tuple(member.agent for member in self._spending(path) if member.active and not member.paused)

    def grant_no_more(self, of: str) -> tuple[AgentId, ...]:
        """Have those who are paused until a limit is raised wind down, and who comes to it later too.

        Args:
            of: As in `limit`.

        Returns:
            Those that live and must now be told that they may go on, which is to their last answers. Who could not be
            told the last time is told when the same is asked for again.

        Raises:
            AccountUnknown: As in `limit`.
            ArgumentInvalid: It has no limit of its own, of which anybody could need more.
        """
        self._check_limited(of)
        with self._turn(GrantNoMore(of)):
            path = self._account_of(of)
            account = self._ledger.account(path)
            if account.limit is not None:  # else an older version let it pass
                self._ledger.limit(path, replace(account.limit, on_exhaustion=Exhaustion.WIND_DOWN.value))
            text = f"{account.name} gets no more: who needs it gives its last answer"
            self._tell(NoticeType.BUDGET, "no_more", self._whose(path), text, {"account": account.name})
            freed = {member.agent for member in self._let_go(path)}
            return tuple(
                member.agent
                for member in self._spending(path)
                if member.active and not member.paused and (member.agent in freed or member.status.phase == PAUSED)
            )

    def take_untold(self) -> tuple[tuple[AgentId, str], ...]:
        """Those that an exhausted account has stopped and that live and must now be told, and why; each is given once.

        Who asked for more than was left is told so by the answer.
        """
        with self._lock:
            untold, self._untold = self._untold, {}
            living = ((agent, self._roster.latest(agent), reason) for agent, reason in untold.items())
            return tuple((agent, reason) for agent, member, reason in living if member and member.dead is None)

    # ------------------------------------------------------------------------------------------------------------------

    def _pay(self, asked: CheckIn) -> Directive:
        """Reserve what a call may cost, or say what to do without it."""
        path = self._paying(asked)
        found: Directive | Short
        if isinstance(path, Short):
            found = without(self._gate, path, asked)
        else:
            found = permit(self._ledger, self._gate, asked, path, self._now())
        return self._exhausted(asked, found) if isinstance(found, Short) else found

    def _paying(self, asked: CheckIn) -> Path | Short:
        """The account that pays: the run's, if that has a limit of its own, else the agent's."""
        own = self._path(asked.agent)
        path = (*own, run_name(asked.run))
        if self._runs.get(asked.agent, path) != path:
            self._run_over(asked.agent)
        if asked.limit is None:
            return own
        short = self._ledger.open(path, asked.limit)
        if short is None:
            self._runs[asked.agent] = path
        return short or path

    def _run_over(self, agent: AgentId, run: str | None = None) -> None:
        """Close the account of an agent's run, if it has one: of this run, or of whichever.

        Nobody can raise its limit any more, so its agent is not paused for that any longer.
        """
        path = self._runs.get(agent)
        if path is not None and run in {None, path[-1].removeprefix(run_name(""))}:
            self._ledger.close(self._runs.pop(agent))
            self._let_go(path)

    def _exhausted(self, asked: CheckIn, short: Short) -> Directive:
        """Do what the account that is short says."""
        reason, limit = wording.shortage(short), short.account.limit
        if asked.last_answer:  # there is nothing further to wind down to: it is made without a model
            return EndStep(reason)
        action = Exhaustion.WIND_DOWN if limit is None else Exhaustion(limit.on_exhaustion)
        facts: Facts = {"limit": limit_reached(short), "account": short.account.name}
        match action:
            case Exhaustion.WIND_DOWN:
                self._tell(NoticeType.BUDGET, "wind_down", asked.agent, reason, facts)
                return WindDown(limit_reached(short), reason)
            case Exhaustion.STOP:
                self._tell(NoticeType.BUDGET, "stopped", asked.agent, reason, facts)
                if short.account.level is not Level.RUN:
                    everybody = short.account.level is Level.FLEET
                    agents = () if everybody else tuple(m.agent for m in self._spending(short.account.path))
                    stopped = self._put_tombstones(agents, reason)
                    self._untold.update((each, reason) for each in stopped)
                return Stop(reason)
            case Exhaustion.ASK | Exhaustion.PAUSE:
                self._tell(
                    NoticeType.BUDGET, "asked" if action is Exhaustion.ASK else "paused", asked.agent, reason, facts
                )
                self._roster.hold(asked.agent, reason, short.account.path, short.unit.value)
                return Pause(reason)
            case _ as unknown:
                assert_never(unknown)

    def _put_tombstones(self, agents: tuple[AgentId, ...], reason: str) -> tuple[AgentId, ...]:
        """Stop agents and all under them; gives those that were not stopped before."""
        stopped = self._roster.stop(agents, reason, self._now())
        for member in stopped:
            self._ledger.stop(self._path(member.agent))
            self._tell(NoticeType.AGENT, "stopped", member.agent, reason)
        return tuple(member.agent for member in stopped)

    def _check_limited(self, of: str) -> None:
        with self._lock:
            account = self._ledger.account(self._account_of(of))
            if account.limit is None and not self.log.replaying:
                advice = "name the account that is short: `fleet.accounts()` lists them"
                raise ArgumentInvalid(name="of", reason=f"{account.name} has no limit of its own: {advice}")

    def _account_of(self, of: str) -> Path:
        """The account of the fleet, a team, a run or an agent.

        Raises:
            AccountUnknown: There is none of that name.
        """
        if not of:
            return self._ledger.root
        if (path := self._teams.get(of)) is not None:
            return path
        run = next((path for path in self._runs.values() if path[-1] == run_name(of)), None)
        if run is None and self._roster.latest(AgentId(of)) is None:
            names = [*self._teams, *(member.agent for member in self._roster.members())]
            raise AccountUnknown(name=of, near=tuple(get_close_matches(of, names)) if "." not in of else ())
        return run or self._path(AgentId(of))

    def _whose(self, path: Path) -> AgentId:
        """The name that a notice about an account is told under: its agent's, its team's or the fleet's."""
        return AgentId(Account(holding(path)).name)

    def _spending(self, path: Path) -> tuple[Member, ...]:
        """The agents that spend from an account."""
        above = holding(path)
        return tuple(m for m in self._roster.members() if self._path(m.agent)[: len(above)] == above)

    def _check_prices(self, account: str, members: Iterable[Member]) -> None:
        for member in members:
            if member.active and not member.priced:
                raise PriceMissing(agent=member.agent, account=account)


def holding(path: Path) -> Path:
    """The account itself, but of a run's its agent's."""
    return path[:-1] if Account(path).level is Level.RUN else path


def limit_reached(short: Short) -> Limit:
    """Which limit it is that an account has reached."""
    level = short.account.level
    return Limit(short.unit.value if level is Level.AGENT else f"{level}_{short.unit}")
