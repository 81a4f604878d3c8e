"""Whether a fleet is still that of the process which means to go on with it."""

from ...protocols.codec import decode
from ..journal.fleet_log import FleetLog
from ..journal_errors import FleetTaken, JournalInvalid
from ..ports import Record
from .command_log import Noted
from .commands import Begin
from .state import SupervisorState

__all__ = ("check_owner",)


async def check_owner(log: FleetLog, owner: str) -> None:
    """Make sure that nobody else has opened a fleet since; nothing is claimed, which would fence whoever has.

    Raises:
        FleetTaken: Somebody has.
        JournalInvalid: Nothing is left of it: to begin again with empty accounts would be to forget its limits.
        JournalUnavailable: The journal cannot be reached.
        ProtocolError: A record cannot be read.
    """
    records = await log.accounts()
    if not records:
        raise JournalInvalid(where=f"What is left of {log.fleet!r}", reason="the fleet was deleted while it ran")
    if last_owner(records) not in {"", owner}:
        raise FleetTaken(fleet=log.fleet)


def last_owner(records: tuple[Record, ...]) -> str:
    """Who opened the fleet last; empty: nobody said so."""
    for record in reversed(records):
        if record.snapshot:
            return decode(record.data, SupervisorState).owner
        command = decode(record.data, Noted).command
        if isinstance(command, Begin):
            return command.owner
    return ""
