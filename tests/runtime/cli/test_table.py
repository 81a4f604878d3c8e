"""The tables of a fleet on terminals that have few columns: a note gives way, and nothing else does."""

from dataclasses import replace

import pytest
from rich.console import Console, RenderableType

from amrita_fleet.protocols.amounts import Amount
from amrita_fleet.protocols.checkin import AgentStatus
from amrita_fleet.protocols.ids import AgentId, Incarnation, RunId
from amrita_fleet.protocols.limits import Limits
from amrita_fleet.runtime.cli.summary import agents_table, letters_table
from amrita_fleet.runtime.cli.table import fleet_table
from amrita_fleet.runtime.cli.tally import Letter, RunEnd, Tally

NOTE = "The call count_files came again and again with the same arguments, so this agent gives its last answer. " * 3
LEAD = AgentStatus(AgentId("lead"), Incarnation(1), "thinking", 1000.0, step=12, waiting=3, sent=14, consumed=11)
WORKER = AgentStatus(
    AgentId("worker-3"), Incarnation(1), "winding_down", 988.0, step=7, tokens=8_210, limit=10_000, note=NOTE
)
ROWS = (LEAD, WORKER)


def lines(table: RenderableType, width: int) -> list[str]:
    """What a terminal with so many columns shows."""
    console = Console(width=width, color_system=None)
    with console.capture() as capture:
        console.print(table)
    return [line.rstrip() for line in capture.get().splitlines()]


@pytest.mark.parametrize("width", [80, 109, 110, 120, 160])
def test_names_phases_and_numbers_are_whole_however_long_the_notes(width: int) -> None:
    shown = lines(fleet_table(ROWS, {LEAD.agent: NOTE}, width, now=1000.0), width)
    assert max(map(len, shown)) <= width
    for row, agent in zip(shown[3:5], ROWS, strict=True):
        assert agent.agent in row
        assert f" {agent.phase} " in row
        assert row.endswith("… │")
    assert " 8,210 / 10,000 " in shown[4]
    assert " 12 s " in shown[4]
    assert "The call" in shown[3]


def test_in_few_columns_the_counts_of_mail_share_one() -> None:
    shown = lines(fleet_table(ROWS, {}, 80), 80)
    assert " 3/14/11 " in shown[3]
    assert shown[-1] == "mail: waiting/sent/consumed"
    assert "consumed" in lines(fleet_table(ROWS, {}, 120), 120)[1]


def test_nodes_are_told_where_there_are_several_and_room_for_them() -> None:
    rows = (replace(LEAD, node="10.0.0.7"), replace(WORKER, node="10.0.0.8"))
    shown = lines(fleet_table(rows, {}, 120), 120)
    assert " node " in shown[1]
    assert (" 10.0.0.7 " in shown[3], " 10.0.0.8 " in shown[4]) == (True, True)
    for few in (fleet_table(rows, {}, 80), fleet_table((rows[0], replace(WORKER, node="10.0.0.7")), {}, 120)):
        assert "node" not in "".join(lines(few, 120))


def test_money_and_calls_are_shown_where_they_are_limited() -> None:
    spent, limits = Amount(8_210, 123_000_000, 3, 40), Limits(tokens=10_000, dollars=2, model_calls=9, tool_calls=50)
    rows = (replace(WORKER, spent=spent, limits=limits), replace(LEAD, spent=spent))
    shown = "\n".join(lines(fleet_table(rows, {}, 80), 80))
    for part in (" 8,210 / 10,000 ", " $0.123 / $2.00 ", " 3 / 9 model calls ", " 40 / 50 tool calls "):
        assert shown.count(part) == 1


def test_in_few_columns_a_message_gives_way_to_its_ends_and_steps() -> None:
    letter = Letter("m1", "worker-3", "supervisor", NOTE, sent=1204, lost="too_large")
    shown = lines(letters_table(Tally(letters={"m1": letter})), 80)
    assert len(shown) == 5
    for whole in ("worker-3", "1204", "supervisor", "never: too_large", "The call", "… │"):
        assert whole in shown[3]


def test_in_few_columns_the_numbers_of_the_summary_are_whole() -> None:
    ends = {RunId(f"w.{n}"): RunEnd(RunId(f"w.{n}"), WORKER.agent, "limit:fleet_tokens") for n in range(9)}
    shown = "\n".join(lines(agents_table(ROWS, Tally(ends=ends)), 80))
    assert " worker-3 " in shown
    assert " 8,210 / 10,000 " in shown
    assert shown.count("limit:fleet_tokens") == 9
