"""A running fleet, as the options of a command name it."""

from ..fleet import Fleet

__all__ = ("running",)


def running(name: str, address: str) -> Fleet:
    """The fleet of that name, or the only one that runs there. Entering it joins it, leaving it ends nothing.

    Args:
        name: Empty for the only one.
        address: Ray's; `auto`: what `RAY_ADDRESS` says, else the cluster of this machine, as Ray reads the word.
    """
    return Fleet(name or None, address=None if address == "auto" else address, attach=True)
