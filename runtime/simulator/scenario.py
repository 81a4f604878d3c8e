r"""Scenarios: rules that decide what a simulated model says from what it reads.

    models: [weather]
    rules:
      - when: {last_role: user, user: 'weather in (?P<city>\w+)', tools_include: [get_weather]}
        calls:
          - {name: get_weather, arguments: {city: "{city}", days: "{days:d}"}}
      - when: {last_role: tool, tool: '(?P<degrees>-?\d+)'}
        say: It is {degrees} degrees.
      - python: some.module:function

The first rule whose conditions all hold answers. Where a rule holds a pattern's named group in braces, the group's
text stands in the answer; an argument that is nothing but `{name:d}` becomes a number. A rule with `python` leaves
the answer to a pure function from a `Conversation` to an `Answer`.
"""

import re
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Literal, Self, TypeAlias, cast

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, field_validator, model_validator

from ...protocols.messages import Json
from .conversation import Answer, Call, Conversation
from .errors import Refused, ScenarioInvalid
from .modes import SEPARATOR
from .template import Groups, fill, fill_text, slots

__all__ = ("CallTemplate", "Hook", "Rule", "Scenario", "When", "parse_scenario")

Hook: TypeAlias = Callable[[Conversation], Answer]

SHOWN = 200
"""Characters of a message that a refusal quotes."""


class Strict(BaseModel):
    """Part of a scenario file; an unknown field is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class When(Strict):
    """Conditions, all of which must hold.

    Attributes:
        system: Pattern found in the system messages.
        user: Pattern found in the newest user message.
        tool: Pattern found in the newest tool message.
        contains: Text found in the newest message.
        last_role: Role of the newest message.
        tools_include: Tools that must be offered.
        no_tools: Whether no tool is offered.
        rounds: How many times the model has spoken since the newest user message.
    """

    system: re.Pattern[str] | None = None
    user: re.Pattern[str] | None = None
    tool: re.Pattern[str] | None = None
    contains: str = ""
    last_role: Literal["system", "user", "assistant", "tool"] | None = None
    tools_include: tuple[str, ...] = ()
    no_tools: bool | None = None
    rounds: int | None = None

    def groups(self) -> set[str]:
        """Names of the groups that its patterns define."""
        return {name for pattern in (self.system, self.user, self.tool) if pattern for name in pattern.groupindex}

    def match(self, conversation: Conversation) -> Groups | None:
        """The text of each group, or None when a condition does not hold."""
        return self._found(conversation) if self._holds(conversation) else None

    def _holds(self, conversation: Conversation) -> bool:
        return (
            self.contains in conversation.last.content
            and self.last_role in {None, conversation.last.role}
            and set(self.tools_include) <= set(conversation.tools)
            and self.no_tools in {None, not conversation.tools}
            and self.rounds in {None, conversation.rounds}
        )

    def _found(self, conversation: Conversation) -> Groups | None:
        places = (
            (self.system, conversation.system),
            (self.user, conversation.newest("user")),
            (self.tool, conversation.newest("tool")),
        )
        groups: dict[str, str] = {}
        for pattern, text in places:
            found = pattern.search(text) if pattern else None
            if pattern and not found:
                return None
            if found:
                groups.update(found.groupdict(default=""))
        return groups


class CallTemplate(Strict):
    """A call; its arguments may hold groups."""

    name: str
    arguments: dict[str, JsonValue] = {}

    def fill(self, groups: Groups) -> Call:
        """The call with the groups' texts in their places."""
        return Call(self.name, {name: fill(value, groups) for name, value in self.arguments.items()})


class Rule(Strict):
    """What is answered when the conditions hold: `say`, `calls` or both, or what the function named `python` says."""

    when: When = When()
    say: str = ""
    calls: tuple[CallTemplate, ...] = ()
    python: Hook | None = None

    @field_validator("python", mode="before")
    @classmethod
    def _load(cls, path: object) -> Hook:
        return function_named(str(path))

    @model_validator(mode="after")
    def _check(self) -> Self:
        if bool(self.python) == bool(self.say or self.calls):
            raise ValueError("a rule has either python, or say and calls")
        templates: list[Json] = [self.say, *(dict(call.arguments) for call in self.calls)]
        if unknown := set(slots(templates)) - self.when.groups():
            raise ValueError(f"no pattern of the rule has a group named {', '.join(sorted(unknown))}")
        return self

    def answer(self, conversation: Conversation) -> Answer | None:
        """What the rule answers, or None when it does not fit."""
        groups = self.when.match(conversation)
        if groups is None:
            return None
        if self.python:
            return self.python(conversation)
        return Answer(fill_text(self.say, groups), tuple(call.fill(groups) for call in self.calls))


class Scenario(Strict):
    """What the models of these names say. `name` is for messages."""

    name: str
    models: tuple[str, ...] = Field(min_length=1)
    rules: tuple[Rule, ...] = Field(min_length=1)

    @field_validator("models")
    @classmethod
    def _once(cls, models: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(models)) < len(models):
            raise ValueError("a model is named twice")
        if any(SEPARATOR in model for model in models):
            raise ValueError(f"a model's name may hold no {SEPARATOR!r}: faults begin there")
        return models

    def answer(self, conversation: Conversation) -> Answer:
        """What the first rule that fits says.

        Raises:
            Refused: No rule fits.
        """
        for rule in self.rules:
            if (answer := rule.answer(conversation)) is not None:
                return answer
        tools = ", ".join(conversation.tools) or "none"
        newest = conversation.last
        last = f"the newest message is from {newest.role}: {shortened(newest.content)!r}, tools offered: {tools}"
        raise Refused(message=f"No rule of scenario {self.name!r} fits: {last}.", code="no_rule_fits")


def parse_scenario(name: str, content: object) -> Scenario:
    """A scenario from the content of its file, read from YAML.

    Raises:
        ScenarioInvalid: A field is unknown or wrong, a pattern is none, a group or a function does not exist.
    """
    if not isinstance(content, Mapping):
        raise ScenarioInvalid(scenario=name, reason="it is no mapping with models and rules")
    try:
        return Scenario.model_validate({**cast("Mapping[str, object]", content), "name": name})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ScenarioInvalid(scenario=name, reason=f"{where}: {first['msg'].removeprefix('Value error, ')}") from None


def shortened(text: str) -> str:
    """Enough of a text to see what it is."""
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def function_named(path: str) -> Hook:
    """The function that `path` names, as in `package.module:function`.

    Raises:
        ValueError: There is none.
    """
    module, _, attribute = path.partition(":")
    try:
        found: object = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"{path!r} names no function: {error}") from None
    if not callable(found):
        raise ValueError(f"{path!r} is no function")  # noqa: TRY004  pydantic takes only this class
    return cast("Hook", found)
