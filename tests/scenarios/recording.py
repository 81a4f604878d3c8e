"""A scripted model that also writes down what it is shown, so that any process can read it afterwards.

What a model was shown is judged from its requests, in the test's own process: the script cannot do that, because an
agent that is told of a wrong request by a failing model may well recover from it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from amrita_fleet.protocols.messages import Reply, Turn
from amrita_fleet.protocols.presets import ModelPreset
from amrita_fleet.protocols.providers.base import Draft, Provider, ToolSchema, Watcher
from amrita_fleet.protocols.providers.openai_chat import OpenAIChat

__all__ = ("Shown", "recorded", "shown")

PROTOCOL = "recorded"


@cache
def define() -> type[OpenAIChat]:
    """The adapter of the protocol, defined inside a function, so that it goes to other processes by value."""

    class Recording:
        """Makes the moves of a script, and adds each request to a file first."""

        def __init__(self, preset: ModelPreset) -> None:
            from amrita_fleet.protocols.providers.scripted import ScriptedProvider

            body = dict(preset.extra_body)
            self._path = str(body.pop("record"))
            self._provider = ScriptedProvider(replace(preset, extra_body=body))

        def draft(self, turns: tuple[Turn, ...], tools: tuple[ToolSchema, ...], before: Draft | None) -> Draft:
            return self._provider.draft(turns, tools, before)

        async def call(self, draft: Draft, output: int, watch: Watcher | None = None) -> Reply:
            self.record(draft.body(output))
            return await self._provider.call(draft, output, watch)

        def record(self, body: bytes) -> None:
            with open(self._path, "ab") as file:  # noqa: PTH123  fewer names to carry along
                file.write(body + b"\n")

        async def aclose(self) -> None:
            await self._provider.aclose()

    class Recorded(OpenAIChat):
        """Requests as for chat completions, answers from the script."""

        @staticmethod
        def get_adapter_protocol() -> tuple[str, ...]:
            return ("recorded",)

        @classmethod
        def direct(cls, preset: ModelPreset) -> Provider:
            return Recording(preset)

    return Recorded


def recorded(moves: list[dict[str, Any]], path: Path) -> ModelPreset:
    """A preset whose model makes these moves and adds what it is shown to the file.

    It has an address, and so limits, of its own: a scenario whose provider is busy holds up no other one.
    """
    define()
    body = {"script": moves, "record": str(path)}
    return ModelPreset(model="scripted", base_url=f"{PROTOCOL}://{path.stem}", protocol=PROTOCOL, extra_body=body)


@dataclass(frozen=True)
class Shown:
    """One request, as the body that was sent."""

    body: Mapping[str, Any]

    @property
    def messages(self) -> list[dict[str, Any]]:
        """Its messages."""
        return list(self.body["messages"])

    @property
    def tools(self) -> tuple[str, ...]:
        """Names of its tools."""
        return tuple(each["function"]["name"] for each in self.body.get("tools", ()))

    def __str__(self) -> str:
        """As a person reads it: `role: content`, and `call name arguments` for each call."""
        return "\n".join(line for message in self.messages for line in lines(message))


def lines(message: Mapping[str, Any]) -> list[str]:
    """One message, as a person reads it."""
    calls = [
        f"call {each['function']['name']} {each['function']['arguments']}" for each in message.get("tool_calls", ())
    ]
    content = message.get("content") or ""
    return [*([f"{message['role']}: {content}"] if content or not calls else []), *calls]


def shown(path: Path) -> tuple[Shown, ...]:
    """The requests of a file, oldest first; none if there is no file."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return tuple(Shown(json.loads(line)) for line in text.splitlines())
