"""A fleet that runs as a service: its actors outlive the process that begins it."""

from anyio import to_thread

from ..runtime.errors import SystemUnavailable
from ..runtime.supervision.policy import WatchPolicy
from .attached import AttachedSystem
from .journal import JournalActor, JournalPlace
from .lifecycle import create_journal, create_supervisor, ready
from .remains import end_fleet, fleets
from .supervisor import SupervisorActor

__all__ = ("ServiceSystem",)


class ServiceSystem(AttachedSystem):
    """Begins such a fleet; from then on this process is one of those that are attached to it."""

    def __init__(
        self,
        fleet: str,
        limit: int | None,
        address: str | None,
        journal: JournalPlace,
        watch: WatchPolicy | None = None,
    ) -> None:
        """Nothing is made before `open`.

        Args:
            fleet: Its name; one that the journal has is gone on with.
            limit: Tokens the fleet may spend; None: no limit.
            address: Ray's, `host:port`; None: the one that `RAY_ADDRESS` names, else the one that runs on this machine.
            journal: Where everything is written that another process needs to go on.
            watch: What is done about agents that hang or loop; None: the defaults.
        """
        super().__init__(fleet, address)
        self._limit = limit
        self._journal = journal
        self._watch = watch

    async def _find(self) -> type[SupervisorActor]:
        """Begin the fleet.

        Raises:
            SystemUnavailable: There is one of this name, or something is left of one.
            JournalUnavailable: The journal cannot be reached.
            JournalInvalid: It is something else, or its records cannot be read.
        """
        if self.fleet in await to_thread.run_sync(fleets):
            reason = f"a fleet named {self.fleet!r} runs there already: join it with Fleet.attach({self.fleet!r})."
            raise SystemUnavailable(system="ray", reason=reason)
        journal = await to_thread.run_sync(self._create_journal)
        try:
            await ready(journal.begin.remote(), "journal")
            supervisor = await to_thread.run_sync(self._create_supervisor, journal)
            await ready(supervisor.open.remote(True), "supervisor")  # noqa: FBT003  Ray's calls are positional
        except BaseException:
            await end_fleet(self.fleet)
            raise
        return supervisor

    def _create_journal(self) -> type[JournalActor]:
        return create_journal(self.fleet, self._journal, create=True, service=True)

    def _create_supervisor(self, journal: type[JournalActor]) -> type[SupervisorActor]:
        return create_supervisor(self.fleet, self._limit, journal, self._watch, service=True)
