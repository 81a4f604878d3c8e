"""A fleet that runs as a service: its actors outlive the process that begins it."""

import secrets
from functools import partial

from anyio import to_thread

from ..protocols.ids import SUPERVISOR
from ..protocols.limits import Limits
from ..protocols.restarts import RestartPolicy
from ..runtime.errors import SystemUnavailable
from ..runtime.supervision.policy import WatchPolicy
from .attached import AttachedSystem
from .births import bear
from .journal import JournalPlace
from .lifecycle import SPAWN_PATIENCE, Actor, create_journal, create_supervisor, end_all, made, ready
from .link import Charter
from .remains import spaces
from .supervisor import SupervisorActor

__all__ = ("ServiceSystem",)


class ServiceSystem(AttachedSystem):
    """Begins such a fleet; from then on this process is one of those that are attached to it."""

    def __init__(
        self,
        fleet: str,
        limit: Limits | None,
        address: str | None,
        journal: JournalPlace,
        restarts: RestartPolicy,
        watch: WatchPolicy | None = None,
    ) -> None:
        """Nothing is made before `open`.

        Args:
            fleet: Its name; one that the journal has is gone on with.
            limit: The most that the fleet may spend; None: no limit.
            address: Ray's, `host:port`; None: the one that `RAY_ADDRESS` names, else the one that runs on this machine.
            journal: Where everything is written that another process needs to go on.
            restarts: How often an agent may be restarted.
            watch: What is done about agents that hang or loop; None: the defaults.
        """
        super().__init__(fleet, address)
        self._limit = limit
        self._journal = journal
        self._restarts = restarts
        self._watch = watch

    async def _obtain(self) -> tuple[str, type[SupervisorActor]]:
        """Begin the fleet.

        Raises:
            SystemUnavailable: There is one of this name, or something is left of one.
            JournalUnavailable: The journal cannot be reached.
            JournalInvalid: It is something else, or its records cannot be read.
        """
        await to_thread.run_sync(check_free, self.fleet)
        begun: list[Actor] = []
        try:
            journal = await made(partial(create_journal, self.fleet, self._journal, create=True, service=True))
            begun.append(journal)
            await ready(journal.begin.remote(), "journal")
            owner = secrets.token_hex(8)
            charter = Charter(self.fleet, self._limit, journal, owner, True, self._restarts, SPAWN_PATIENCE, bear)  # noqa: FBT003
            supervisor = await made(partial(create_supervisor, charter, self._watch))
            begun.append(supervisor)
            await ready(supervisor.open.remote(True), "supervisor")  # noqa: FBT003  Ray's calls are positional
        except BaseException:
            await end_all(begun)
            raise
        return self.fleet, supervisor


def check_free(fleet: str) -> None:
    """See that nothing of a fleet is there. It blocks.

    Raises:
        SystemUnavailable: It runs, or something is left of it.
    """
    names = spaces().get(fleet, ())
    if SUPERVISOR in names:
        reason = f"a fleet named {fleet!r} runs there already: join it with Fleet.attach({fleet!r})."
        raise SystemUnavailable(system="ray", reason=reason)
    if names:
        reason = (
            f"a fleet named {fleet!r} is being opened there, or left; `amrita-fleet gc --fleet {fleet} --yes` ends it."
        )
        raise SystemUnavailable(system="ray", reason=reason)
