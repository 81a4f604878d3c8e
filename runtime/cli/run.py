"""`amrita-fleet run`: one's own agents on one's own model."""

from typing import Annotated

import typer

from .errors import InputInvalid
from .options import (
    AsJson,
    BaseUrl,
    JournalUrl,
    Key,
    Model,
    Name,
    NoJournal,
    PresetFile,
    ProfileName,
    ProtocolName,
    SystemName,
    Where,
)

__all__ = ("EPILOG", "run")

EPILOG = """\
Example: amrita-fleet run "What do my notes say?" --base-url http://localhost:11434/v1 --model qwen3 --tools notes:read

A task that is given is a new run, also when it is the same one: after a crash, `--resume --name NAME` without a task
goes on with what is unfinished and begins nothing else. With a task, `--name NAME` asks the agents of an earlier
command, who remember; unfinished runs end first. Model, tools and instructions are not written down: give them again.

Exit status: 0 every agent answered, 1 one did not, 2 bad input: that includes an address where nobody answers, a key
that is refused, a model that does not exist and a journal that cannot be used; 130 interrupted, 143
ended by SIGTERM."""


Instructions = Annotated[str, typer.Option(help="The system message.", show_default=False)]

Tools = Annotated[
    list[str] | None,
    typer.Option(
        metavar="MODULE:NAME", help="A function, a tool, or a list of them; can be given again.", show_default=False
    ),
]

Agents = Annotated[int, typer.Option(help="How many agents get the task. They can message each other.")]

Limit = Annotated[int | None, typer.Option(help="Tokens that all agents together may spend.", show_default=False)]

Resume = Annotated[
    bool, typer.Option("--resume", help="Go on with what the fleet --name had not finished; without a task.")
]


def run(  # noqa: PLR0913  one parameter for each option
    task: Annotated[str, typer.Argument(help="What each agent is asked to do.", show_default=False)] = "",
    *,
    base_url: BaseUrl = "",
    model: Model = "",
    api_key: Key = "",
    protocol: ProtocolName = "",
    profile: ProfileName = "",
    preset: PresetFile = None,
    instructions: Instructions = "",
    tools: Tools = None,
    agents: Agents = 1,
    limit: Limit = None,
    system: Where = SystemName.RAY,
    name: Name = "",
    resume: Resume = False,
    journal: JournalUrl = "",
    no_journal: NoJournal = False,
    as_json: AsJson = False,
) -> None:
    """Give a task to agents of your own, show what happens, and print their answers.

    What happens is written down as it happens, so that after a crash another command goes on with it.
    """
    from ...protocols.limits import TokenLimit
    from ..agent import Agent
    from .carry_out import carry_out
    from .fleet_journal import fleet_journal
    from .model import preset_of
    from .tools import tools_named
    from .work import Work, do, resuming

    check(task, agents, name, resume=resume, no_journal=no_journal)
    asked = preset_of(preset, base_url=base_url, model=model, api_key=api_key, protocol=protocol, profile=profile)
    agent = Agent(preset=asked, instructions=instructions, tools=tools_named(tools or ()))
    most = None if limit is None else TokenLimit(tokens=limit)
    kept = fleet_journal(name, journal, none=no_journal)
    named = () if resume else names(agents)
    work = Work(None if resume else task, agent, named, most, system.value, kept)
    left = "the fleet and what was started for it have ended"
    if not no_journal:
        left = f"{left}; {resuming(kept)}, with the same options, goes on"
    raise typer.Exit(carry_out(do(work, as_json=as_json), left))


def check(task: str, agents: int, name: str, *, resume: bool, no_journal: bool) -> None:
    """Refuse what contradicts itself.

    Raises:
        InputInvalid: It does.
    """
    if agents < 1:
        raise InputInvalid(reason=f"--agents must be at least 1, not {agents}.")
    if not (task or resume):
        raise InputInvalid(reason="Missing argument 'TASK': what each agent is asked to do; or --resume.")
    if task and resume:
        reason = (
            "--resume begins nothing new: leave out the task, or leave out --resume to have it done after the rest."
        )
        raise InputInvalid(reason=reason)
    if resume and not name:
        raise InputInvalid(reason="--resume needs --name: `amrita-fleet journal` lists the fleets that could go on.")
    if resume and no_journal:
        raise InputInvalid(reason="--resume needs the journal: leave out --no-journal.")


def names(agents: int) -> tuple[str, ...]:
    """What so many agents are called."""
    return tuple(f"agent-{number}" for number in range(1, agents + 1))
