"""What the API takes and gives, as types: the OpenAPI document is made from them."""

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field

from ...protocols.amounts import Amount
from ...protocols.approval import Approval
from ...protocols.checkin import AgentStatus
from ...protocols.insight import Letter, Said
from ...protocols.limits import Limits
from ...protocols.mail import Receipt, ReceiptState, Refusal
from ...protocols.notices import NoticeType
from ..supervision.account import Account
from ..system import Stopped

__all__ = (
    "AccountShown",
    "AccountsShown",
    "AgentsShown",
    "AnswerGiven",
    "Answered",
    "ApprovalsShown",
    "FleetShown",
    "FleetStop",
    "Killed",
    "LimitGiven",
    "Limited",
    "MailboxShown",
    "MessageGiven",
    "NoticesShown",
    "Paused",
    "ProblemShown",
    "ReasonGiven",
    "ReceiptShown",
    "StoppedShown",
    "TranscriptShown",
    "account_shown",
    "fleet_shown",
    "plain",
    "receipt_shown",
    "stopped_shown",
)


class Given(BaseModel):
    """What somebody sends: a field that nobody knows is a mistake."""

    model_config = ConfigDict(extra="forbid", strict=True)


class MessageGiven(Given):
    """A message to an agent."""

    body: str = Field(description="The text; at most 64 KiB.")


class ReasonGiven(Given):
    """Why something is done, for the agent and the log."""

    reason: str = ""


class AnswerGiven(Given):
    """A person's answer to a call that waits."""

    allow: bool
    reason: str = Field("", description="Why it is refused; for the model.")


class FleetStop(Given):
    """The whole fleet is stopped, for good: its name says that this one is meant."""

    fleet: str
    reason: str = ""


class LimitGiven(Given):
    """A new limit."""

    account: str | None = Field(None, description="A team, an agent, or a run with a limit; null: the fleet.")
    limit: dict[str, Any] | None = Field(
        description="Fields of `Limits`: tokens, dollars, model_calls, tool_calls, seconds, on_exhaustion; null: none."
    )

    @property
    def limits(self) -> Limits | None:
        """The limit.

        Raises:
            PresetInvalid: It is none.
        """
        return None if self.limit is None else Limits.parse(self.limit)


class ProblemShown(BaseModel):
    """Why a request was not answered."""

    error: str
    help: str


class FleetShown(BaseModel):
    """A fleet in short."""

    fleet: str
    agents: int
    phases: dict[str, int]
    spent: Amount
    limit: Limits | None


class AgentsShown(BaseModel):
    """A row for each agent."""

    fleet: str
    agents: list[AgentStatus]


class TranscriptShown(BaseModel):
    """What was said to an agent's model and by it, the newest of it, oldest first."""

    agent: str
    step: int
    earlier: int = Field(description="How many elements are left out before these.")
    transcript: list[Said]


class MailboxShown(BaseModel):
    """The messages that wait for an agent, the oldest of them, oldest first."""

    agent: str
    waiting: int = Field(description="How many wait, those that are left out included.")
    mailbox: list[Letter]


class AccountShown(BaseModel):
    """What is spent under one name, against its limit."""

    name: str
    level: str
    path: tuple[str, ...]
    limit: Limits | None
    spent: Amount
    reserved: Amount
    overshoot: Amount
    unknown: Amount
    after_stop: Amount
    carved: Amount
    stopped: bool
    rests: bool
    began: float | None


class AccountsShown(BaseModel):
    """All accounts: the fleet's, its teams', its agents', and those of runs with limits of their own."""

    fleet: str
    accounts: list[AccountShown]


class NoticeShown(BaseModel):
    """A notice; `type` and `extra_type` say what it is about."""

    type: NoticeType
    extra_type: str
    agent: str
    text: str
    run: str | None
    step: int
    data: dict[str, Any]
    number: int
    at: float = Field(description="Unix seconds.")


class Missed(BaseModel):
    """Notices that are forgotten, both ends included."""

    first: int
    last: int


class NoticesShown(BaseModel):
    """Notices in order, and what is missing before them."""

    fleet: str
    notices: list[NoticeShown]
    gap: Missed | None
    after: int = Field(description="What to ask with for the next ones.")
    last: int = Field(description="Number of the newest.")


class ApprovalsShown(BaseModel):
    """Calls that wait for a person."""

    fleet: str
    approvals: list[Approval]


class Answered(BaseModel):
    """An answer that was given."""

    id: str
    allowed: bool
    reason: str


class ReceiptShown(BaseModel):
    """What became of a message so far."""

    id: str
    recipient: str
    state: ReceiptState
    refusal: Refusal | None
    run: str | None
    step: int | None


class Paused(BaseModel):
    """An agent that is to stand still, or to go on."""

    agent: str
    paused: bool


class StoppedShown(BaseModel):
    """Who has stopped, and who did not say so in time."""

    stopped: list[str]
    silent: list[str]


class Killed(BaseModel):
    """An agent whose process was ended."""

    agent: str
    killed: bool


class Limited(BaseModel):
    """A limit that holds now."""

    account: str | None
    limit: Limits | None


def plain(value: object) -> Any:  # noqa: ANN401  JSON
    """A value as plain data for JSON in UTF-8.

    JSON has no infinities: such a number becomes null. UTF-8 has no half of a surrogate pair: that becomes a `?`.
    """
    if isinstance(value, str):
        return carried(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {carried(str(key)): plain(each) for key, each in cast("Mapping[object, object]", value).items()}
    if isinstance(value, tuple | list):
        return [plain(each) for each in cast("tuple[object, ...]", value)]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def carried(text: str) -> str:
    """A text as UTF-8 can carry it."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def fleet_shown(fleet: str, rows: tuple[AgentStatus, ...], accounts: tuple[Account, ...]) -> dict[str, Any]:
    """A `FleetShown`, as plain data."""
    phases: dict[str, int] = {}
    for row in rows:
        phases[row.phase] = phases.get(row.phase, 0) + 1
    whole = next((account for account in accounts if len(account.path) == 1), None)
    return {
        "fleet": fleet,
        "agents": len(rows),
        "phases": phases,
        "spent": plain(Amount() if whole is None else whole.spent),
        "limit": None if whole is None else plain(whole.limit),
    }


def account_shown(account: Account) -> dict[str, Any]:
    """An `AccountShown`, as plain data."""
    return {name: plain(getattr(account, name)) for name in AccountShown.model_fields}


def receipt_shown(receipt: Receipt) -> dict[str, Any]:
    """A `ReceiptShown`, as plain data."""
    return receipt._asdict()


def stopped_shown(stopped: Stopped) -> dict[str, Any]:
    """A `StoppedShown`, as plain data."""
    return {"stopped": list(stopped.acknowledged), "silent": list(stopped.silent)}
