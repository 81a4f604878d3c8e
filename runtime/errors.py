"""What can go wrong in a run, in a mailbox or in a configuration.

FleetError                       protocols/errors.py
└── RunError
    ├── InvalidMove              a bug: an event its phase does not take
    ├── HistoryInvalid           a bug: a history that providers would refuse
    ├── ConfigMissing (RuntimeError)
    ├── NameInvalid (ValueError) an agent's name that cannot be used
    ├── NameTaken (ValueError)
    ├── NamesInvalid (TypeError) one text where several names are meant
    ├── AgentUnknown (LookupError)
    ├── RunUnknown (LookupError)
    ├── ChannelClosed            the agent has stopped, or the run is over
    ├── PeerUnreachable          a delivery whose outcome is unknown
    ├── SelfAddressed (ValueError)
    ├── FleetClosed (RuntimeError) the fleet is not open yet, or no longer
    ├── QueueFull                too many starts are waiting
    ├── TaskInvalid (ValueError) something that cannot be a task
    ├── PlanInvalid (ValueError) something that cannot be a plan, or be done to one
    ├── ToolInvalid (TypeError)  a function that cannot be a tool
    ├── ToolServerFailed         an MCP server that cannot be used
    ├── HookFailed               a hook that raised, came too late or decided what it cannot
    ├── ApprovalUnknown (LookupError) nobody is asked about it, or no longer
    ├── AnswerInvalid (TypeError) something that cannot be a person's answer
    ├── ArgumentInvalid (TypeError) something else than what an argument is
    ├── NumberInvalid (ValueError) a number with which nothing can be done
    ├── Unpicklable (TypeError)  something that cannot go to another process
    ├── SystemUnavailable        Ray could not be started or reached
    ├── (of gateways)            runtime/gateway/errors.py
    ├── (of journals)            runtime/journal_errors.py
    └── (of streams)             runtime/stream_errors.py
"""

from ..protocols.errors import FleetError
from ..protocols.plural import plural

__all__ = (
    "AgentUnknown",
    "AnswerInvalid",
    "ApprovalUnknown",
    "ArgumentInvalid",
    "ChannelClosed",
    "ConfigMissing",
    "FleetClosed",
    "HistoryInvalid",
    "HookFailed",
    "InvalidMove",
    "NameInvalid",
    "NameTaken",
    "NamesInvalid",
    "NumberInvalid",
    "PeerUnreachable",
    "PlanInvalid",
    "QueueFull",
    "RunError",
    "RunUnknown",
    "SelfAddressed",
    "SystemUnavailable",
    "TaskInvalid",
    "ToolInvalid",
    "ToolServerFailed",
    "Unpicklable",
)


class RunError(FleetError):
    """Something in the runtime was asked for that cannot be."""


class InvalidMove(RunError):
    """A bug: the phase does not take this event. The state is unchanged."""

    def __init__(self, *, phase: str, event: str) -> None:
        """Keep the facts."""
        super().__init__(f"In phase {phase} there is no move for {event}; this is a bug in Amrita Fleet.")
        self.phase = phase
        self.event = event


class HistoryInvalid(RunError):
    """A bug: the change would make a history that providers refuse. The history is unchanged."""

    def __init__(self, *, reason: str) -> None:
        """Keep the facts."""
        super().__init__(f"The history would become invalid: {reason}; this is a bug in Amrita Fleet.")
        self.reason = reason


class ConfigMissing(RunError, RuntimeError):
    """`get_config()` came before `minimal_init()` or `set_config()`."""

    def __init__(self) -> None:
        """Keep the facts."""
        super().__init__(
            "Global AmritaConfig is not initialized. Call `await minimal_init(config)` or `set_config(config)` first."
        )


class NameInvalid(RunError, ValueError):
    """A `name` that no agent can have, or none of `what` is to be named, because of `reason`."""

    def __init__(self, *, name: str, reason: str, what: str = "agent") -> None:
        """Keep the facts."""
        super().__init__(f"No {what} can be named {name!r}: {reason.rstrip('.')}.")
        self.name = name
        self.reason = reason
        self.what = what


class NameTaken(RunError, ValueError):
    """The fleet already has an agent of this `name`.

    Attributes:
        name: The name.
        differs: Of a dead one, in what the new one differs.
        stopped: Of one that was stopped, why.
    """

    def __init__(self, *, name: str, differs: str = "", stopped: str | None = None) -> None:
        """Keep the facts."""
        there = f"The fleet already has an agent named {name!r}"
        dead = f"; it is dead and can live again, but not with {differs}" if differs else ""
        done = "" if stopped is None else f"; it was stopped ({stopped}) and keeps its name"
        super().__init__(f"{there}{dead or done}: choose another name.")
        self.name = name
        self.differs = differs
        self.stopped = stopped


class NamesInvalid(RunError, TypeError):
    """One text, `given`, where a sequence of names is meant: each of its letters would name an agent."""

    def __init__(self, *, given: str) -> None:
        """Keep the facts."""
        super().__init__(f"names={given!r} is one text, not several names: write names=[{given!r}].")
        self.given = given


class AgentUnknown(RunError, LookupError):
    """No agent of this `name`; `near` are names like it."""

    def __init__(self, *, name: str, near: tuple[str, ...] = ()) -> None:
        """Keep the facts."""
        hint = f" Did you mean {', '.join(near)}?" if near else ""
        super().__init__(f"The fleet has no agent named {name!r}.{hint}")
        self.name = name
        self.near = near


class RunUnknown(RunError, LookupError):
    """The `agent` knows no such `run`, or no longer."""

    def __init__(self, *, agent: str, run: str) -> None:
        """Keep the facts."""
        super().__init__(f"The agent {agent!r} has no run {run!r}, or it ended too long ago.")
        self.agent = agent
        self.run = run


class ChannelClosed(RunError):
    """The agent takes no more messages; `agent` and `reason`."""

    def __init__(self, *, agent: str, reason: str) -> None:
        """Keep the facts."""
        super().__init__(f"The channel of {agent!r} is closed: {reason.rstrip('.')}.")
        self.agent = agent
        self.reason = reason


class PeerUnreachable(RunError):
    """Whether `agent` got what was sent is unknown: the same batch may be sent again."""

    retryable = True

    def __init__(self, *, agent: str, reason: str) -> None:
        """Keep the facts."""
        super().__init__(f"{agent!r} cannot be reached now: {reason.rstrip('.')}.")
        self.agent = agent
        self.reason = reason


class SelfAddressed(RunError, ValueError):
    """`agent` would send a message to itself."""

    def __init__(self, *, agent: str) -> None:
        """Keep the facts."""
        super().__init__(f"{agent!r} cannot send a message to itself: what it says stands in its transcript already.")
        self.agent = agent


class FleetClosed(RunError, RuntimeError):
    """The `fleet` was used outside its `async with`; `stage` is `new`, `open` (entered twice) or `closed`."""

    def __init__(self, *, fleet: str, stage: str) -> None:
        """Keep the facts."""
        what = {
            "new": "is not open yet: use it inside `async with`",
            "open": "is open already: it is entered once",
        }.get(stage, "is closed: make a new Fleet")
        super().__init__(f"The fleet {fleet!r} {what}.")
        self.fleet = fleet
        self.stage = stage


class QueueFull(RunError):
    """`agent` already has `limit` starts waiting."""

    retryable = True

    def __init__(self, *, agent: str, limit: int) -> None:
        """Keep the facts."""
        super().__init__(
            f"{agent!r} already has {plural(limit, 'run')} waiting: wait for one to end, then start again."
        )
        self.agent = agent
        self.limit = limit


class TaskInvalid(RunError, ValueError):
    """A run cannot be started so, because of `reason`."""

    def __init__(self, *, reason: str) -> None:
        """Keep the facts."""
        super().__init__(f"This run cannot be started: {reason.rstrip('.')}.")
        self.reason = reason


class PlanInvalid(RunError, ValueError):
    """A plan cannot be so, or become so, because of `reason`. The sentence is for a model to act on."""

    def __init__(self, *, reason: str) -> None:
        """Keep the facts."""
        super().__init__(f"The plan refuses this: {reason.rstrip('.')}.")
        self.reason = reason


class ToolInvalid(RunError, TypeError):
    """The function `tool` cannot be a tool, because of `reason`."""

    def __init__(self, *, tool: str, reason: str) -> None:
        """Keep the facts."""
        super().__init__(f"{tool!r} cannot be a tool: {reason.rstrip('.')}.")
        self.tool = tool
        self.reason = reason


class HookFailed(RunError):
    """The method `point` of the `hook` did not come to a decision, because of `reason`."""

    def __init__(self, *, hook: str, point: str, reason: str) -> None:
        """Keep the facts."""
        super().__init__(f"The hook {hook}.{point} failed: {reason.rstrip('.')}.")
        self.hook = hook
        self.point = point
        self.reason = reason


class ApprovalUnknown(RunError, LookupError):
    """No call waits for an answer under the id `approval`; `pending` do, at its agent if there is one."""

    def __init__(self, *, approval: str, pending: tuple[str, ...] = ()) -> None:
        """Keep the facts."""
        there = f"pending there: {', '.join(pending)}" if pending else "nothing is pending there"
        super().__init__(
            f"No approval {approval!r} is pending: it was answered, its run has ended, or there was none; {there}."
        )
        self.approval = approval
        self.pending = pending


class AnswerInvalid(RunError, TypeError):
    """A call that waits for a person cannot be answered so, because of `reason`."""

    def __init__(self, *, reason: str) -> None:
        """Keep the facts."""
        super().__init__(f"This is no answer to an approval: {reason.rstrip('.')}.")
        self.reason = reason


class ArgumentInvalid(RunError, TypeError):
    """What was given as the argument `name` is none, because of `reason`."""

    def __init__(self, *, name: str, reason: str) -> None:
        """Keep the facts."""
        super().__init__(f"What was given as {name!r} cannot be used: {reason.rstrip('.')}.")
        self.name = name
        self.reason = reason


class NumberInvalid(RunError, ValueError):
    """The argument `name` was `given` a number with which nothing can be done, because of `reason`."""

    def __init__(self, *, name: str, given: str, reason: str) -> None:
        """Keep the facts."""
        super().__init__(f"{name}={given} cannot be used: {reason.rstrip('.')}.")
        self.name = name
        self.given = given
        self.reason = reason


class ToolServerFailed(RunError):
    """The MCP server named `server` cannot be used, because of `reason`."""

    def __init__(self, *, server: str, reason: str) -> None:
        """Keep the facts."""
        super().__init__(f"The MCP server {server!r} cannot be used: {reason.rstrip('.')}.")
        self.server = server
        self.reason = reason


class Unpicklable(RunError, TypeError):
    """Something that cannot go to another process; `path` is where it hangs."""

    def __init__(self, *, path: str, reason: str) -> None:
        """Keep the facts."""
        super().__init__(
            f"{path} cannot be sent to another process: {reason.rstrip('.')}. Make it inside the tool instead."
        )
        self.path = path
        self.reason = reason


class SystemUnavailable(RunError):
    """The `system` that agents run on cannot be used, because of `reason`."""

    def __init__(self, *, system: str, reason: str) -> None:
        """Keep the facts."""
        super().__init__(f"The system {system!r} cannot be used: {reason}")
        self.system = system
        self.reason = reason
