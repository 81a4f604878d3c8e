"""The command line as a whole, and the one place where errors become a sentence and an exit status."""

import errno
import logging
import os
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from ...protocols.errors import FleetError
from ..fleet_file.errors import FleetFileInvalid
from ..log_json import LOG_SETTING, json_logs_asked, write_json_logs
from ..termination import end_by_signal
from . import (
    approvals,
    approve,
    attach,
    check,
    dashboard,
    dead_letters,
    demo,
    doctor,
    explain,
    gc,
    grafana,
    journal,
    kill,
    limit,
    pause,
    ps,
    record,
    refuse,
    replay,
    resume,
    run,
    send,
    show,
    simulate,
    stop,
    tail,
    top,
    watch,
)
from .console import complain, list_problems, print_json
from .errors import Interrupted, Terminated
from .status import NAME, Status, status_of

__all__ = ("build", "main", "run_command")

UsageError = cast("type[typer.BadParameter]", typer.BadParameter.__base__)
"""What Typer raises for a command line that it cannot read; it exports only this subclass of it."""

COMMANDS: tuple[tuple[Callable[..., None], str], ...] = (
    (demo.demo, demo.EPILOG),
    (run.run, run.EPILOG),
    (check.check, check.EPILOG),
    (ps.ps, ps.EPILOG),
    (top.top, top.EPILOG),
    (watch.watch, watch.EPILOG),
    (tail.tail, tail.EPILOG),
    (show.show, show.EPILOG),
    (attach.attach, attach.EPILOG),
    (dashboard.dashboard, dashboard.EPILOG),
    (send.send, send.EPILOG),
    (pause.pause, pause.EPILOG),
    (resume.resume, resume.EPILOG),
    (kill.kill, kill.EPILOG),
    (limit.limit, limit.EPILOG),
    (dead_letters.dead_letters, dead_letters.EPILOG),
    (stop.stop, stop.EPILOG),
    (record.record, record.EPILOG),
    (replay.replay, replay.EPILOG),
    (gc.gc, gc.EPILOG),
    (approvals.approvals, approvals.EPILOG),
    (approve.approve, approve.EPILOG),
    (refuse.refuse, refuse.EPILOG),
    (journal.journal, journal.EPILOG),
    (doctor.doctor, doctor.EPILOG),
    (grafana.grafana, grafana.EPILOG),
    (explain.explain, explain.EPILOG),
    (simulate.simulate, simulate.EPILOG),
)
"""Each command with what stands below its help: an example and the exit statuses."""


@dataclass
class Settings:
    """What holds for whichever command runs."""

    debug: bool = False


def main() -> None:
    """Run the command that was typed, and end the process with its exit status."""
    with ExitStack() as nowhere:
        for name in ("stdout", "stderr"):
            if getattr(sys, name) is None:  # whoever typed the command has closed it
                setattr(sys, name, nowhere.enter_context(Path(os.devnull).open("w", encoding="utf-8")))
        end(run_command(sys.argv[1:]))


def end(status: int) -> None:
    """End the process with an exit status."""
    if status == Status.TERMINATED:
        end_by_signal()
    if any(not thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread()):
        # A tool was left behind in its thread. It cannot be stopped, and Python would wait for it.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)


def run_command(arguments: Sequence[str]) -> int:
    """Run one command and give its exit status.

    What goes wrong is said in one sentence on standard error, with the command that tells more, and where `--json` was
    typed on standard output as well, with the place in the documents.
    """
    settings = Settings()
    command = typer.main.get_command(build())
    try:
        status = spoken(command.main([*arguments] or ["--help"], NAME, standalone_mode=False, obj=settings))
    except Exception as error:
        if settings.debug:
            logging.getLogger(__name__).debug("the command failed", exc_info=error)
        sentence, status = ending(error)
        known = error if isinstance(error, FleetError) and not isinstance(error, Interrupted | Terminated) else None
        see = f"{NAME} explain {type(known).__name__}" if known else ""
        if isinstance(error, FleetFileInvalid):
            list_problems(sentence.splitlines(), see)
        else:
            complain(sentence, see)
        if "--json" in takewhile(lambda argument: argument != "--", arguments):
            place = known.help if known else ""
            more = {"problems": problems(error)} if isinstance(error, FleetFileInvalid) else {}
            print_json({"error": " ".join(sentence.split()), "status": status, "help": place, **more})
    return int(status or Status.OK)


def spoken(status: int | None) -> int | None:
    """The status that a command returned.

    Raises:
        Abort: It was Ctrl-C before there was any work to carry out, of which Typer says nothing.
    """
    if status == Status.INTERRUPTED:
        raise typer.Abort
    return status


def ending(error: Exception) -> tuple[str, Status]:
    """The sentence and the exit status for what ended a command."""
    match error:
        case FleetError():
            return str(error), status_of(error)
        case UsageError():
            return advised(error.format_message()), Status.BAD_INPUT
        case typer.Abort():
            return "Interrupted.", Status.INTERRUPTED
        case OSError(errno=errno.ENOSPC | errno.EDQUOT | errno.EFBIG):
            return f"What was to be told cannot be written: {error.strerror}.", Status.FAILED
        case _:
            what = f"{type(error).__name__}: {error}"
            return f"{what}. This is a bug; please report it with what `{NAME} --debug ...` says.", Status.FAILED


def problems(error: FleetFileInvalid) -> list[dict[str, Any]]:
    """What is wrong with a fleet file, for programs."""
    return [{"path": error.path, **asdict(problem)} for problem in error.problems]


def advised(sentence: str) -> str:
    """What Typer says, with the commands there are where it knows of none that is near."""
    sentence = sentence.replace(": Value error, ", ": ")  # pydantic's words, which Typer repeats
    if not sentence.startswith("No such command") or "Did you mean" in sentence:
        return sentence
    return f"{sentence} There are {', '.join(command.__name__.replace('_', '-') for command, _ in COMMANDS)}."


def build() -> typer.Typer:
    """The application."""
    app = typer.Typer(name=NAME, pretty_exceptions_enable=False)
    app.callback(epilog=f"Example: {NAME} demo")(every_command)
    for command, epilog in COMMANDS:
        app.command(help=flowing(command.__doc__ or ""), epilog=flowing(epilog))(command)
    return app


def flowing(text: str) -> str:
    """A text whose paragraphs have no line breaks, so that the terminal's width decides."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def print_version(asked: bool) -> None:  # noqa: FBT001  Typer calls it
    """Print the version and end."""
    if asked:
        try:
            number = version(NAME)
        except PackageNotFoundError:
            number = "(a version that is not installed)"
        sys.stdout.write(f"{NAME} {number}\n")
        raise typer.Exit


def every_command(
    context: typer.Context,
    *,
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=print_version, is_eager=True)
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Log everything, with where errors came from.")] = False,
    log_json: Annotated[
        bool,
        typer.Option(
            "--log-json", help="Log as lines of JSON, here and in the agents' processes; as AMRITA_LOG=json does."
        ),
    ] = False,
) -> None:
    """Spawn fleets of LLM agents, let them message each other, watch and steer them."""
    context.ensure_object(Settings).debug = debug
    if log_json:
        os.environ[LOG_SETTING] = "json"  # processes that are started from here inherit it
    if json_logs_asked(os.environ):
        write_json_logs(sys.stderr)
    if debug:
        logging.getLogger("amrita_fleet").setLevel(logging.DEBUG)
        logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
    else:
        logging.getLogger("amrita_fleet").addHandler(logging.NullHandler())
