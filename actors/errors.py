"""Ray's errors as the project's own; nothing outside this package sees one of Ray's.

RayTaskError            what the actor's method raised, itself
ActorDiedError          ChannelClosed: the process is gone for good
any other RayError      PeerUnreachable: nobody knows whether the call was carried out
"""

from collections.abc import Generator
from contextlib import contextmanager

from ray.exceptions import ActorDiedError, RayError, RayTaskError

from ..runtime.errors import ChannelClosed, PeerUnreachable

__all__ = ("death", "translate", "translated")


@contextmanager
def translated(agent: str) -> Generator[None, None, None]:
    """Around calls to the actor of `agent`: what they raise is the project's own.

    Raises:
        ChannelClosed: The actor is dead.
        PeerUnreachable: It does not answer, and may or may not have done what it was asked.
    """
    try:
        yield
    except RayError as error:
        raise translate(error, agent) from None


def translate(error: RayError, agent: str) -> Exception:
    """What an error of Ray's means to the caller of `agent`."""
    if isinstance(error, RayTaskError) and isinstance(error.cause, Exception):
        return error.cause
    if isinstance(error, ActorDiedError):
        return ChannelClosed(agent=agent, reason=f"it died: {death(error)}")
    return PeerUnreachable(agent=agent, reason=gist(error))


def death(error: ActorDiedError) -> str:
    """Why the actor died, in few words."""
    return gist(error).removeprefix("The actor is dead because ")


def gist(error: RayError) -> str:
    """The one sentence of an error: Ray puts identifiers and tracebacks before it, and advice behind."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1].partition(". ")[0].rstrip(".") if lines else type(error).__name__
