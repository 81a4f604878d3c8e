"""How MCP servers are described, and what no description may be."""

import pickle
from collections.abc import Callable

import pytest

from amrita_fleet import McpHttp, McpStdio, PresetInvalid, Secret, create_agent

pytestmark = pytest.mark.slow


def test_values_may_be_texts_secrets_or_names_of_variables() -> None:
    server = McpStdio("git", "uvx", ["mcp-server-git"], env={"A": "plain", "B": Secret("key"), "C": "env:TOKEN"})
    assert server.args == ("mcp-server-git",)
    assert server.env == {"A": "plain", "B": Secret("key"), "C": Secret.from_env("TOKEN")}


def test_no_value_is_shown() -> None:
    shown = repr(McpStdio("a", "x", env={"A": "sesame"})) + repr(McpHttp("b", "https://x.org", headers={"A": "sesame"}))
    assert "sesame" not in shown


def test_equal_descriptions_are_one_key_also_in_another_process() -> None:
    one, other = (McpStdio("a", "x", env={"K": Secret("s")}) for _ in range(2))
    assert {one: 1}[other] == {pickle.loads(pickle.dumps(one)): 1}[other] == 1
    assert one != McpStdio("a", "x", env={"K": Secret("t")})


def test_one_can_be_read_from_plain_data() -> None:
    read = McpHttp.parse({"name": "a", "url": "https://x.org/mcp", "headers": {"K": "env:T"}, "tools": ["t"]})
    assert read == McpHttp("a", "https://x.org/mcp", headers={"K": Secret.from_env("T")}, tools=("t",))


GOOD: dict[Callable[..., object], dict[str, object]] = {
    McpStdio: {"name": "a", "command": "x"},
    McpHttp: {"name": "a", "url": "https://x.org/mcp"},
}


@pytest.mark.parametrize(
    ("cls", "given", "field"),
    [
        (McpStdio, {"name": "a.b"}, "name"),
        (McpStdio, {"name": "x" * 33}, "name"),
        (McpStdio, {"name": 5}, "name"),
        (McpStdio, {"command": " "}, "command"),
        (McpStdio, {"command": ["npx"]}, "command"),
        (McpStdio, {"args": "one text"}, "args"),
        (McpStdio, {"args": (5,)}, "args"),
        (McpStdio, {"cwd": ""}, "cwd"),
        (McpStdio, {"env": "A=1"}, "env"),
        (McpStdio, {"env": {"A": 1}}, "env"),
        (McpStdio, {"tools": "read"}, "tools"),
        (McpStdio, {"timeout": 0}, "timeout"),
        (McpStdio, {"timeout": True}, "timeout"),
        (McpStdio, {"approval": "yes"}, "approval"),
        (McpStdio, {"arguments": ()}, "arguments"),
        (McpHttp, {"url": "localhost:8000/mcp"}, "url"),
        (McpHttp, {"url": "ftp://x.org"}, "url"),
        (McpHttp, {"url": "http://[::1"}, "url"),
        (McpHttp, {"url": "https://me:sesame@x.org/mcp"}, "url"),
        (McpHttp, {"headers": {"A": None}}, "headers"),
    ],
)
def test_what_cannot_work_is_refused_by_the_fields_name(
    cls: Callable[..., object], given: dict[str, object], field: str
) -> None:
    with pytest.raises(PresetInvalid, match=field) as refused:
        cls(**(GOOD[cls] | given))
    assert refused.value.field == field
    assert "sesame" not in str(refused.value)


@pytest.mark.parametrize(
    ("servers", "reason"),
    [
        (McpStdio("a", "x"), "servers must be a list, not McpStdio"),
        (["npx"], r"servers\[0\] must be a McpStdio or McpHttp, not 'npx'"),
        ([McpStdio("a", "x"), McpHttp("a", "https://x.org")], r"servers\[1\] must have a name of its own: 'a'"),
    ],
)
def test_an_agent_refuses_what_are_no_servers_of_their_own_names(servers: object, reason: str) -> None:
    with pytest.raises(PresetInvalid, match=reason):
        create_agent(base_url="http://x/v1", model="m", servers=servers)  # type: ignore[call-overload]
