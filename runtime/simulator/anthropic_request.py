"""The shape of a Messages request: every field known, of the right type and in range.

Pure: a body goes in, a `Request` or a `Refused` comes out.

Source: Anthropic API reference, "Create a Message"; guides "Extended thinking", "Prompt caching".
"""

import re
from collections.abc import Iterator, Sequence

from .anthropic_rules import check_order, check_pairs, check_thinking
from .anthropic_turn import Thinking, Turn, read_text, read_turn
from .anthropic_words import ANTHROPIC
from .conversation import Conversation, Request, Said
from .errors import Refused
from .rules import is_thinking
from .shape import Node

__all__ = ("read_request",)

BODY_FIELDS = frozenset(
    {
        "cache_control",
        "max_tokens",
        "messages",
        "metadata",
        "model",
        "output_config",
        "service_tier",
        "stop_sequences",
        "stream",
        "system",
        "temperature",
        "thinking",
        "tool_choice",
        "tools",
        "top_k",
        "top_p",
    }
)
TOOL_FIELDS = frozenset({"type", "name", "description", "input_schema", "strict", "cache_control", "input_examples"})
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
SMALLEST_BUDGET = 1024
MOST_CACHE_MARKS = 4
MARKED = ("tools", "system", "messages", "content")
TOOLS_MISSING = "Requests which include `tool_use` or `tool_result` blocks must define tools."
BUDGET_TOO_LARGE = "`max_tokens` must be greater than `thinking.budget_tokens`."
FORCED = "Thinking may not be enabled when tool_choice forces tool use."
TOO_HOT = "`temperature` may only be set to 1 when thinking is enabled."


def read_request(body: object) -> Request:
    """Read a body as a strict provider does.

    Raises:
        Refused: It breaks a rule; the first one found.
    """
    root = Node(body, ANTHROPIC)
    model = root.field("model").text()
    cap = root.field("max_tokens").whole(1)
    root.only(BODY_FIELDS)
    system = read_system(root)
    turns = [read_turn(node) for node in root.field("messages").items()]
    thinking = read_thinking(root, model, cap)
    tools = read_tools(root, turns, thinking=thinking)
    check_sampling(root, thinking=thinking)
    check_cache_marks(body)
    check_pairs(turns)
    check_order(turns)
    check_thinking(turns, thinking=thinking)
    stream = root.get("stream")
    return Request(
        conversation=Conversation(model, (*system, *(said for turn in turns for said in told(turn))), tools),
        thinking=thinking,
        stream=stream is not None and stream.flag(),
        include_usage=True,
        cap=cap,
    )


def told(turn: Turn) -> Iterator[Said]:
    """A message as the model reads it: the results it brings, then the rest."""
    yield from (Said("tool", result.output, call_id=result.call_id) for result in turn.results)
    if turn.role == "assistant":
        thoughts = [block.text for block in turn.blocks if isinstance(block, Thinking)]
        yield Said("assistant", turn.text, turn.calls, reasoning="".join(thoughts) if thoughts else None)
    elif turn.text:
        yield Said("user", turn.text)


def read_system(root: Node) -> tuple[Said, ...]:
    """The instructions: a text, or text blocks."""
    system = root.get("system")
    if system is None:
        return ()
    if type(system.value) is list:
        blocks = [read_text(node.tagged(node.field("type").choice(("text",)))) for node in system.items(low=0)]
        return (Said("system", "".join(block.text for block in blocks)),) if blocks else ()
    if not system.text():
        raise ANTHROPIC.invalid("system", "text content blocks must be non-empty")
    return (Said("system", system.text()),)


def read_thinking(root: Node, model: str, cap: int) -> bool:
    """Whether the model thinks: a thinking model unless the request forbids it, another one when it is asked to."""
    thinking = root.get("thinking")
    if thinking is None:
        return is_thinking(model)
    thinking.only({"type", "budget_tokens", "display"})
    kind = thinking.field("type").choice(("enabled", "disabled", "adaptive"))
    if kind == "enabled":
        budget = thinking.tagged("enabled").field("budget_tokens").whole(SMALLEST_BUDGET)
        if budget >= cap:
            raise Refused(message=BUDGET_TOO_LARGE, param="max_tokens")
    return kind != "disabled"


def check_sampling(root: Node, *, thinking: bool) -> None:
    """The numbers that steer sampling are in range; thinking leaves the temperature no choice."""
    if (temperature := root.get("temperature")) is not None and temperature.number(0, 1) != 1 and thinking:
        raise Refused(message=TOO_HOT, param="temperature")
    if (top_p := root.get("top_p")) is not None:
        top_p.number(0, 1)
    if (top_k := root.get("top_k")) is not None:
        top_k.whole(0)
    if (stops := root.get("stop_sequences")) is not None:
        for stop in stops.items(low=0):
            stop.text()


def read_tools(root: Node, turns: Sequence[Turn], *, thinking: bool) -> tuple[str, ...]:
    """Names of the tools that may be called; none when `tool_choice` forbids calls."""
    tools, choice = root.get("tools"), root.get("tool_choice")
    names = tuple(read_tool(node) for node in tools.items(low=0)) if tools is not None else ()
    if len(set(names)) < len(names):
        raise ANTHROPIC.invalid("tools", "Tool names must be unique.")
    if not names and any(turn.calls or turn.results for turn in turns):
        raise Refused(message=TOOLS_MISSING, param="tools")
    if choice is None:
        return names
    choice.only({"type", "name", "disable_parallel_tool_use"})
    kind = choice.field("type").choice(("auto", "any", "tool", "none"))
    if not names:
        raise ANTHROPIC.invalid("tool_choice", "may only be specified while providing `tools`.")
    if thinking and kind in {"any", "tool"}:
        raise Refused(message=FORCED, param="tool_choice")
    return offered(choice, kind, names)


def offered(choice: Node, kind: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """What a choice of this kind leaves of the tools."""
    if kind != "tool":
        return () if kind == "none" else names
    forced = choice.tagged("tool").field("name").text()
    if forced not in names:
        raise ANTHROPIC.invalid("tool_choice.tool.name", f"Tool '{forced}' not found in provided tools")
    return (forced,)


def read_tool(node: Node) -> str:
    """The name of a tool whose declaration is sound."""
    if (kind := node.get("type")) is not None:
        kind.choice(("custom",))
    custom = node.tagged("custom")
    custom.only(TOOL_FIELDS)
    name = custom.field("name")
    if not TOOL_NAME.fullmatch(name.text()):
        raise ANTHROPIC.invalid(name.path, f"String should match pattern '^{TOOL_NAME.pattern}$'")
    custom.field("input_schema").field("type").choice(("object",))
    return name.text()


def check_cache_marks(body: object) -> None:
    """At most four blocks carry a mark, and each mark is one that exists."""
    marks = list(cache_marks(Node(body, ANTHROPIC)))
    for mark in marks:
        mark.only({"type", "ttl"})
        mark.field("type").choice(("ephemeral",))
        if (ttl := mark.get("ttl")) is not None:
            ttl.choice(("5m", "1h"))
    if len(marks) > MOST_CACHE_MARKS:
        message = f"A maximum of {MOST_CACHE_MARKS} blocks with cache_control may be provided. Found {len(marks)}."
        raise Refused(message=message)


def cache_marks(node: Node) -> Iterator[Node]:
    """The marks of the body itself, the tools, the instructions and the messages' blocks."""
    fields = node.fields()
    if fields.get("cache_control") is not None:
        yield node.field("cache_control")
    for name in MARKED:
        if type(fields.get(name)) is list:
            for item in node.field(name).items(low=0):
                if type(item.value) is dict:
                    yield from cache_marks(item)
