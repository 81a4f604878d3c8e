"""The shape of a chat-completions request: every field known, of the right type and in range.

Pure: a body goes in, a `Request` or a `Refused` comes out.

Source: OpenAI API reference, "Create chat completion"; DeepSeek API guide, "Thinking Mode".
"""

import json
import re
from typing import cast

from ...protocols.messages import Json
from .conversation import Call, Conversation, Request, Said
from .errors import Refused
from .openai_words import OPENAI
from .rules import check_pairs, check_reasoning, is_thinking
from .shape import Node

__all__ = ("read_request",)

BODY_FIELDS = frozenset(
    {
        "frequency_penalty",
        "logit_bias",
        "logprobs",
        "max_completion_tokens",
        "max_tokens",
        "messages",
        "metadata",
        "model",
        "n",
        "parallel_tool_calls",
        "presence_penalty",
        "reasoning_effort",
        "response_format",
        "seed",
        "service_tier",
        "stop",
        "store",
        "stream",
        "stream_options",
        "temperature",
        "thinking",
        "tool_choice",
        "tools",
        "top_logprobs",
        "top_p",
        "user",
    }
)
SPOKEN = frozenset({"role", "content", "name"})
MESSAGE_FIELDS = {
    "system": SPOKEN,
    "developer": SPOKEN,
    "user": SPOKEN,
    "assistant": SPOKEN | {"refusal", "tool_calls", "reasoning_content"},
    "tool": SPOKEN | {"tool_call_id"},
}
ROLES = tuple(MESSAGE_FIELDS)
CALL_FIELDS = frozenset({"id", "type", "function"})
FUNCTION_FIELDS = frozenset({"name", "arguments"})
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
LONGEST_ID = 40


def read_request(body: object) -> Request:
    """Read a body as a strict provider does.

    Raises:
        Refused: It breaks a rule; the first one found.
    """
    root = Node(body, OPENAI)
    model = root.field("model").text()
    thinking = is_thinking(model) and not thinking_disabled(root)
    root.only(BODY_FIELDS)
    check_sampling(root)
    messages = [read_message(node) for node in root.field("messages").items()]
    check_pairs(messages)
    tools = read_tools(root)
    if thinking:
        check_reasoning(messages)
        check_unforced(root)
    stream, include_usage = read_stream(root)
    return Request(
        conversation=Conversation(model, tuple(messages), tools),
        thinking=thinking,
        stream=stream,
        include_usage=include_usage,
        cap=read_cap(root),
    )


def thinking_disabled(root: Node) -> bool:
    """Whether the request turns thinking off."""
    thinking = root.get("thinking")
    return thinking is not None and thinking.field("type").choice(("enabled", "disabled")) == "disabled"


def check_unforced(root: Node) -> None:
    """In thinking mode no call is forced. Kimi refuses that, and DeepSeek does."""
    choice = root.get("tool_choice")
    if choice is not None and choice.value not in ("auto", "none"):
        forced = "required" if choice.value == "required" else "specified"
        message = f"tool_choice '{forced}' is incompatible with thinking enabled"
        raise Refused(message=message, param="tool_choice")


def check_sampling(root: Node) -> None:
    """The numbers that steer sampling are in range, and one choice is asked for."""
    if (temperature := root.get("temperature")) is not None:
        temperature.number(0, 2)
    if (top_p := root.get("top_p")) is not None:
        top_p.number(0, 1)
    if (choices := root.get("n")) is not None and choices.whole(1) > 1:
        raise OPENAI.invalid(choices.path, "only one choice can be asked for", "Expected 1.", code="unsupported_value")


def read_cap(root: Node) -> int | None:
    """The most output tokens; it has an older and a newer name."""
    older, newer = root.get("max_tokens"), root.get("max_completion_tokens")
    if older is not None and newer is not None:
        message = "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
        raise Refused(message=message, param="max_tokens", code="invalid_parameter_combination")
    cap = older if newer is None else newer
    return None if cap is None else cap.whole(1)


def read_stream(root: Node) -> tuple[bool, bool]:
    """Whether to stream, and whether to stream the usage."""
    wanted, options = root.get("stream"), root.get("stream_options")
    stream = wanted is not None and wanted.flag()
    if options is None:
        return stream, False
    if not stream:
        message = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
        raise Refused(message=message, param="stream_options")
    include_usage = options.get("include_usage")
    return stream, include_usage is not None and include_usage.flag()


def read_tools(root: Node) -> tuple[str, ...]:
    """Names of the tools that may be called; none when `tool_choice` forbids calls."""
    tools, choice = root.get("tools"), root.get("tool_choice")
    names = tuple(read_tool(node) for node in tools.items()) if tools is not None else ()
    if not names:
        for name in ("tool_choice", "parallel_tool_calls"):
            if root.get(name) is not None:
                message = f"Invalid value for '{name}': '{name}' is only allowed when 'tools' are specified."
                raise Refused(message=message, param=name)
    if choice is None:
        return names
    if type(choice.value) is str:
        return () if choice.choice(("none", "auto", "required")) == "none" else names
    forced = choice.field("function").field("name").text()
    if forced not in names:
        raise Refused(message="Tool choice 'function' not found in 'tools' parameter.", param="tool_choice")
    return (forced,)


def read_tool(node: Node) -> str:
    """The name of a tool whose declaration is sound."""
    node.only({"type", "function"})
    node.field("type").choice(("function",))
    function = node.field("function")
    function.only({"name", "description", "parameters", "strict"})
    name = function.field("name")
    if not TOOL_NAME.fullmatch(name.text()):
        expected = f"Expected a string that matches the pattern '^{TOOL_NAME.pattern}$'."
        raise OPENAI.invalid(name.path, "string does not match pattern", expected)
    check_parameters(name.text(), function)
    return name.text()


def check_parameters(tool: str, function: Node) -> None:
    """The parameters of a tool, where it has any, are an object."""
    parameters = function.get("parameters")
    if parameters is None:
        return
    kind = parameters.get("type")
    if kind is None or kind.value != "object":
        message = f"Invalid schema for function '{tool}': schema must be a JSON Schema of 'type: \"object\"'."
        raise Refused(message=message, param=parameters.path, code="invalid_function_parameters")


def read_message(node: Node) -> Said:
    """One message, its fields and their types checked."""
    role = node.field("role").choice(ROLES)
    node.only(MESSAGE_FIELDS[role])
    calls = node.get("tool_calls") if role == "assistant" else None
    reasoning = node.get("reasoning_content") if role == "assistant" else None
    return Said(
        role="system" if role == "developer" else role,
        content=read_content(node, optional=calls is not None),
        calls=read_calls(calls) if calls is not None else (),
        call_id=node.field("tool_call_id").text() if role == "tool" else "",
        reasoning=None if reasoning is None else reasoning.text(),
    )


def read_content(node: Node, *, optional: bool) -> str:
    """The text of a message: a string, or text parts."""
    content = node.get("content")
    if content is None:
        if optional:
            return ""
        path = f"{node.path}.content"
        raise Refused(message="Invalid value for 'content': expected a string, got null.", param=path)
    if type(content.value) is list:
        return "".join(read_part(part) for part in content.items())
    return content.text()


def read_part(node: Node) -> str:
    """The text of a part; the simulated models read nothing else. Gateways to Anthropic refuse one without text."""
    kind = node.field("type").text()
    if kind != "text":
        message = f"Invalid content type. {kind} is only supported by certain models."
        raise Refused(message=message, param=f"{node.path}.type")
    text = node.field("text")
    if not text.text():
        raise empty_string(text)
    return text.text()


def read_calls(node: Node) -> tuple[Call, ...]:
    """The calls of one assistant message; their ids differ from each other."""
    calls = tuple(read_call(item) for item in node.items())
    ids = [call.id for call in calls]
    for place, identifier in enumerate(ids):
        if identifier in ids[:place]:
            path = f"{node.path}[{place}].id"
            raise Refused(message=f"Invalid parameter: Duplicate value for 'id' of '{identifier}'.", param=path)
    return calls


def read_call(node: Node) -> Call:
    """A call with an id, a name, and arguments that are the text of a JSON object."""
    node.only(CALL_FIELDS)
    identifier = read_id(node.field("id"))
    node.field("type").choice(("function",))
    function = node.field("function")
    function.only(FUNCTION_FIELDS)
    arguments = read_arguments(function.field("arguments"))
    return Call(function.field("name").text(), arguments, identifier)


def read_id(node: Node) -> str:
    """The id of a call: neither empty nor too long."""
    identifier = node.text()
    if not identifier:
        raise empty_string(node)
    if len(identifier) > LONGEST_ID:
        expected = (
            f"Expected a string with maximum length {LONGEST_ID}, "
            f"but got a string with length {len(identifier)} instead."
        )
        raise OPENAI.invalid(node.path, "string too long", expected, code="string_above_max_length")
    return identifier


def empty_string(node: Node) -> Refused:
    """The refusal of a text that has to hold something."""
    return OPENAI.invalid(node.path, "empty string", "Expected a string with minimum length 1.", code="empty_string")


def read_arguments(node: Node) -> dict[str, Json]:
    """The arguments of a call. Many servers parse them, and refuse what is no JSON object, an empty string too."""
    try:
        arguments: object = json.loads(node.text())
    except ValueError:
        arguments = None
    if type(arguments) is not dict:
        raise OPENAI.invalid(node.path, "not valid JSON", "Expected the text of a JSON object.")
    return cast("dict[str, Json]", arguments)
