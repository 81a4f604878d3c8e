"""What the tools' tests share: the event loop's back end, and a context."""

import pytest

from amrita_fleet.protocols.checkin import AgentStatus
from amrita_fleet.protocols.ids import AgentId, Incarnation, MessageId, RunId
from amrita_fleet.protocols.mail import Kind, Receipt
from amrita_fleet.runtime.errors import AgentUnknown
from amrita_fleet.runtime.tools.output import ToolContext


class LoneChannel:
    """The channel of an agent without peers."""

    async def send(
        self,
        recipient: AgentId,
        body: str,  # noqa: ARG002
        reply_to: str = "",  # noqa: ARG002
        message: MessageId | None = None,  # noqa: ARG002
        kind: Kind = Kind.PEER,  # noqa: ARG002
    ) -> Receipt:
        raise AgentUnknown(name=recipient)

    async def receipt(self, message: MessageId) -> Receipt | None: ...

    async def peers(self) -> tuple[AgentStatus, ...]:
        return ()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def context() -> ToolContext:
    return ToolContext(AgentId("ana"), Incarnation(1), RunId("ana/1"), 3, 7, LoneChannel())
