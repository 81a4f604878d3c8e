"""When the bodies of a whole session are to be validated, they are kept from its first test on."""

import pytest

from .bodies import Bodies

BODIES = pytest.StashKey[Bodies]()
VALIDATING = "test_every_body_of_this_session_is_one_that_others_take"


def pytest_collection_finish(session: pytest.Session) -> None:
    """Put the test that validates last, and listen if it is going to run; else nothing is slowed down."""
    last = [item for item in session.items if item.name == VALIDATING]
    session.items.sort(key=lambda item: item in last)
    bodies = session.config.stash.setdefault(BODIES, Bodies())
    if last:
        patch = pytest.MonkeyPatch()
        session.config.add_cleanup(patch.undo)
        bodies.listen(patch)


@pytest.fixture
def bodies(request: pytest.FixtureRequest) -> Bodies:
    """What was built so far in this session."""
    return request.config.stash[BODIES]
