"""What is wrong with a limit, or with whom it is to hold for.

RunError                             runtime/errors.py
├── AgentUnknown
│   └── AccountUnknown               nobody of that name has a limit to change
├── LimitTooLarge (ValueError)       a carved limit that does not fit into what stands above it
├── PriceMissing (ValueError)        money is limited, and nobody says what a model costs
└── TeamUnknown (LookupError)
"""

from .errors import AgentUnknown, RunError

__all__ = ("AccountUnknown", "LimitTooLarge", "PriceMissing", "TeamUnknown")

SAY = "write ModelPreset(price=Price(prompt=..., output=..., as_of='...')), in dollars for a million tokens"


class AccountUnknown(AgentUnknown):
    """Neither a team nor an agent nor a run that has a limit to change is called by this `name`; `near` are like it."""

    def __init__(self, *, name: str, near: tuple[str, ...] = ()) -> None:
        """Keep the facts."""
        super().__init__(name=name, near=near)
        hint = f" Did you mean {', '.join(near)}?" if near else ""
        says = f"The fleet has neither a team nor an agent named {name!r}.{hint}"
        if "." in name:  # which only the ids of runs have
            agent = name.partition(".")[0]
            says = (
                f"The run {name!r} has no limit of its own to change: it was started without limit=..., has made no "
                f"model call yet, or is over. Limit its agent instead, of={agent!r}."
            )
        self.args = (says,)


class LimitTooLarge(RunError, ValueError):
    """What `name` is to have carved is not there: `above` has too little of the `unit` left, because of `reason`."""

    def __init__(self, *, name: str, above: str, unit: str, reason: str) -> None:
        """Keep the facts."""
        super().__init__(f"The carved limit of {name!r} does not fit into {above!r}: {reason}")
        self.name = name
        self.above = above
        self.unit = unit
        self.reason = reason


class PriceMissing(RunError, ValueError):
    """The money of `account` is limited, and `agent` has a preset that does not say what its model costs."""

    def __init__(self, *, agent: str, account: str) -> None:
        """Keep the facts."""
        super().__init__(f"The dollars of {account!r} are limited, and a preset of {agent!r} has no price: {SAY}.")
        self.agent = agent
        self.account = account


class TeamUnknown(RunError, LookupError):
    """The fleet has no team of this `name`; `near` are names like it."""

    def __init__(self, *, name: str, near: tuple[str, ...] = ()) -> None:
        """Keep the facts."""
        hint = f" Did you mean {', '.join(near)}?" if near else ""
        super().__init__(f"The fleet has no team named {name!r}: name it in Fleet(teams=...).{hint}")
        self.name = name
        self.near = near
