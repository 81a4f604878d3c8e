"""The gateway's routes, over HTTP, before a fleet in this process."""

import asyncio
import json

import httpx
import pytest

from amrita_fleet import Agent, Dashboard, Fleet, FleetClosed, Limits, SystemUnavailable, Tool, tool
from amrita_fleet.protocols.providers.script import call, say
from amrita_fleet.protocols.providers.scripted import scripted
from amrita_fleet.runtime.cli.table import row_shown
from amrita_fleet.runtime.gateway.serving import check_address

from .house import house

pytestmark = pytest.mark.anyio


def delete_tool() -> Tool:
    @tool(approval=True)
    async def delete(path: str) -> str:
        """Delete a file."""
        return f"deleted {path}"

    return delete


async def test_rows_are_those_that_ps_gives_as_json() -> None:
    async with house() as at:
        rows = json.loads(json.dumps([row_shown(row) for row in await at.fleet.statuses()]))
        assert await at.get("/api/agents") == {"fleet": "house", "agents": rows}
        assert await at.get("/api/agents/bob") == rows[1]


async def test_the_fleet_in_short_counts_its_agents_and_what_they_spent() -> None:
    async with house(limit=Limits(tokens=100_000)) as at:
        await (await at.fleet.start("ana", "How is it?")).outcome()
        await at.shown("fleet", lambda short: short["spent"]["tokens"] > 0)  # before, what is shown may be moments old
        short = await at.get("/api/fleet")
        (whole, *_) = await at.fleet.accounts()
        assert short["phases"] == {"idle": 2}
        assert short["spent"]["tokens"] == whole.spent.tokens
        assert short["limit"]["tokens"] == 100_000
        accounts = (await at.get("/api/accounts"))["accounts"]
        assert [(each["name"], each["level"]) for each in accounts] == [
            ("house", "fleet"),
            ("ana", "agent"),
            ("bob", "agent"),
        ]


async def test_notices_come_in_pages() -> None:
    async with house() as at:
        await (await at.fleet.start("ana", "How is it?")).outcome()
        await at.until("run.finished")
        told, after = list[int](), 0
        while (page := await at.get("/api/notices", after=after, limit=3))["notices"]:
            told += [each["number"] for each in page["notices"]]
            after = page["after"]
        assert told == list(range(1, page["last"] + 1))
        assert page["gap"] is None


async def test_a_message_is_sent_and_its_receipt_says_when_it_is_read() -> None:
    async with house() as at:
        receipt = await at.post("/api/agents/ana/messages", {"body": "<script>alert(1)</script>"})
        assert (receipt["recipient"], receipt["state"]) == ("ana", "accepted")
        await at.until("run.finished")
        later = await at.get(f"/api/receipts/ana/{receipt['id']}")
        assert (later["state"], later["step"]) == ("consumed", 1)


async def test_a_script_in_a_message_stays_text() -> None:
    script = "<script>alert(1)</script>"
    async with house(say(script)) as at:
        await at.post("/api/agents/ana/messages", {"body": script})
        await at.until("run.finished")
        found = await at.client.get("/api/notices")
        assert found.headers["content-type"] == "application/json"
        assert found.headers["x-content-type-options"] == "nosniff"
        assert any(script in json.dumps(each) for each in found.json()["notices"])


async def test_an_agent_that_is_paused_stands_until_it_is_resumed() -> None:
    async with house() as at:
        assert await at.post("/api/agents/ana/pause", {"reason": "lunch"}) == {"agent": "ana", "paused": True}
        run = await at.fleet.start("ana", "How is it?")
        await at.shown(
            "rows", lambda rows: ("ana", "paused") in {(row["agent"], row["phase"]) for row in rows["agents"]}
        )
        assert await at.post("/api/agents/ana/resume") == {"agent": "ana", "paused": False}
        assert (await run.outcome()).text == "Good."


async def test_a_limit_that_is_raised_lets_go_on_who_was_paused_by_it() -> None:
    async with house(limit=Limits(model_calls=2, on_exhaustion="pause")) as at:
        await (await at.fleet.start("ana", "One.")).outcome()
        run = await at.fleet.start("ana", "Two.")
        await at.until("budget.paused")
        given = {"account": None, "limit": {"model_calls": 9}}
        assert (await at.post("/api/limits", given))["limit"]["model_calls"] == 9
        assert (await run.outcome()).answered
        assert (await at.get("/api/fleet"))["limit"]["model_calls"] == 9


async def test_one_account_is_limited_and_its_limit_taken_away() -> None:
    async with house() as at:
        await at.post("/api/limits", {"account": "bob", "limit": {"tokens": 5000, "dollars": None}})
        assert (await at.get("/api/agents/bob"))["limit"] == 5000
        await at.post("/api/limits", {"account": "bob", "limit": None})
        assert (await at.get("/api/agents/bob"))["limit"] is None


@pytest.mark.parametrize("allowed", [True, False])
async def test_a_call_that_waits_for_a_person_is_answered(allowed: bool) -> None:
    agent = Agent(preset=scripted(call("delete", path="a.txt"), say("Done.")), tools=(delete_tool(),))
    async with house(agent=agent) as at:
        run = await at.fleet.start("ana", "Delete it.")
        await at.until("tool.approval")
        (pending,) = (await at.get("/api/approvals"))["approvals"]
        assert json.loads(pending["arguments"]) == {"path": "a.txt"}
        answer = {"allow": allowed, "reason": "" if allowed else "not that one"}
        await at.post(f"/api/approvals/{pending['id']}", answer)
        await at.until("tool.approved" if allowed else "tool.refused")
        assert (await run.outcome()).answered
        again = await at.client.post(f"/api/approvals/{pending['id']}", json=answer)
        assert again.status_code == httpx.codes.NOT_FOUND


async def test_an_agents_process_is_ended() -> None:
    async with house() as at:
        assert await at.post("/api/agents/bob/kill") == {"agent": "bob", "killed": True}
        assert (await at.get("/api/agents/bob"))["phase"] == "dead"
        assert (await at.client.post("/api/agents/bobb/kill")).status_code == httpx.codes.NOT_FOUND


async def test_agents_are_stopped_one_by_one_and_all_together() -> None:
    async with house() as at:
        assert await at.post("/api/agents/bob/stop") == {"stopped": ["bob"], "silent": []}
        assert (await at.get("/api/agents/bob"))["phase"] == "stopped"
        refused = await at.post("/api/agents/bob/messages", {"body": "Hello?"})
        assert (refused["state"], refused["refusal"]) == ("refused", "stopped")
        wrong = await at.client.post("/api/fleet/stop", json={"fleet": "another"})
        assert wrong.status_code == httpx.codes.UNPROCESSABLE_ENTITY
        assert (await at.get("/api/agents/ana"))["phase"] == "idle"
        assert (await at.post("/api/fleet/stop", {"fleet": "house"}))["silent"] == []
        assert (await at.get("/api/fleet"))["phases"] == {"stopped": 2}


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "says"),
    [
        ("GET", "/api/agents/anna", None, 404, "Did you mean ana?"),
        ("POST", "/api/agents/anna/pause", {}, 404, "Did you mean ana?"),
        ("POST", "/api/agents/nobody/messages", {"body": "?"}, 404, "no agent named 'nobody'"),
        ("GET", "/api/receipts/ana/none", None, 404, "no message 'none'"),
        ("POST", "/api/approvals/ana.1.1.1", {"allow": True}, 404, "No approval"),
        ("GET", "/api/nothing", None, 404, "nothing at '/api/nothing'"),
        ("GET", "/api/agents/../../etc/passwd", None, 404, "nothing at"),
        ("GET", "/api/agents/..%2f..%2fetc%2fpasswd", None, 404, "nothing at"),
        ("DELETE", "/api/agents", None, 405, "takes no DELETE"),
        ("POST", "/api/agents/ana/messages", {}, 422, "body.body"),
        ("POST", "/api/agents/ana/messages", {"body": 7}, 422, "body.body"),
        ("POST", "/api/agents/ana/messages", {"body": "?", "from": "bob"}, 422, "body.from"),
        ("POST", "/api/agents/ana/pause", {"why": "?"}, 422, "body.why"),
        ("POST", "/api/limits", {"limit": {"tokns": 5}}, 422, "did you mean 'tokens'"),
        ("POST", "/api/limits", {"limit": {"tokens": 0}}, 422, "at least 1"),
        ("POST", "/api/limits", {"account": "nobody", "limit": {"tokens": 5}}, 404, "nobody"),
        ("POST", "/api/limits", {"account": "", "limit": None}, 422, "leave the account out"),
        ("GET", "/api/notices?after=x", None, 422, "query.after"),
        ("GET", "/api/notices?limit=0", None, 422, "query.limit"),
    ],
)
async def test_what_cannot_be_done_is_said_in_one_shape(
    method: str, path: str, body: object, status: int, says: str
) -> None:
    async with house() as at:
        found = await at.client.request(method, path, json=body)
        assert (found.status_code, found.json().keys()) == (status, {"error", "help"})
        assert says in found.json()["error"]
        assert found.json()["help"].startswith("docs/")
        assert "Traceback" not in found.text


async def test_a_body_that_is_no_json_is_said_to_be_none() -> None:
    async with house() as at:
        for content in (b"{", b"\xff\xfe", b'"\\ud800"'):
            headers = {"Content-Type": "application/json"}
            found = await at.client.post("/api/agents/ana/messages", content=content, headers=headers)
            assert found.status_code == httpx.codes.UNPROCESSABLE_ENTITY
            assert found.json().keys() == {"error", "help"}


async def test_half_a_character_is_refused_and_breaks_nothing() -> None:
    async with house() as at:
        headers = {"Content-Type": "application/json"}
        found = await at.client.post("/api/agents/ana/messages", content=b'{"body": "half \\ud83d"}', headers=headers)
        assert found.status_code == httpx.codes.UNPROCESSABLE_ENTITY
        assert await at.get("/api/agents")


async def test_the_document_of_the_api_names_every_route_and_the_token() -> None:
    async with house() as at:
        document = await at.get("/api/openapi.json")
        assert len(document["paths"]) == 18
        assert document["security"] == [{"token": []}]
        assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"


async def test_it_is_served_once_and_ends_with_the_fleet() -> None:
    fleet = Fleet("house", system="local")
    with pytest.raises(FleetClosed):
        await fleet.serve_dashboard()
    async with fleet:
        first = await fleet.serve_dashboard()
        assert await fleet.serve_dashboard() == first
        over = asyncio.create_task(fleet.dashboard_over())
    assert await over == "the gateway is closed"
    async with httpx.AsyncClient(base_url=first.url) as client:
        with pytest.raises(httpx.ConnectError):
            await client.get("/")


def test_the_token_is_not_shown_by_accident() -> None:
    assert "sesame" not in repr(Dashboard("http://127.0.0.1:1", "sesame"))


@pytest.mark.parametrize(
    ("host", "port"), [("", 0), ("a\nb", 0), (7, 0), ("127.0.0.1", -1), ("127.0.0.1", 65_536), ("x", "8")]
)
def test_an_address_that_is_none_is_refused(host: object, port: object) -> None:
    with pytest.raises(TypeError):
        check_address(host, port)


async def test_a_port_that_is_taken_is_named() -> None:
    async with house() as at:
        port = at.client.base_url.port or 0
        async with Fleet("second", system="local") as second:
            with pytest.raises(SystemUnavailable, match=f"port {port} of 127.0.0.1 is taken"):
                await second.serve_dashboard(port=port)
