"""What a scenario file says, and how it is read: an unknown key is an error, so no expectation is misspelt unseen.

    title: A tool that failed is called again
    why: A tool's failure is the model's business, not the end of the run.
    task: Read a.txt.                       # what the agent is asked; without it, it is mail that wakes it
    agent: {tools: [flaky]}                 # see `Described`; the tools are those of tools.py
    model:                                  # what it says, as protocols/providers/script.py reads it
      - calls: [{name: flaky, arguments: {text: a}}]
      - say: it is read
    expect:
      outcome: answered
      notices: [tool.failed, {run.finished: it is read}]

The agent is called as the file is. `peers` are other agents of the fleet, by name. All scenarios are played in one
fleet, so no name is used in two files.
"""

from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

__all__ = ("Act", "Described", "Expected", "Request", "Scenario", "Sight", "scenarios")

FOLDER = Path(__file__).parent


class Strict(BaseModel):
    """A part of a file: unknown keys and values of another type are errors."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Sight(Strict):
    """A notice: `type.extra_type`, of another agent `name/type.extra_type`; its text contains `text`, its data `data`.

    In a file it is written `tool.started`, `{tool.started: part of the text}` or `{step.stall: {period: 2}}`.
    """

    kind: str = Field(pattern=r"^([\w-]+/)?[a-z]+\.[a-z_]+$")
    text: str = ""
    data: dict[str, str | int | float | bool | None] = {}

    @property
    def agent(self) -> str:
        """Whose notice it is; empty: the scenario's own agent's."""
        return self.kind.rpartition("/")[0]

    @property
    def event(self) -> str:
        """`type.extra_type`."""
        return self.kind.rpartition("/")[2]

    def __str__(self) -> str:
        beside = f": {self.text}" if self.text else ""
        return self.kind + (beside or (f": {self.data}" if self.data else ""))


def spelt(given: object) -> object:
    """A sight as files spell it."""
    if isinstance(given, str):
        return {"kind": given}
    named = cast("dict[str, object]", given) if isinstance(given, dict) else {}
    if len(named) != 1:
        return given
    ((kind, value),) = named.items()
    return {"kind": kind, "data" if isinstance(value, dict) else "text": value}


def listed(given: object) -> object:
    """One sight is a list of one."""
    return cast("object", given) if isinstance(given, list) else [given]


Seen = Annotated[Sight, BeforeValidator(spelt)]
Sights = Annotated[list[Seen], Field(min_length=1)]
Moves = Annotated[list[dict[str, Any]], Field(min_length=1)]
Texts = Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1)]


class Described(Strict):
    """What an agent is. The numbers of `config` are those of `AmritaConfig`; `output` names a model of tools.py."""

    instructions: str = ""
    tools: list[str] = []
    config: dict[str, dict[str, Any]] = {}
    limit: int | None = None
    memory: Literal["agent", "run"] = "agent"
    run_timeout: float | None = None
    plan: Literal["never", "auto", "always"] = "never"
    output: str | None = None


class Part(Strict):
    """One agent, its model and what it is asked.

    Attributes:
        task: What it is asked at the beginning; None: nothing.
        fallbacks: What the models say that take over, one after the other.
        runs: Runs of it that must end before the scenario is over; None: one, if it has a task.
    """

    task: str | None = None
    agent: Described = Described()
    model: Moves
    fallbacks: list[Moves] = []
    runs: int | None = None

    @property
    def ends(self) -> int:
        """Runs that must end."""
        return int(self.task is not None) if self.runs is None else self.runs


class Peer(Part):
    """Another agent; `parent` is the one it reports to."""

    parent: str | None = None


class Act(Strict):
    """One thing that a person does.

    Attributes:
        at: Notices that are seen first, one after the other, after those waited for before; none: at once.
        of: To whom; None: to the scenario's own agent.
        send: Sends it a message.
        ask: Gives it a task.
        pause: Why it shall pause.
        stop: Why it shall stop.
        resume: Lets it go on.
        allow: Allows the call that the last notice waited for is about.
        refuse: Why that call shall not run.
        open: Lets a call of the tool `gate` with this name end.
    """

    at: Annotated[list[Seen], BeforeValidator(listed)] = []
    of: str | None = None
    send: str | None = None
    ask: str | None = None
    pause: str | None = None
    stop: str | None = None
    resume: Literal[True] | None = None
    allow: Literal[True] | None = None
    refuse: str | None = None
    open: str | None = None

    @model_validator(mode="after")
    def _one(self) -> "Act":
        if len(self.model_fields_set - {"at", "of"}) != 1:
            raise ValueError("a person does one thing at a time")
        return self


class Request(Strict):
    """What a model was shown in one of its requests, written as `role: content` and `call name arguments` lines.

    Attributes:
        nth: Which request, from 1.
        of: Whose; None: the scenario's own agent's.
        shows: Texts it has, in this order.
        hides: Texts it has not; each is shown in some other request of some scenario, so none is misspelt.
        offers: Tools it has.
        withholds: Tools it has not; each is offered somewhere.
        bare: It has no tools at all.
        messages: How many messages it has.
    """

    nth: int = Field(ge=1)
    of: str | None = None
    shows: Texts | None = None
    hides: Texts | None = None
    offers: Texts | None = None
    withholds: Texts | None = None
    bare: Literal[True] | None = None
    messages: int | None = None

    @model_validator(mode="after")
    def _expects(self) -> "Request":
        if self.model_fields_set <= {"nth", "of"}:
            raise ValueError("a request of which nothing is expected can be left out")
        return self


class Expected(Strict):
    """What came of it.

    Attributes:
        outcome: The outcome of the agent's last run, as `answered` or `limit:tokens`.
        text: A part of its text.
        reason: A part of its reason.
        rounds: Model calls of the last run.
        steps: Steps of the agent.
        output: The typed output of its last run that it was asked for.
        notices: Some of the notices, in this order; those of each agent, and those of the budget, which the Supervisor
            tells, for themselves, because only theirs have an order.
        times: How often notices of a kind came.
        never: Kinds of notices that did not come; each is expected to come in some other scenario.
        requests: What models were shown.
    """

    outcome: str
    text: str | None = None
    reason: str | None = None
    rounds: int | None = None
    steps: int | None = None
    output: dict[str, Any] | None = None
    notices: Sights
    times: dict[str, Annotated[int, Field(ge=1)]] = {}
    never: list[str] = []
    requests: list[Request] = []


class Scenario(Part):
    """A whole file; `name` is the file's, and the agent's. A slow one takes seconds and is left out of quick runs."""

    name: str
    slow: bool = False
    title: str = Field(min_length=1)
    why: str = Field(min_length=1)
    peers: dict[str, Peer] = {}
    person: list[Act] = []
    expect: Expected

    @property
    def cast(self) -> dict[str, Part]:
        """All agents, by name."""
        return {self.name: self, **self.peers}

    @model_validator(mode="after")
    def _names(self) -> "Scenario":
        kinds = (Sight(kind=kind) for kind in (*self.expect.times, *self.expect.never))
        awaited = (sight for act in self.person for sight in act.at)
        named = [sight.agent for sight in (*self.expect.notices, *kinds, *awaited)]
        named += [act.of or "" for act in self.person]
        named += [request.of or "" for request in self.expect.requests]
        named += [peer.parent or "" for peer in self.peers.values()]
        if unknown := sorted({*named} - {"", *self.cast}):
            raise ValueError(f"no agent is named {unknown[0]}, only {', '.join(self.cast)}")
        if not sum(part.ends for part in self.cast.values()):
            raise ValueError("no agent has a task or runs, so there is nothing to wait for")
        return self


def read(path: Path) -> Scenario:
    """The scenario of one file.

    Raises:
        ValidationError: A key is unknown, or a value is none.
    """
    plain = yaml.safe_load(path.read_text(encoding="utf-8"))
    return Scenario.model_validate({**plain, "name": path.stem})


@cache
def scenarios() -> tuple[Scenario, ...]:
    """All scenarios, by name."""
    return tuple(read(path) for path in sorted(FOLDER.glob("*.yaml")))
