"""What a person can get wrong on the command line.

FleetError                       protocols/errors.py
├── InputInvalid (ValueError)    what was typed cannot be used: exit status 2
│   ├── FolderUnusable           a folder that cannot be counted
│   ├── JournalUnusable          a journal that cannot be kept where it was named, or where it is by default
│   ├── ModelUnusable            a model that cannot be asked as it was named
│   ├── PresetFileInvalid        a file that holds no preset
│   └── ToolsMissing             `--tools` that names no tool
├── FleetOver                    a fleet ended while it was looked at: exit status 1
├── RecordingCut                 a recording that cannot be written further: exit status 1
├── Interrupted                  Ctrl-C: exit status 130
└── Terminated                   SIGTERM: exit status 143
"""

from collections.abc import Mapping

from ...protocols.errors import AuthRefused, BadRequest, FleetError, ProviderUnreachable

__all__ = (
    "SUSPECTS",
    "FleetOver",
    "FolderUnusable",
    "InputInvalid",
    "Interrupted",
    "JournalUnusable",
    "ModelUnusable",
    "PresetFileInvalid",
    "RecordingCut",
    "Terminated",
    "ToolsMissing",
)

SUSPECTS: Mapping[str, str] = {
    ProviderUnreachable.__name__: "The base_url",
    AuthRefused.__name__: "The api_key",
    BadRequest.__name__: "The model, or the base_url,",
}
"""Classes of errors that mean, where no call was ever answered, that a model was named wrongly; and in what."""


class InputInvalid(FleetError, ValueError):
    """What was typed cannot be used; `reason` is the sentence that says why."""

    def __init__(self, *, reason: str) -> None:
        """Keep the facts."""
        super().__init__(reason)
        self.reason = reason


class FolderUnusable(InputInvalid):
    """The folder at `path` cannot be counted, because of `reason`."""

    def __init__(self, *, path: str, reason: str) -> None:
        """Keep the facts."""
        super().__init__(reason=f"The folder {path!r} cannot be counted: {reason}.")
        self.path = path


class JournalUnusable(InputInvalid):
    """The journal at `where` cannot be used, because of `why`; `needed`: the command is for nothing else."""

    def __init__(self, *, where: str, why: str, needed: bool = False) -> None:
        """Keep the facts."""
        advice = "Name another one with --journal" + ("" if needed else ", or do without: --no-journal")
        super().__init__(reason=f"The journal {where} cannot be used: {why.rstrip('.')}. {advice}.")
        self.where = where
        self.why = why
        self.needed = needed


class ModelUnusable(InputInvalid):
    """The model cannot be asked.

    Attributes:
        suspect: The part of the preset to look at.
        sentence: What the call met.
        request_id: The id to quote to the provider.
    """

    def __init__(self, *, suspect: str, sentence: str, request_id: str) -> None:
        """Keep the facts."""
        super().__init__(reason=f"{suspect} cannot be used: {sentence} (request_id={request_id})")
        self.suspect = suspect
        self.sentence = sentence
        self.request_id = request_id


class PresetFileInvalid(InputInvalid):
    """The preset file at `path` cannot be used, because of `reason`."""

    def __init__(self, *, path: str, reason: str) -> None:
        """Keep the facts."""
        super().__init__(reason=f"The preset file {path!r} cannot be used: {reason}.")
        self.path = path


class ToolsMissing(InputInvalid):
    """`--tools` with the text `named` gives no tools, because of `reason`."""

    def __init__(self, *, named: str, reason: str) -> None:
        """Keep the facts."""
        super().__init__(reason=f"--tools {named} gives no tools: {reason}.")
        self.named = named


class FleetOver(FleetError):
    """The `fleet` ended while a command showed it or steered it."""

    def __init__(self, *, fleet: str) -> None:
        """Keep the facts."""
        super().__init__(f"The fleet {fleet!r} is over: whoever ran it has ended it.")
        self.fleet = fleet


class RecordingCut(FleetError):
    """The recording at `path` can be written no further, because of `reason`; `last` is its last notice."""

    def __init__(self, *, path: str, reason: str, last: int) -> None:
        """Keep the facts."""
        kept = f"it is whole up to notice {last}" if last else "it has no notice yet"
        advice = "The fleet goes on; make room, and record it again"
        super().__init__(f"The recording {path!r} can be written no further: {reason}; {kept}. {advice}.")
        self.path = path
        self.reason = reason
        self.last = last


class Interrupted(FleetError):
    """A person pressed Ctrl-C; `left` says what is left of the work."""

    def __init__(self, *, left: str) -> None:
        """Keep the facts."""
        super().__init__(f"Interrupted: {left}.")
        self.left = left


class Terminated(FleetError):
    """The process was told to end, by SIGTERM; `left` says what is left of the work."""

    def __init__(self, *, left: str) -> None:
        """Keep the facts."""
        super().__init__(f"Terminated: {left}.")
        self.left = left
