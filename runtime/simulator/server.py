"""The simulator as a server on loopback: in this process (`Simulator`), or as a command's whole work (`serve`)."""

import asyncio
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from ..termination import Termination, end_by_signal
from ..web_server import GRACE, LOOPBACK, listen, quiet_server
from .app import build_app
from .faults import Faults
from .library import read_scenarios, shipped
from .provider import SimulatedProvider
from .scenario import Scenario
from .totals import Totals

__all__ = ("LOOPBACK", "Simulator", "serve")

DRAINS = f"The simulator drains: answers in flight have {GRACE} second to end."


class Simulator:
    """A simulated provider that runs in the current event loop while the context is entered.

        async with Simulator() as simulator:
            preset = ModelPreset(model="simulated-census", base_url=simulator.base_url)

    Attributes:
        base_url: Where the paths of the wire format begin; empty until the context is entered.
    """

    def __init__(
        self,
        *,
        host: str = LOOPBACK,
        port: int = 0,
        scenarios: Sequence[Scenario] | None = None,
        key: str = "",
        faults: Faults | None = None,
    ) -> None:
        """Prepare a server.

        Args:
            host: Where it listens.
            port: 0: any free one.
            scenarios: What its models say; None: the scenarios that ship.
            key: The only API key that is let in; empty: everybody is.
            faults: None: none.

        Raises:
            ScenarioInvalid: Two scenarios name the same model.
        """
        self.base_url = ""
        self._address = (host, port)
        self._provider = SimulatedProvider(shipped() if scenarios is None else scenarios, key=key, faults=faults)
        self._server = quiet_server(build_app(self._provider, self._hang_up))
        self._running: asyncio.Task[None] | None = None

    def _hang_up(self, client: tuple[str, int]) -> None:
        """Close the connection of a client, so that it sees an answer break off."""
        for connection in tuple(self._server.server_state.connections):
            transport = connection.transport
            if transport and tuple(transport.get_extra_info("peername")[:2]) == tuple(client):
                transport.close()

    @property
    def totals(self) -> Totals:
        """What was answered and refused so far."""
        return self._provider.totals

    async def __aenter__(self) -> Self:
        """Listen. Connections are taken from here on.

        Raises:
            SystemUnavailable: The port is taken, or the address cannot be used.
        """
        listener = listen("simulator", *self._address)
        host, port = listener.getsockname()[:2]
        self.base_url = f"http://{host}:{port}/v1"
        self._running = asyncio.create_task(self._server.serve([listener]), name="simulator")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop; answers in flight have a moment to end."""
        self._server.ending.set()
        if self._running:
            await self._running


def serve(
    *,
    host: str = LOOPBACK,
    port: int = 0,
    scenario_files: Iterable[str | Path] = (),
    key: str = "",
    faults: Faults | None = None,
) -> None:
    """Serve until interrupted, the shipped scenarios and those in `scenario_files`; print the base URL as first line.

    SIGTERM ends it so too, and then the process by the signal itself.

    Raises:
        SystemUnavailable: The port is taken, or the address cannot be used.
        ScenarioInvalid: A scenario file cannot be used.
    """
    simulator = Simulator(host=host, port=port, scenarios=read_scenarios(scenario_files), key=key, faults=faults)
    termination = Termination(heard=lambda: sys.stderr.write(f"{DRAINS}\n"))
    try:
        asyncio.run(announce_and_wait(simulator, termination))
    except KeyboardInterrupt:
        return
    except asyncio.CancelledError:
        if not termination.received:
            raise
        end_by_signal()


async def announce_and_wait(simulator: Simulator, termination: Termination) -> None:
    """Run the simulator until the task is cancelled."""
    termination.watch()
    async with simulator:
        sys.stdout.write(f"{simulator.base_url}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()
