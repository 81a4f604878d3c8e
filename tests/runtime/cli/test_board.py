"""What `top` draws, and when it ends."""

import asyncio
import io
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from amrita_fleet import Agent, Fleet
from amrita_fleet.protocols.checkin import AgentStatus
from amrita_fleet.protocols.ids import AgentId, Incarnation
from amrita_fleet.protocols.limits import Limits
from amrita_fleet.protocols.notices import Notice, NoticeType
from amrita_fleet.protocols.providers.scripted import say, scripted
from amrita_fleet.runtime.cli.board import ALERTS, Board, Order
from amrita_fleet.runtime.cli.top import show
from amrita_fleet.runtime.supervision.account import Account

FLEET = Account(("t",), Limits(tokens=1_000))


def row(name: str, **fields: object) -> AgentStatus:
    return replace(AgentStatus(AgentId(name), Incarnation(1), "idle", 0.0), **fields)  # type: ignore[arg-type]


def lines(board: Board, rows: list[AgentStatus], height: int | None = None) -> list[str]:
    console = Console(file=io.StringIO(), width=120)
    console.print(board.drawn(rows, [FLEET], 120, height, now=90.0))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def test_the_heading_says_how_many_are_in_which_phase_and_what_is_spent() -> None:
    heading, *_ = lines(Board("t"), [row("ana"), row("bob"), row("eve", phase="thinking")])
    assert heading == "fleet t: 3 agents: 2 idle, 1 thinking; tokens 0 / 1,000"


def test_a_fleet_without_agents_is_said_to_have_none() -> None:
    assert lines(Board("t"), []) == ["fleet t: no agents; tokens 0 / 1,000"]


@pytest.mark.parametrize(
    ("order", "first"), [(Order.NAME, "ana"), (Order.PHASE, "bob"), (Order.TOKENS, "eve"), (Order.MAIL, "ida")]
)
def test_the_table_is_sorted_as_asked(order: Order, first: str) -> None:
    rows = [row("ida", waiting=9), row("bob", phase="acting"), row("eve", tokens=7), row("ana")]
    (found,) = [line for line in lines(Board("t", order), rows, height=7) if "│" in line and "agent" not in line][:1]
    assert first in found


def test_only_the_newest_troubles_are_shown_and_news_is_none() -> None:
    board = Board("t")
    for number in range(ALERTS + 2):
        board.add(Notice(NoticeType.WATCH, "found", AgentId("ana"), f"trouble {number}"))
    board.add(Notice(NoticeType.BUDGET, "limited", AgentId(""), "a new limit"))
    board.add(Notice(NoticeType.RUN, "started", AgentId("ana"), "a task"))
    below = "\n".join(lines(board, []))
    assert "trouble 1" not in below
    assert all(f"trouble {number}" in below for number in range(2, ALERTS + 2))
    assert "a new limit" not in below
    assert "a task" not in below


@given(st.integers(0, 60), st.integers(0, ALERTS), st.integers(14, 60))
def test_the_screen_never_has_more_lines_than_the_terminal(agents: int, alerts: int, height: int) -> None:
    board = Board("t")
    for number in range(alerts):
        board.add(Notice(NoticeType.STEP, "stall", AgentId("ana"), f"in circles {number} " * 30))
    drawn = lines(board, [row(f"agent-{number}") for number in range(agents)], height)
    assert len(drawn) <= height
    if f"of {agents}" not in "\n".join(drawn):
        assert sum("agent-" in line for line in drawn) == agents


@pytest.mark.anyio
async def test_it_draws_until_q_is_typed_and_sorts_by_key() -> None:
    console, board, typed = (
        Console(file=io.StringIO(), width=120, force_terminal=True),
        Board("t"),
        asyncio.Queue[str](),
    )
    async with Fleet("t", system="local") as fleet, asyncio.timeout(10):
        await fleet.spawn(Agent(preset=scripted(say("hi"))), ["ana", "bob"])
        for key in ("t", "x", "q"):
            typed.put_nowait(key)
        await show(fleet, board, console, typed)
    assert isinstance(console.file, io.StringIO)
    assert "2 agents" in console.file.getvalue()
    assert board.order is Order.TOKENS
