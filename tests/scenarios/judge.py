"""Compares what came of a scenario with what it expects, and with what holds for every scenario."""

from collections import Counter
from collections.abc import Iterator
from itertools import chain, groupby

from amrita_fleet.protocols.notices import Notice
from amrita_fleet.runtime.simulator.errors import Refused
from amrita_fleet.runtime.simulator.openai_request import read_request

from .recording import Shown
from .scenario import Part, Request, Scenario, Sight
from .stage import Played, fits

__all__ = ("complaints",)


def complaints(scenario: Scenario, played: Played) -> list[str]:
    """Everything that is not as it should be, in sentences; what was seen comes last."""
    if played.unended:
        found = [f"its time was over while it waited for {played.unended}"]
    else:
        found = [*ending(scenario, played), *order(scenario, played), *number(scenario, played)]
        found += [*chain.from_iterable(shows(request, scenario, played) for request in scenario.expect.requests)]
        found += [*chain.from_iterable(always(name, part, played) for name, part in scenario.cast.items())]
    return [*found, *map(str, played.notices)] if found else []


def ending(scenario: Scenario, played: Played) -> Iterator[str]:
    """How the last run ended."""
    expect, own = scenario.expect, [notice for notice in played.notices if notice.agent == scenario.name]
    last = next((notice for notice in reversed(own) if is_end(notice)), None)
    if last is None:
        yield "the agent finished no run"
        return
    if last.data["outcome"] != expect.outcome:
        yield f"the outcome is {last.data['outcome']}, not {expect.outcome}"
    for name, part in (("text", expect.text), ("reason", expect.reason)):
        if part is not None and part not in str(last.data[name]):
            yield f"the {name} is {last.data[name]!r}, without {part!r}"
    if expect.rounds is not None and last.data["rounds"] != expect.rounds:
        yield f"it had {last.data['rounds']} rounds, not {expect.rounds}"
    outcome = played.outcomes.get(last.run or "")
    output = outcome.output if outcome else None
    if expect.output is not None and output != expect.output:
        yield f"the output is {output}, not {expect.output}"
    steps = sum((notice.type, notice.extra_type) == ("step", "intro") for notice in own)
    if expect.steps is not None and steps != expect.steps:
        yield f"it had {steps} Steps, not {expect.steps}"


def order(scenario: Scenario, played: Played) -> Iterator[str]:
    """Whether the notices came, in order; of each who tells, the first that is missing is named."""
    for _, sights in groupby(sorted(scenario.expect.notices, key=teller), key=teller):
        yield from missing(tuple(sights), scenario, played)


def teller(sight: Sight) -> tuple[str, bool]:
    """Who tells such a notice: the Supervisor, if it is about the budget, else the agent."""
    return sight.agent, sight.event.startswith("budget.")


def missing(sights: tuple[Sight, ...], scenario: Scenario, played: Played) -> Iterator[str]:
    """The first of the notices that did not come in its place."""
    left = iter(played.notices)
    for place, sight in enumerate(sights):
        if not any(fits(notice, sight, scenario.name) for notice in left):
            yield f"no notice {sight} came" + (f" after {sights[place - 1]}" if place else "")
            return


def number(scenario: Scenario, played: Played) -> Iterator[str]:
    """Whether notices came as often as they should, those included that should not come."""
    for kind, times in {**scenario.expect.times, **dict.fromkeys(scenario.expect.never, 0)}.items():
        came = sum(fits(notice, Sight(kind=kind), scenario.name) for notice in played.notices)
        if came != times:
            yield f"{came} notices {kind} came, not {times}"


def shows(expected: Request, scenario: Scenario, played: Played) -> Iterator[str]:
    """Whether a request is as it should be."""
    requests = played.requests[expected.of or scenario.name]
    if len(requests) < expected.nth:
        yield f"there are only {len(requests)} requests, so none is number {expected.nth}"
        return
    request = requests[expected.nth - 1]
    found = [*texts(expected, request), *offered(expected, request)]
    if expected.messages is not None and len(request.messages) != expected.messages:
        found.append(f"it has {len(request.messages)} messages, not {expected.messages}")
    yield from (f"request {expected.nth}: {each}; it reads\n{request}" for each in found)


def texts(expected: Request, request: Shown) -> Iterator[str]:
    """What should be read in it, in order, and what not."""
    told, place = str(request), 0
    for text in expected.shows or ():
        at = told.find(text, place)
        if at < 0:
            yield f"it does not show {text!r}" + (" where it should" if text in told else "")
            break
        place = at + len(text)
    yield from (f"it shows {text!r}" for text in expected.hides or () if text in told)


def offered(expected: Request, request: Shown) -> Iterator[str]:
    """Which tools it should have, and which not."""
    yield from (f"it offers no {name}" for name in expected.offers or () if name not in request.tools)
    yield from (f"it offers {name}" for name in expected.withholds or () if name in request.tools)
    if expected.bare and request.tools:
        yield f"it offers {', '.join(request.tools)}"


def always(name: str, part: Part, played: Played) -> Iterator[str]:
    """What holds for every agent: strict providers take its requests, nothing is asked unseen, runs end once."""
    requests = played.requests[name]
    for number, request in enumerate(requests, 1):
        try:
            read_request(dict(request.body))
        except Refused as refused:
            yield f"request {number} of {name} would be refused: {refused}"
    moves = sum(len(script) for script in (part.model, *part.fallbacks))
    endless = any("repeat" in script[-1] for script in (part.model, *part.fallbacks))
    if len(requests) < moves or (len(requests) > moves and not endless):
        yield f"the models of {name} were asked {len(requests)} times and have {moves} moves"
    ends = Counter(notice.run for notice in played.notices if is_end(notice) and notice.agent == name)
    yield from (f"run {run} ended {times} times" for run, times in ends.items() if times > 1)
    for notice in filter(is_end, played.notices):
        outcome = played.outcomes.get(notice.run or "")
        if outcome and (str(outcome), outcome.text) != (notice.data["outcome"], notice.data["text"]):
            yield f"the outcome {outcome} of {notice.run} is not what its notice says"


def is_end(notice: Notice) -> bool:
    """Whether it says that a run is over."""
    return (notice.type, notice.extra_type) == ("run", "finished")
