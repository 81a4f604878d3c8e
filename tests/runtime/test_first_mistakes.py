"""What people get wrong the first time: each is refused with a sentence that says what to write instead."""

from typing import Any

import pytest

from amrita_fleet import (
    AccountUnknown,
    Agent,
    AgentUnknown,
    ArgumentInvalid,
    ChannelClosed,
    Course,
    Fleet,
    Limits,
    NameInvalid,
    PresetInvalid,
    RestartPolicy,
    Trouble,
    WatchPolicy,
)
from amrita_fleet.protocols.amounts import Amount
from amrita_fleet.protocols.ids import AgentId
from amrita_fleet.protocols.limits import Unit
from amrita_fleet.protocols.providers.scripted import repeat, say, scripted
from amrita_fleet.runtime.errors import PeerUnreachable
from amrita_fleet.runtime.journal.memory import MemoryJournal
from amrita_fleet.runtime.supervision.account import Account
from amrita_fleet.runtime.supervision.ledger import Short
from amrita_fleet.runtime.supervision.restart import Death
from amrita_fleet.runtime.supervision.wording import quarantine, shortage

pytestmark = pytest.mark.anyio

AGENT = Agent(preset=scripted(repeat(say("Done."))))


@pytest.mark.parametrize("journal", [5, b"j.sqlite", ["j.sqlite"], True], ids=repr)
def test_a_journal_is_a_path_a_url_or_an_object_that_is_one(journal: Any) -> None:  # noqa: ANN401
    with pytest.raises(ArgumentInvalid, match="'journal' cannot be used: it must be a path, a URL, or an object"):
        Fleet(system="local", journal=journal)
    assert Fleet(system="local", journal=MemoryJournal()).name.startswith("fleet-")


def test_what_no_team_can_be_called_speaks_of_teams() -> None:
    with pytest.raises(NameInvalid, match="No team can be named 'a b'") as caught:
        Fleet(system="local", teams={"a b": 5_000})
    assert caught.value.what == "team"


@pytest.mark.parametrize("limit", ["100", {"tokens": 100}, True, 1.5], ids=repr)
async def test_what_is_no_limit_is_told_all_that_can_be_limited(limit: Any) -> None:  # noqa: ANN401
    with pytest.raises(PresetInvalid) as caught:
        Fleet(system="local", limit=limit)
    assert all(f"{unit}=..." in str(caught.value) for unit in Unit)
    assert repr(limit) in str(caught.value)


async def test_a_limit_of_nobody_names_teams_and_agents_that_are_like_it() -> None:
    async with Fleet(system="local", teams={"research": 50_000}) as fleet:
        await fleet.spawn(AGENT, ["ana"])
        with pytest.raises(
            AccountUnknown, match=r"neither a team nor an agent named 'reserch'\. Did you mean research"
        ):
            await fleet.limit(60_000, of="reserch")
        with pytest.raises(AgentUnknown, match="Did you mean ana"):
            await fleet.grant_no_more(of="anna")


async def test_a_run_without_a_limit_of_its_own_is_told_why_it_cannot_have_another() -> None:
    async with Fleet(system="local") as fleet:
        (ana,) = await fleet.spawn(AGENT, ["ana"])
        run = await ana.start("Do it.")
        await run.outcome()
        with pytest.raises(AccountUnknown, match=r"has no limit of its own to change.* of='ana'") as caught:
            await fleet.limit(60_000, of=run)
        assert "Did you mean" not in str(caught.value)


async def test_a_limit_whose_arguments_are_the_wrong_way_round_is_told_the_right_call() -> None:
    wrong: Any = "ana"
    async with Fleet(system="local") as fleet:
        await fleet.spawn(AGENT, ["ana"])
        with pytest.raises(PresetInvalid, match=r"write limit\(5000, of='ana'\)"):
            await fleet.limit(wrong, 5_000)  # type: ignore[arg-type]
        await fleet.limit(5_000, "ana")
        assert [account.limit for account in await fleet.accounts()][1] == Limits(tokens=5_000)


async def test_a_new_limit_takes_the_whole_place_of_the_old_one() -> None:
    async with Fleet(system="local", limit=Limits(tokens=50_000, tool_calls=9, on_exhaustion="ask")) as fleet:
        await fleet.limit(Limits(tokens=60_000))
        assert (await fleet.accounts())[0].limit == Limits(tokens=60_000, tool_calls=None, on_exhaustion="wind_down")
        await fleet.limit(None)
        assert (await fleet.accounts())[0].limit is None


@pytest.mark.parametrize("trouble", list(Trouble))
def test_a_course_of_a_text_says_which_trouble_is_meant(trouble: Trouble) -> None:
    courses: Any = {trouble.value: Course(())}
    with pytest.raises(ArgumentInvalid, match=rf"write Trouble\.{trouble.name}, not"):
        WatchPolicy(courses=courses)


def test_a_course_of_something_else_lists_the_troubles() -> None:
    courses: Any = {"tools": Course(())}
    with pytest.raises(ArgumentInvalid, match=r"one of .*Trouble\.TOOL"):
        WatchPolicy(courses=courses)


@pytest.mark.parametrize("reason", ["enough", "enough."])
def test_an_error_ends_with_one_full_stop(reason: str) -> None:
    assert str(ChannelClosed(agent="ana", reason=reason)) == "The channel of 'ana' is closed: enough."
    assert str(PeerUnreachable(agent="ana", reason=reason)) == "'ana' cannot be reached now: enough."


def test_one_of_a_thing_is_said_as_one() -> None:
    account = Account(("f",), Limits(model_calls=3), settled=Amount(0, 0, 2))
    said = shortage(Short(account, Unit.MODEL_CALLS, Amount(0, 0, 1)))
    assert "2 are spent, 0 are held by calls in flight and 1 is kept for last answers" in said
    deaths = (Death(0.0, "killed"),)
    assert "within 1 second, and" in quarantine(AgentId("ana"), deaths, RestartPolicy(intensity=0, period=1.0))
