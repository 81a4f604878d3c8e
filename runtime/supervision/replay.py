"""What a Supervisor goes on with: the commands of those before it."""

from contextlib import suppress
from typing import assert_never

from ...protocols.checkin import DEAD
from ...protocols.ids import USER
from ..errors import RunError
from .commands import (
    Admit,
    AdmitUser,
    Begin,
    Bury,
    ChangeLimit,
    Check,
    CloseMailbox,
    Command,
    FormTeams,
    GrantNoMore,
    LifeCommand,
    PauseAgents,
    Settle,
    Spawn,
    StopAgents,
    StopChild,
    Tell,
)
from .supervisor import Supervisor

__all__ = ("bury_all", "perform")


def bury_all(supervisor: Supervisor, reason: str) -> None:
    """Note that whoever lives is dead: the process that owned them ended."""
    for row in supervisor.statuses():
        if row.phase != DEAD:
            supervisor.died(row.agent, row.incarnation, reason)


def perform(supervisor: Supervisor, command: Command) -> None:
    """Ask a Supervisor for what another one was asked. What that one refused is refused here too."""
    with suppress(RunError, ValueError):
        match command:
            case Begin() | Admit() | Spawn() | AdmitUser() | Bury() | CloseMailbox():
                live(supervisor, command)
            case Check(asked=asked):
                supervisor.check_in(asked)
            case Settle(settlement=settlement):
                supervisor.settle(settlement)
            case Tell(status=status, notices=notices):
                supervisor.report(status, notices)
            case _:
                steer(supervisor, command)


def live(supervisor: Supervisor, command: LifeCommand) -> None:
    """Ask for what has to do with how lives begin and end; raises what the Supervisor does."""
    match command:
        case Begin(owner=owner, limit=limit, restarts=restarts):
            supervisor.begin(owner, limit, restarts)
        case Admit(newcomers=newcomers, pid=pid):
            supervisor.admit_all(newcomers, pid)
        case Spawn(request=request, pid=pid):
            supervisor.spawn(request, pid)
        case AdmitUser():
            supervisor.admit(USER, None, None, 0)
        case Bury(agent=agent, incarnation=incarnation, reason=reason, restart=restart):
            supervisor.died(agent, incarnation, reason, restart=restart)
        case CloseMailbox(agent=agent, incarnation=incarnation, under=under, letters=letters):
            supervisor.close_mailbox(agent, incarnation, under, letters)
        case _ as unknown:
            assert_never(unknown)


def steer(
    supervisor: Supervisor, command: StopAgents | StopChild | PauseAgents | FormTeams | ChangeLimit | GrantNoMore
) -> None:
    """Ask for what a person asked, or an agent of those below it."""
    match command:
        case StopAgents(agents=agents, reason=reason):
            supervisor.stop(agents, reason)
        case StopChild(request=request):
            supervisor.stop_child(request)
        case PauseAgents(agents=agents, reason=reason):
            supervisor.pause(agents, reason)
        case FormTeams(teams=teams):
            supervisor.form_teams(teams)
        case ChangeLimit(of=of, limit=limit):
            supervisor.limit(of, limit)
        case GrantNoMore(of=of):
            supervisor.grant_no_more(of)
        case _ as unknown:
            assert_never(unknown)
