"""`amrita-fleet run`: one's own agents on one's own model, or those of a fleet file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
from .utf8 import in_utf8

if TYPE_CHECKING:
    from ..agent import Agent
    from .crews import Alike
    from .work import Work

__all__ = ("EPILOG", "run")

EPILOG = """\
Example: amrita-fleet run "What do my notes say?" --base-url http://localhost:11434/v1 --model qwen3 --tools notes:read

Example: amrita-fleet run fleet.yaml

A fleet file names models, tools, limits and tasks itself; beside it stand --system, --resume, --json, and --name and
--journal where it names none.

A task that is given is a new run, also when it is the same one: after a crash, `--resume --name NAME` without a task
goes on with what is unfinished and begins nothing else. With a task, `--name NAME` asks the agents of an earlier
command, who remember; unfinished runs end first. Model, tools and instructions are not written down: give them again.

Exit status: 0 every agent answered, 1 one did not, 2 bad input: that includes an address where nobody answers, a key
that is refused, a model that does not exist and a journal that cannot be used; 130 interrupted, 143
ended by SIGTERM."""

Task = Annotated[
    str,
    typer.Argument(
        metavar="[TASK|FILE]",
        help="What each agent is asked to do; or a fleet file, which ends in .yaml or .yml.",
        callback=in_utf8,
        show_default=False,
    ),
]

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
    task: Task = "",
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
    """Give a task to agents of your own, or run a fleet file; show what happens, and print the answers.

    What happens is written down as it happens, so that after a crash another command goes on with it.
    """
    from .carry_out import carry_out
    from .fleet_journal import fleet_journal
    from .run_file import file_work, is_fleet_file, refuse_beside
    from .work import Work, do

    options = {"base_url": base_url, "model": model, "api_key": api_key, "protocol": protocol, "profile": profile}
    if is_fleet_file(task):
        more = {"preset": preset, "instructions": instructions, "tools": tools, "limit": limit, "agents": agents != 1}
        refuse_beside(task, {**options, **more})
        work = file_work(task, system.value, name, journal, none=no_journal, resume=resume)
    else:
        check(task, agents, name, resume=resume, no_journal=no_journal)
        agent = described(preset, options, instructions, tools or ())
        crew = alike(task, agent, 0 if resume else agents, limit, system)
        work = Work(crew, fleet_journal(name, journal, none=no_journal), resume)
    raise typer.Exit(carry_out(do(work, as_json=as_json), left_of(work)))


def described(preset: Path | None, options: Mapping[str, str], instructions: str, tools: Sequence[str]) -> "Agent":
    """The agent that the options describe.

    Raises:
        FleetError: They describe none.
    """
    from ..agent import Agent
    from .model import preset_of
    from .tools import tools_named

    return Agent(preset=preset_of(preset, **options), instructions=instructions, tools=tools_named(tools))


def alike(task: str, agent: "Agent", count: int, limit: int | None, system: SystemName) -> "Alike":
    """So many agents of one description, and their task.

    Raises:
        PresetInvalid: The limit is none.
    """
    from ...protocols.limits import TokenLimit
    from .crews import Alike

    most = None if limit is None else TokenLimit(tokens=limit)
    return Alike(task, agent, names(count), most, system.value)


def left_of(work: "Work") -> str:
    """What is true once the work was broken off, and how it goes on."""
    left = "the fleet and what was started for it have ended"
    if work.journal.url is None:
        return left
    return f"{left}; {work.crew.resuming(work.journal)} goes on"


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
