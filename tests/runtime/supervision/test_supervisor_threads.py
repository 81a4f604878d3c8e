"""Many threads and one Supervisor."""

from threading import Barrier, Thread

import pytest

from amrita_fleet.protocols.checkin import AgentStatus, CheckIn, Directive, Proceed, Settlement, WindDown
from amrita_fleet.protocols.ids import AgentId, Incarnation, RunId
from amrita_fleet.protocols.limits import Limits
from amrita_fleet.protocols.notices import Notice, NoticeType
from amrita_fleet.runtime.supervision.account import Account
from amrita_fleet.runtime.supervision.supervisor import Supervisor

FIRST = Incarnation(1)
WORKERS = 8
ATTEMPTS = 60
FLEET_LIMIT = 20_000


def work(
    supervisor: Supervisor, agent: AgentId, start: Barrier, directives: list[Directive], over: list[Account]
) -> None:
    """Ask and settle as an agent does, and look at the accounts in between."""
    start.wait()
    for attempt in range(1, ATTEMPTS + 1):
        asked = CheckIn(agent, FIRST, RunId("r1"), 1, "thinking", attempt, "p", bound=100, output=100, floor=50)
        directive = supervisor.check_in(asked)
        directives.append(directive)
        over.extend(
            account
            for account in supervisor.accounts()
            if account.limit is not None
            and account.settled.tokens + account.reserved.tokens > account.limit.most.tokens
        )
        if isinstance(directive, Proceed):
            tokens = None if attempt % 7 == 0 else asked.bound + directive.grant.output // 2
            supervisor.settle(Settlement(agent, FIRST, asked.reservation, tokens))
        status = AgentStatus(agent, FIRST, "thinking", since=9.0)
        supervisor.report(status, (Notice(NoticeType.STEP, "begun", agent, text=""),))


@pytest.mark.usefixtures("eager_threads")
def test_eight_threads_racing_never_pass_the_limit() -> None:
    supervisor = Supervisor(
        fleet="demo", limit=Limits(tokens=FLEET_LIMIT), now=lambda: 0.0, post=lambda _agent, _text: None
    )
    start = Barrier(WORKERS)
    directives: list[Directive] = []
    over: list[Account] = []
    threads: list[Thread] = []
    for number in range(WORKERS):
        agent = AgentId(f"w{number}")
        supervisor.admit(agent, None, None, number)
        threads.append(Thread(target=work, args=(supervisor, agent, start, directives, over)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    fleet, *own = supervisor.accounts()
    assert over == []
    assert len(directives) == WORKERS * ATTEMPTS
    assert any(isinstance(directive, WindDown) for directive in directives)
    assert fleet.reserved.tokens == 0
    assert FLEET_LIMIT - fleet.pool.tokens - 150 < fleet.settled.tokens <= FLEET_LIMIT - fleet.pool.tokens
    assert fleet.settled.tokens == sum(account.settled.tokens for account in own)
    notices = supervisor.feed.read(0, 10_000)
    assert [notice.number for notice in notices] == list(range(1, len(notices) + 1))
