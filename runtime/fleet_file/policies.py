"""What a fleet file says of the fleet itself, as `Fleet` takes it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..errors import RunError
from ..supervision.deadlines import Deadlines
from ..supervision.policy import Course, Stage, WatchPolicy
from .presets import check_variable, variable_in
from .problems import Keys, Problems
from .schema import Environment, WatchEntry

__all__ = ("journal_of", "watch_of")

IN_ADDRESS = (
    "A password does not belong into a file that is shared: write {env: NAME}, and have that variable hold the address."
)


def watch_of(entry: WatchEntry | None, problems: Problems) -> WatchPolicy | None:
    """The watch; None: as by default, or none that can work, which is noted."""
    if entry is None:
        return None
    here: Keys = ("fleet", "watch")
    given: dict[str, Any] = {name: value for name, value in entry.deadlines if value is not None}
    courses = {
        trouble: Course(tuple(Stage(stage.rung, stage.seconds) for stage in course.stages), course.calm)
        for trouble, course in entry.courses.items()
    }
    try:
        deadlines = Deadlines(**given)
    except RunError as error:
        name = str(getattr(error, "name", "")).rpartition(".")[2]
        problems.add((*here, "deadlines", name), str(error))
        return None
    return WatchPolicy(
        deadlines=deadlines,
        courses=courses,
        kills=entry.kills,
        kill_seconds=entry.kill_seconds,
        period=entry.period,
    )


def journal_of(
    given: Environment | str | None, folder: Path, environ: Mapping[str, str], problems: Problems
) -> str | None:
    """Where the journal is: a path, a URL, or `env:NAME` as it stands; None: the file names none."""
    keys: Keys = ("fleet", "journal")
    if given is None:
        return None
    if variable := variable_in(given):
        check_variable(variable, keys, environ, problems)
        return f"env:{variable}"
    text = str(given)
    if "://" not in text:
        return str(folder / text)
    try:
        secret = urlsplit(text).password is not None
    except ValueError:
        secret = False
    if secret:
        problems.add(keys, IN_ADDRESS)
    return text
