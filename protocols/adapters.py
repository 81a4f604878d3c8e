"""Which adapter speaks which protocol: the table that presets are checked against.

The adapters that ship are named by import path, so that knowing their names loads none of them.
"""

from difflib import get_close_matches
from importlib import import_module
from typing import Any

from .errors import UndefinedAdapter

__all__ = ("adapter_class", "added_adapter", "check_protocol", "register")

SHIPPED = {
    "anthropic": "anthropic:Anthropic",
    "claude": "anthropic:Anthropic",
    "openai": "openai_chat:OpenAIChat",
    "__main__": "openai_chat:OpenAIChat",
    "scripted": "scripted:Scripted",
}

_registered: dict[str, type[Any]] = {}


def register(adapter: type[Any], names: tuple[str, ...]) -> None:
    """Make `adapter` the one that speaks the protocols `names`; the last registration wins."""
    for name in names:
        _registered[name] = adapter


def check_protocol(name: str) -> None:
    """Refuse a protocol nobody speaks.

    Raises:
        UndefinedAdapter: It is a `ValueError`, says `Undefined protocol adapter: <name>` and names the nearest one.
    """
    known = {*SHIPPED, *_registered}
    if name not in known:
        near = get_close_matches(name, sorted(known), n=1)
        raise UndefinedAdapter(name=name, nearest=near[0] if near else None, known=tuple(sorted(known)))


def added_adapter(name: str) -> type[Any] | None:
    """The adapter that the user's own code registered under the name; None for one that ships.

    Another process knows it only if it is sent there.
    """
    adapter = _registered.get(name)
    if adapter is None or name not in SHIPPED:
        return adapter
    module, _, attribute = SHIPPED[name].partition(":")
    ships = (f"{__package__}.providers.{module}", attribute)
    return None if (adapter.__module__, adapter.__qualname__) == ships else adapter


def adapter_class(name: str) -> type[Any]:
    """The adapter that speaks the protocol.

    Raises:
        UndefinedAdapter: Nobody does.
    """
    check_protocol(name)
    if name not in _registered:
        module, _, attribute = SHIPPED[name].partition(":")
        return getattr(import_module(f".providers.{module}", __package__), attribute)  # type: ignore[no-any-return]
    return _registered[name]
