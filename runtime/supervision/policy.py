"""What is done about trouble: for each kind the rungs that are climbed, the gentlest first."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from ..errors import ArgumentInvalid, NumberInvalid
from ..given import check_kind, is_duration
from .deadlines import Deadlines
from .finding import Trouble

__all__ = ("COURSES", "Course", "Rung", "Stage", "WatchPolicy")


class Rung(StrEnum):
    """What can be done, the gentlest first.

    `NOTIFY`: watchers and the parent are told, as they are at every further rung. `NOTE`: the agents are told to give
    it up, at their next boundary. `END_STEP`: their next check-in ends the Step. `CANCEL`: their run is ended.
    `KILL`: their process is, and another follows where the system restarts agents. `QUARANTINE`: they are stopped for
    good.
    """

    NOTIFY = "notify"
    NOTE = "note"
    END_STEP = "end_step"
    CANCEL = "cancel"
    KILL = "kill"
    QUARANTINE = "quarantine"


@dataclass(frozen=True, slots=True)
class Stage:
    """One rung of a course, and the seconds it is given to help before the next one is climbed."""

    rung: Rung
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Course:
    """What is done about one kind of trouble.

    A rung is climbed only if the one before had its time and there is evidence that is newer: what went on before
    something was done about it says nothing about whether that helped.

    Attributes:
        stages: In order; none: nothing is done, not even told.
        calm: Seconds without the trouble after which it begins at the first rung again. What is a state, as being
            wedged is, is over when it is over: 0. A loop is over when nothing of it came for longer than it may take
            to come round.
    """

    stages: tuple[Stage, ...]
    calm: float = 0.0


CALM = 1200.0
"""Twice the longest pause within a circle of messages (`Deadlines.message_gap`)."""

IN_A_CALL = Course((Stage(Rung.NOTIFY, 60.0), Stage(Rung.CANCEL, 60.0), Stage(Rung.KILL, 60.0), Stage(Rung.QUARANTINE)))
"""An agent that comes to no boundary: a note, and a Step that is ended at the next check-in, would not reach it."""

COURSES: Mapping[Trouble, Course] = MappingProxyType(
    {
        # The Supervisor tells of each death itself, restarts by its own rules, and quarantines.
        Trouble.DEAD: Course(()),
        # Nothing that needs its loop would reach it.
        Trouble.WEDGED: Course((Stage(Rung.NOTIFY, 52.0), Stage(Rung.KILL, 60.0), Stage(Rung.QUARANTINE))),
        # It may be a network that is away, and a process that cannot be reached cannot be cancelled either.
        Trouble.UNREACHABLE: Course((Stage(Rung.NOTIFY, 120.0), Stage(Rung.KILL, 120.0), Stage(Rung.QUARANTINE))),
        Trouble.MODEL: IN_A_CALL,
        Trouble.TOOL: IN_A_CALL,
        Trouble.STUCK: IN_A_CALL,
        # A restart would go on with the same transcript: it helps nobody who loops.
        Trouble.CALL_LOOP: Course(
            (Stage(Rung.NOTIFY), Stage(Rung.NOTE, 30.0), Stage(Rung.END_STEP, 30.0), Stage(Rung.CANCEL)), CALM
        ),
        Trouble.MESSAGE_LOOP: Course(
            (
                Stage(Rung.NOTIFY),
                Stage(Rung.NOTE, 30.0),
                Stage(Rung.END_STEP, 30.0),
                Stage(Rung.CANCEL, 30.0),
                Stage(Rung.QUARANTINE),
            ),
            CALM,
        ),
        # What fails for all is not the fault of any.
        Trouble.SHARED_FAILURE: Course((Stage(Rung.NOTIFY), Stage(Rung.NOTE)), CALM),
    }
)
"""What is done by default."""


@dataclass(frozen=True, kw_only=True)
class WatchPolicy:
    """What the watch of a fleet calls trouble, and what it does about it.

    Attributes:
        deadlines: How long and how often is too much.
        courses: What is done; what is not named here is done as by default.
        kills: How often one agent is killed within `kill_seconds`; then it is quarantined instead.
        period: Seconds between two looks.
    """

    deadlines: Deadlines = field(default_factory=Deadlines)
    courses: Mapping[Trouble, Course] = field(default_factory=dict[Trouble, Course])
    kills: int = 3
    kill_seconds: float = 3600.0
    period: float = 3.0

    def __post_init__(self) -> None:
        """Refuse a watch that never looks.

        Raises:
            ArgumentInvalid: What stands in a field is of another type.
            NumberInvalid: It names the field and what it must be.
        """
        check_kind("WatchPolicy.deadlines", self.deadlines, Deadlines)
        check_kind("WatchPolicy.courses", self.courses, Mapping)
        for trouble, course in self.courses.items():
            check_trouble(trouble)
            check_course(course)
        for name in ("period", "kill_seconds"):
            if not is_duration(value := getattr(self, name)):
                reason = "it must be a number of seconds above 0"
                raise NumberInvalid(name=f"WatchPolicy.{name}", given=repr(value), reason=reason)
        if type(self.kills) is not int or self.kills < 0:
            reason = "it must be a whole number of at least 0"
            raise NumberInvalid(name="WatchPolicy.kills", given=repr(self.kills), reason=reason)

    def course(self, trouble: Trouble) -> Course:
        """What is done about this kind of trouble."""
        return self.courses.get(trouble, COURSES[trouble])


def check_trouble(given: object) -> None:
    """Refuse what is no kind of trouble.

    Raises:
        ArgumentInvalid: It is a text, or something else.
    """
    if not isinstance(given, Trouble):
        known = given in tuple(Trouble)  # written as the text that it is told as
        write = (
            f"Trouble.{str(given).upper()}" if known else f"one of {', '.join(f'Trouble.{t.name}' for t in Trouble)}"
        )
        raise ArgumentInvalid(
            name="WatchPolicy.courses", reason=f"its keys are of type Trouble: write {write}, not {given!r:.100}"
        )


def check_course(course: object) -> None:
    """Refuse what no ladder can climb.

    Raises:
        ArgumentInvalid: It is no course, or its stages are none.
        NumberInvalid: A rung is given a time that is none.
    """
    if not isinstance(course, Course):
        raise ArgumentInvalid(name="WatchPolicy.courses", reason=f"a trouble has a Course, not {course!r:.100}")
    check_kind("Course.stages", course.stages, tuple)
    for stage in course.stages:
        check_kind("Course.stages", stage, Stage)
        check_kind("Stage.rung", stage.rung, Rung)
    for name, seconds in (("Course.calm", course.calm), *(("Stage.seconds", stage.seconds) for stage in course.stages)):
        if seconds != 0 and not is_duration(seconds):
            raise NumberInvalid(name=name, given=repr(seconds), reason="it must be a number of seconds, or 0")
