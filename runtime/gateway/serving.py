"""Who serves a fleet's gateway: this process, or one of the fleet's system."""

from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Protocol, runtime_checkable

from ..errors import ArgumentInvalid
from ..given import check_text
from .errors import ExtraMissing

__all__ = ("Dashboard", "GatewayHost", "Serving", "check_address", "check_extra")

EXTRA = "dashboard"

NEEDED = ("fastapi", "nicegui", "websockets")
"""What the extra brings."""


@dataclass(frozen=True, slots=True)
class Dashboard:
    """Where a fleet's gateway is.

    Attributes:
        url: Its address, as in `http://127.0.0.1:8080`.
        token: What every request shows, as `Authorization: Bearer ...`.
    """

    url: str
    token: str = field(repr=False)

    @property
    def link(self) -> str:
        """What a browser opens once; from then on it has a cookie."""
        return f"{self.url}/?token={self.token}"


class Serving(Protocol):
    """A gateway that runs."""

    async def over(self) -> str:
        """Wait until it has nothing more to show, and give why."""
        ...

    async def aclose(self) -> None:
        """End it. Safe to call twice."""
        ...


@runtime_checkable
class GatewayHost(Protocol):
    """What a system has beside that of `System` where a gateway gets a process of its own."""

    async def open_gateway(self, host: str, port: int) -> tuple[Serving, Dashboard]:
        """Begin one.

        Raises:
            SystemUnavailable: It cannot be started, the port is taken, or the address cannot be used.
        """
        ...


def check_extra() -> None:
    """See that what serves is installed.

    Raises:
        ExtraMissing: It is not.
    """
    if any(find_spec(each) is None for each in NEEDED):
        raise ExtraMissing(extra=EXTRA, what="A fleet's dashboard")


def check_address(host: object, port: object) -> None:
    """Refuse what nobody can listen on.

    Raises:
        ArgumentInvalid: The host is no text, or the port no number from 0 to 65,535.
    """
    check_text("host", host)
    if not host or not str(host).isprintable():
        raise ArgumentInvalid(name="host", reason="it is a name or an address of this machine")
    if type(port) is not int or not 0 <= port < PORTS:
        raise ArgumentInvalid(name="port", reason=f"it is a whole number from 0 to {PORTS - 1}, and 0 takes any")


PORTS = 2**16
