"""The tools of servers under the names that an agent gives them."""

import re
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amrita_fleet import McpHttp, Tool, ToolContext, ToolOutput, ToolServerFailed, tool
from amrita_fleet.protocols.ids import AgentId, Incarnation
from amrita_fleet.protocols.messages import Json
from amrita_fleet.protocols.providers.base import ToolSchema
from amrita_fleet.runtime.tools.executor import Executor
from amrita_fleet.runtime.tools.served import ServedCall, served_tools, tool_names
from amrita_fleet.runtime.tools.servers import Holder, McpServer

pytestmark = pytest.mark.slow

ANA = (AgentId("ana"), Incarnation(1))
FILES = McpHttp("files", "https://x.org/files", timeout=7, approval=True)
WEB = McpHttp("web", "https://x.org/web")
ANY: Mapping[str, Json] = {"type": "object", "properties": {}}


class Shelf:
    """The port, with servers that are lists of tools and that say what they were called with."""

    def __init__(self, offers: Mapping[str, tuple[str, ...]]) -> None:
        self.offers = offers

    async def acquire(self, holder: Holder, server: McpServer) -> tuple[ToolSchema, ...]:  # noqa: ARG002
        if server.name not in self.offers:
            raise ToolServerFailed(server=server.name, reason="it is not there")
        return tuple(ToolSchema(name, f"What {name} does.", ANY) for name in self.offers[server.name])

    async def call(self, holder: Holder, server: McpServer, tool: str, arguments: Mapping[str, Json]) -> ToolOutput:
        return ToolOutput(f"{holder[0]} {server.name} {tool} {dict(arguments)}")

    async def release(self, holder: Holder) -> None: ...


def test_a_name_that_is_free_is_kept_and_one_that_is_not_gets_its_servers() -> None:
    offers = [("files", "read"), ("files", "search"), ("web", "search"), ("web", "send_message")]
    assert tool_names(offers, {"send_message"}) == ("read", "files_search", "web_search", "web_send_message")


def test_names_that_providers_refuse_are_made_fit() -> None:
    short, long, empty = tool_names([("a", "files.read"), ("a", "x" * 70), ("a", "")], ())
    assert short == "files_read"
    assert re.fullmatch(r"x{55}_[0-9a-f]{8}", long)
    assert empty == "tool"


words = st.sampled_from(["a", "a.b", "a_b", "b_a", "a_a_b", "x" * 64, "x" * 65, "x" * 66, "ü", ""])


@given(st.lists(st.tuples(st.sampled_from(["a", "b", "a_a"]), words), unique=True), st.sets(words))
def test_names_are_always_fit_all_different_and_the_same_again(offers: list[tuple[str, str]], taken: set[str]) -> None:
    names = tool_names(offers, taken)
    assert len({*names} - taken) == len(offers)
    assert all(re.fullmatch("[A-Za-z0-9_-]{1,64}", name) for name in names)
    assert tool_names(offers, taken) == names


@pytest.mark.anyio
async def test_tools_are_called_through_the_port_with_what_the_model_gave(context: ToolContext) -> None:
    @tool
    def search() -> str:
        """Search elsewhere."""
        return ""

    shelf = Shelf({"files": ("read", "search"), "web": ("update_step",)})
    tools = await served_tools(shelf, ANA, (FILES, WEB), [search])
    assert [(one.name, one.timeout, one.approval) for one in tools] == [
        ("read", 7, True),
        ("files_search", 7, True),
        ("web_update_step", 60, False),
    ]
    # `self` is a fine name for an argument.
    said = await Executor().run(tools[1], '{"self": 1, "from": "b"}', context)
    assert said == ToolOutput("ana files search {'self': 1, 'from': 'b'}")
    assert tools[0].schema == ToolSchema("read", "What read does.", ANY)


@pytest.mark.anyio
async def test_arguments_are_checked_against_any_schema_that_a_server_may_have(context: ToolContext) -> None:
    schema: Json = {"any": True, "none": False, "list": {"type": "array", "items": True}, "two": {"type": ["null"]}}
    one = Tool(
        name="t", function=ServedCall(Shelf({}), ANA, WEB, "t"), parameters={"type": "object", "properties": schema}
    )
    said = await Executor().run(one, '{"any": [1], "list": [1, "a"], "two": 2, "more": {}}', context)
    assert not said.failed
    assert "'none'" in (await Executor().run(one, '{"none": 1}', context)).content


@pytest.mark.anyio
async def test_a_server_that_cannot_be_used_is_the_error() -> None:
    with pytest.raises(ToolServerFailed, match="'web' cannot be used: it is not there"):
        await served_tools(Shelf({"files": ("read",)}), ANA, (FILES, WEB), [])
