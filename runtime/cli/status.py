"""How a command ends: its exit status, and the one sentence that goes with it."""

from enum import IntEnum

from ...protocols.errors import FleetError, PresetInvalid
from ..errors import AgentUnknown, ApprovalUnknown, ArgumentInvalid, NameInvalid, ToolInvalid, Unpicklable
from ..fleet_file.errors import FleetFileInvalid
from ..gateway.errors import RecordingInvalid
from ..journal_errors import JournalInvalid
from ..simulator.errors import ScenarioInvalid
from .errors import InputInvalid, Interrupted, Terminated

__all__ = ("BAD_INPUT", "NAME", "Status", "status_of")

NAME = "amrita-fleet"

BAD_INPUT = (
    AgentUnknown,
    ApprovalUnknown,
    ArgumentInvalid,
    FleetFileInvalid,
    InputInvalid,
    JournalInvalid,
    NameInvalid,
    PresetInvalid,
    RecordingInvalid,
    ScenarioInvalid,
    ToolInvalid,
    Unpicklable,
)
"""Errors that another command line would not have met."""


class Status(IntEnum):
    """Exit statuses of every command."""

    OK = 0
    FAILED = 1
    BAD_INPUT = 2
    INTERRUPTED = 130
    TERMINATED = 143


def status_of(error: FleetError) -> Status:
    """The exit status for an error that ended a command."""
    if isinstance(error, Interrupted):
        return Status.INTERRUPTED
    if isinstance(error, Terminated):
        return Status.TERMINATED
    return Status.BAD_INPUT if isinstance(error, BAD_INPUT) else Status.FAILED
