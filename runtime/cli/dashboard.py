"""`amrita-fleet dashboard`: a running fleet over HTTP, for a browser and for programs."""

from typing import Annotated

import typer

from .console import say
from .options import Address
from .status import NAME

__all__ = ("EPILOG", "dashboard")

EPILOG = """\
Example: amrita-fleet dashboard --port 8400 --no-open

Exit status: 1 no fleet runs there, it has ended, or the port is taken, 2 bad input, 130 interrupted."""


def dashboard(
    fleet: Annotated[
        str, typer.Argument(help="Which fleet; the only running one if left out.", show_default=False)
    ] = "",
    *,
    host: Annotated[str, typer.Option(help="The name or address of this machine to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to listen; 0: any port that is free.")] = 0,
    no_open: Annotated[bool, typer.Option("--no-open", help="Open no browser.")] = False,
    address: Address = "auto",
) -> None:
    """Serve a running fleet over HTTP until Ctrl-C, and print the link, which holds the token. Nothing ends with it."""
    from .carry_out import carry_out

    served = serve(fleet, address, host, port, browser=not no_open)
    carry_out(served, f"the fleet goes on; see it with `{NAME} ps`")


async def serve(name: str, address: str, host: str, port: int, *, browser: bool) -> None:
    """Serve one fleet until it is over.

    Raises:
        FleetOver: It is over.
    """
    import webbrowser

    from anyio import to_thread

    from .errors import FleetOver
    from .joining import running

    async with running(name, address) as fleet:
        made = await fleet.serve_dashboard(host=host, port=port)
        say(f"fleet {fleet.name}: {made.link}")
        if browser:
            await to_thread.run_sync(webbrowser.open, made.link, abandon_on_cancel=True)
        await fleet.dashboard_over()
        raise FleetOver(fleet=fleet.name)
