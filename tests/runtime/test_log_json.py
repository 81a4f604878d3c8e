"""Log records as lines of JSON, with where they come from."""

import io
import json
import logging
from collections.abc import Iterator
from typing import cast

import pytest

from amrita_fleet import Agent, Fleet, JsonFormatter, LogContext, tool
from amrita_fleet.protocols.providers.script import call, say
from amrita_fleet.protocols.providers.scripted import scripted
from amrita_fleet.runtime.cli.app import run_command
from amrita_fleet.runtime.log_context import LogPlace
from amrita_fleet.runtime.log_json import json_logs_asked, write_json_logs


@tool
def break_down() -> str:
    """Fail."""
    raise ValueError("deep inside")


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    """What the product logs as JSON; afterwards it logs as before."""
    logger, stream = logging.getLogger("amrita_fleet"), io.StringIO()
    before = logger.level, logger.propagate, logger.handlers[:]
    write_json_logs(stream, LogPlace("home", "nobody"))
    yield stream
    logger.setLevel(before[0])
    logger.propagate, logger.handlers = before[1], before[2]


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [cast("dict[str, object]", json.loads(line)) for line in stream.getvalue().splitlines()]


@pytest.mark.anyio
async def test_a_line_names_fleet_agent_run_and_step_of_what_logged_it(written: io.StringIO) -> None:
    async with Fleet("f", system="local") as fleet:
        agent = Agent(preset=scripted(call("break_down"), say("done")), tools=(break_down,))
        refs = await fleet.spawn(agent, ["ana", "bob"])
        outcomes = [await ref.run("go") for ref in refs]
        logging.getLogger("amrita_fleet.elsewhere").info("outside")
    failures = [line for line in lines(written) if "Tool break_down failed" in str(line["message"])]
    assert [(line["fleet"], line["agent"], line["run"], line["step"]) for line in failures] == [
        ("f", outcome.agent, outcome.run, 1) for outcome in outcomes
    ]
    assert {line["level"] for line in failures} == {"warning"}
    (outside,) = [line for line in lines(written) if line["message"] == "outside"]
    assert (outside["fleet"], outside["agent"]) == ("home", "nobody")
    assert "run" not in outside


def test_a_traceback_stays_in_its_line(written: io.StringIO) -> None:
    try:
        break_down.function()
    except Exception:
        logging.getLogger("amrita_fleet.elsewhere").exception("it\nfailed")
    (line,) = lines(written)
    assert line["message"] == "it\nfailed"
    assert "Traceback" in str(line["error"])


def test_any_handler_can_have_the_context_and_the_form() -> None:
    stream, logger = io.StringIO(), logging.getLogger("somebody's")
    handler = logging.StreamHandler(stream)
    handler.addFilter(LogContext())
    handler.setFormatter(logging.Formatter("[%(fleet)s %(agent)s %(run)s %(step)d %(trace_id)s] %(message)s"))
    logger.addHandler(handler)
    logger.warning("one")
    handler.setFormatter(JsonFormatter())
    logger.warning("two")
    logger.removeHandler(handler)
    plain, formed = stream.getvalue().splitlines()
    assert plain == "[   0 ] one"
    assert set(json.loads(formed)) == {"time", "level", "logger", "message"}


def test_a_word_that_is_no_form_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    assert not json_logs_asked({"AMRITA_LOG": "xml"})
    assert "AMRITA_LOG must be json" in caplog.text
    assert json_logs_asked({"AMRITA_LOG": "json"})
    assert not json_logs_asked({})


def test_a_command_logs_as_json_when_asked(
    written: io.StringIO, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AMRITA_LOG", "")
    assert run_command(["--log-json", "--debug", "explain", "NoSuchThing"]) == 2
    said = [json.loads(line) for line in capsys.readouterr().err.splitlines() if line.startswith("{")]
    assert "the command failed" in {line["message"] for line in said}
    assert all(line["logger"].startswith("amrita_fleet") for line in said)
