"""What a person can get wrong on the command line.

FleetError                       protocols/errors.py
├── InputInvalid (ValueError)    what was typed cannot be used: exit status 2
│   ├── FolderUnusable           a folder that cannot be counted
│   └── ToolsMissing             `--tools` that names no tool
└── Interrupted                  Ctrl-C: exit status 130
"""

from ...protocols.errors import FleetError

__all__ = ("FolderUnusable", "InputInvalid", "Interrupted", "ToolsMissing")


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


class ToolsMissing(InputInvalid):
    """`--tools` with the text `named` gives no tools, because of `reason`."""

    def __init__(self, *, named: str, reason: str) -> None:
        """Keep the facts."""
        super().__init__(reason=f"--tools {named} gives no tools: {reason}.")
        self.named = named


class Interrupted(FleetError):
    """A person pressed Ctrl-C; `left` says what is left of the work."""

    def __init__(self, *, left: str) -> None:
        """Keep the facts."""
        super().__init__(f"Interrupted: {left}.")
        self.left = left
