"""Ray's errors, as callers see them."""

from typing import Any

import pytest
from ray.exceptions import ActorDiedError, ActorUnavailableError, GetTimeoutError, RayError, RayTaskError

from amrita_fleet import AgentUnknown, ChannelClosed, PeerUnreachable
from amrita_fleet.actors.errors import translated

pytestmark = pytest.mark.ray


def raised(error: RayError) -> Exception:
    with pytest.raises(Exception) as caught, translated("ana"):  # noqa: PT011  its type is what is looked at
        raise error
    return caught.value


def test_what_an_actor_raised_arrives_as_it_was() -> None:
    cause = AgentUnknown(name="bob", near=("bot",))
    untyped: Any = RayTaskError
    error = untyped("deliver", "a traceback", cause).as_instanceof_cause()
    assert raised(error) is cause


def test_a_death_closes_the_channel_and_says_why_in_few_words() -> None:
    died = ActorDiedError()
    died.error_msg = (
        "The actor died.\n\tname: agent:ana\n\tpid: 7\nThe actor is dead because it crashed. Advice: none.\n"
    )
    closed = raised(died)
    assert isinstance(closed, ChannelClosed)
    assert (closed.agent, closed.reason) == ("ana", "it died: it crashed")


@pytest.mark.parametrize("error", [ActorUnavailableError("gone", None), GetTimeoutError("too late")])
def test_anything_else_leaves_open_whether_it_was_done(error: RayError) -> None:
    unknown = raised(error)
    assert isinstance(unknown, PeerUnreachable)
    assert unknown.retryable


def test_errors_that_are_not_rays_pass() -> None:
    with pytest.raises(ValueError, match="mine"), translated("ana"):
        raise ValueError("mine")
