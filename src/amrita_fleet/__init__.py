"""Amrita Fleet: an actor-model runtime for fleets of LLM agents on Ray.

Names are loaded when they are first used, so that `import amrita_fleet` is cheap and loads neither Ray nor httpx.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .protocols.errors import (
        AuthRefused as AuthRefused,
    )
    from .protocols.errors import (
        BadRequest as BadRequest,
    )
    from .protocols.errors import (
        ContentRefused as ContentRefused,
    )
    from .protocols.errors import (
        ContextOverflow as ContextOverflow,
    )
    from .protocols.errors import (
        FleetError as FleetError,
    )
    from .protocols.errors import (
        PresetInvalid as PresetInvalid,
    )
    from .protocols.errors import (
        ProviderBusy as ProviderBusy,
    )
    from .protocols.errors import (
        ProviderError as ProviderError,
    )
    from .protocols.errors import (
        ProviderOverloaded as ProviderOverloaded,
    )
    from .protocols.errors import (
        ProviderUnreachable as ProviderUnreachable,
    )
    from .protocols.errors import (
        QuotaSpent as QuotaSpent,
    )
    from .protocols.errors import (
        StreamBroken as StreamBroken,
    )
    from .protocols.errors import (
        UndefinedAdapter as UndefinedAdapter,
    )
    from .protocols.mail import Receipt as Receipt
    from .protocols.messages import (
        Message as Message,
    )
    from .protocols.messages import (
        Reply as Reply,
    )
    from .protocols.messages import (
        ToolCall as ToolCall,
    )
    from .protocols.messages import (
        ToolResult as ToolResult,
    )
    from .protocols.messages import (
        Usage as Usage,
    )
    from .protocols.notices import Notice as Notice
    from .protocols.outcome import Outcome as Outcome
    from .protocols.presets import (
        ModelConfig as ModelConfig,
    )
    from .protocols.presets import (
        ModelPreset as ModelPreset,
    )
    from .protocols.presets import (
        ThinkingConfig as ThinkingConfig,
    )
    from .protocols.secret import Secret as Secret
    from .runtime.agent import Agent as Agent
    from .runtime.agent import TokenLimit as TokenLimit
    from .runtime.agent import create_agent as create_agent
    from .runtime.config import (
        AmritaConfig as AmritaConfig,
    )
    from .runtime.config import (
        get_config as get_config,
    )
    from .runtime.config import (
        minimal_init as minimal_init,
    )
    from .runtime.config import (
        set_config as set_config,
    )
    from .runtime.errors import (
        AgentUnknown as AgentUnknown,
    )
    from .runtime.errors import (
        ChannelClosed as ChannelClosed,
    )
    from .runtime.errors import (
        ConfigMissing as ConfigMissing,
    )
    from .runtime.errors import (
        InvalidMove as InvalidMove,
    )
    from .runtime.errors import (
        NameInvalid as NameInvalid,
    )
    from .runtime.errors import (
        NameTaken as NameTaken,
    )
    from .runtime.errors import (
        PeerUnreachable as PeerUnreachable,
    )
    from .runtime.errors import (
        QueueFull as QueueFull,
    )
    from .runtime.errors import (
        RunError as RunError,
    )
    from .runtime.errors import (
        SystemUnavailable as SystemUnavailable,
    )
    from .runtime.errors import (
        ToolInvalid as ToolInvalid,
    )
    from .runtime.errors import (
        Unpicklable as Unpicklable,
    )
    from .runtime.fleet import AgentRef as AgentRef
    from .runtime.fleet import Fleet as Fleet
    from .runtime.fleet import Run as Run
    from .runtime.step.budget import TokenBudget as TokenBudget
    from .runtime.tools.output import ToolContext as ToolContext
    from .runtime.tools.tool import Tool as Tool
    from .runtime.tools.tool import tool as tool

__all__ = (
    "Agent",
    "AgentRef",
    "AgentUnknown",
    "AmritaConfig",
    "AuthRefused",
    "BadRequest",
    "ChannelClosed",
    "ConfigMissing",
    "ContentRefused",
    "ContextOverflow",
    "Fleet",
    "FleetError",
    "InvalidMove",
    "Message",
    "ModelConfig",
    "ModelPreset",
    "NameInvalid",
    "NameTaken",
    "Notice",
    "Outcome",
    "PeerUnreachable",
    "PresetInvalid",
    "ProviderBusy",
    "ProviderError",
    "ProviderOverloaded",
    "ProviderUnreachable",
    "QueueFull",
    "QuotaSpent",
    "Receipt",
    "Reply",
    "Run",
    "RunError",
    "Secret",
    "StreamBroken",
    "SystemUnavailable",
    "ThinkingConfig",
    "TokenBudget",
    "TokenLimit",
    "Tool",
    "ToolCall",
    "ToolContext",
    "ToolInvalid",
    "ToolResult",
    "UndefinedAdapter",
    "Unpicklable",
    "Usage",
    "create_agent",
    "get_config",
    "minimal_init",
    "set_config",
    "tool",
)

_HOMES = {
    "protocols.errors": (
        "AuthRefused",
        "BadRequest",
        "ContentRefused",
        "ContextOverflow",
        "FleetError",
        "PresetInvalid",
        "ProviderBusy",
        "ProviderError",
        "ProviderOverloaded",
        "ProviderUnreachable",
        "QuotaSpent",
        "StreamBroken",
        "UndefinedAdapter",
    ),
    "protocols.mail": ("Receipt",),
    "protocols.messages": (
        "Message",
        "Reply",
        "ToolCall",
        "ToolResult",
        "Usage",
    ),
    "protocols.notices": ("Notice",),
    "protocols.outcome": ("Outcome",),
    "protocols.presets": (
        "ModelConfig",
        "ModelPreset",
        "ThinkingConfig",
    ),
    "protocols.secret": ("Secret",),
    "runtime.agent": (
        "Agent",
        "TokenLimit",
        "create_agent",
    ),
    "runtime.config": (
        "AmritaConfig",
        "get_config",
        "minimal_init",
        "set_config",
    ),
    "runtime.errors": (
        "AgentUnknown",
        "ChannelClosed",
        "ConfigMissing",
        "InvalidMove",
        "NameInvalid",
        "NameTaken",
        "PeerUnreachable",
        "QueueFull",
        "RunError",
        "SystemUnavailable",
        "ToolInvalid",
        "Unpicklable",
    ),
    "runtime.fleet": (
        "AgentRef",
        "Fleet",
        "Run",
    ),
    "runtime.step.budget": ("TokenBudget",),
    "runtime.tools.output": ("ToolContext",),
    "runtime.tools.tool": (
        "Tool",
        "tool",
    ),
}


def __getattr__(name: str) -> object:
    """Load a public name from the module that defines it."""
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f".{home}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names."""
    return sorted({*globals(), *__all__})
