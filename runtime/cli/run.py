"""`amrita-fleet run`: one's own agents on one's own model."""

from typing import Annotated

import typer

from .errors import InputInvalid
from .options import AsJson, BaseUrl, Key, Model, PresetFile, ProfileName, ProtocolName, SystemName, Where

__all__ = ("EPILOG", "run")

EPILOG = """\
Example: amrita-fleet run "What do my notes say?" --base-url http://localhost:11434/v1 --model qwen3 --tools notes:read

Exit status: 0 every agent answered, 1 one did not, 2 bad input: that includes an address where nobody answers, a key
that is refused and a model that does not exist; 130 interrupted,
143 ended by SIGTERM."""


def run(  # noqa: PLR0913  one parameter for each option
    task: Annotated[str, typer.Argument(help="What each agent is asked to do.", show_default=False)],
    *,
    base_url: BaseUrl = "",
    model: Model = "",
    api_key: Key = "",
    protocol: ProtocolName = "",
    profile: ProfileName = "",
    preset: PresetFile = None,
    instructions: Annotated[str, typer.Option(help="The system message.", show_default=False)] = "",
    tools: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODULE:NAME",
            help="A function, a tool, or a list of them; can be given again.",
            show_default=False,
        ),
    ] = None,
    agents: Annotated[int, typer.Option(help="How many agents get the task. They can message each other.")] = 1,
    limit: Annotated[
        int | None, typer.Option(help="Tokens that all agents together may spend.", show_default=False)
    ] = None,
    system: Where = SystemName.RAY,
    as_json: AsJson = False,
) -> None:
    """Give a task to agents of your own, show what happens, and print their answers."""
    from ..agent import Agent, TokenLimit
    from .carry_out import carry_out
    from .model import preset_of
    from .tools import tools_named
    from .work import Work, do

    if agents < 1:
        raise InputInvalid(reason=f"--agents must be at least 1, not {agents}.")
    asked = preset_of(preset, base_url=base_url, model=model, api_key=api_key, protocol=protocol, profile=profile)
    agent = Agent(preset=asked, instructions=instructions, tools=tools_named(tools or ()))
    most = None if limit is None else TokenLimit(tokens=limit)
    work = Work(task=task, agent=agent, names=names(agents), limit=most, system=system.value)
    raise typer.Exit(carry_out(do(work, as_json=as_json), "the fleet and what was started for it have ended"))


def names(agents: int) -> tuple[str, ...]:
    """What so many agents are called."""
    return tuple(f"agent-{number}" for number in range(1, agents + 1))
