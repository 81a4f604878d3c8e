"""Amrita Fleet: an actor-model runtime for fleets of LLM agents on Ray.

Names are loaded when they are first used, so that `import amrita_fleet` is cheap and loads neither Ray nor httpx.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .protocols.amounts import Amount as Amount
    from .protocols.approval import Approval as Approval
    from .protocols.checkin import AgentStatus as AgentStatus
    from .protocols.errors import AuthRefused as AuthRefused
    from .protocols.errors import BadRequest as BadRequest
    from .protocols.errors import ContentRefused as ContentRefused
    from .protocols.errors import ContextOverflow as ContextOverflow
    from .protocols.errors import FleetError as FleetError
    from .protocols.errors import OutputMissing as OutputMissing
    from .protocols.errors import PresetInvalid as PresetInvalid
    from .protocols.errors import ProviderBusy as ProviderBusy
    from .protocols.errors import ProviderError as ProviderError
    from .protocols.errors import ProviderOverloaded as ProviderOverloaded
    from .protocols.errors import ProviderUnreachable as ProviderUnreachable
    from .protocols.errors import QuotaSpent as QuotaSpent
    from .protocols.errors import StreamBroken as StreamBroken
    from .protocols.errors import UndefinedAdapter as UndefinedAdapter
    from .protocols.limits import Limits as Limits
    from .protocols.limits import TokenLimit as TokenLimit
    from .protocols.mail import Receipt as Receipt
    from .protocols.mail import ReceiptState as ReceiptState
    from .protocols.mail import Refusal as Refusal
    from .protocols.messages import Message as Message
    from .protocols.messages import Reply as Reply
    from .protocols.messages import ToolCall as ToolCall
    from .protocols.messages import ToolResult as ToolResult
    from .protocols.messages import Turn as Turn
    from .protocols.messages import Usage as Usage
    from .protocols.notices import Notice as Notice
    from .protocols.notices import NoticeType as NoticeType
    from .protocols.outcome import Ending as Ending
    from .protocols.outcome import Limit as Limit
    from .protocols.outcome import Outcome as Outcome
    from .protocols.presets import ModelConfig as ModelConfig
    from .protocols.presets import ModelPreset as ModelPreset
    from .protocols.presets import ThinkingConfig as ThinkingConfig
    from .protocols.prices import Price as Price
    from .protocols.providers.base import Adapter as Adapter
    from .protocols.restarts import RestartPolicy as RestartPolicy
    from .protocols.secret import Secret as Secret
    from .runtime.agent import Agent as Agent
    from .runtime.agent import SpawnPolicy as SpawnPolicy
    from .runtime.agent import create_agent as create_agent
    from .runtime.approvals import Approvals as Approvals
    from .runtime.config import AmritaConfig as AmritaConfig
    from .runtime.config import BuiltinConfig as BuiltinConfig
    from .runtime.config import FunctionConfig as FunctionConfig
    from .runtime.config import LLMConfig as LLMConfig
    from .runtime.config import MailConfig as MailConfig
    from .runtime.config import WindDownConfig as WindDownConfig
    from .runtime.config import get_config as get_config
    from .runtime.config import minimal_init as minimal_init
    from .runtime.config import set_config as set_config
    from .runtime.errors import AgentUnknown as AgentUnknown
    from .runtime.errors import AnswerInvalid as AnswerInvalid
    from .runtime.errors import ApprovalUnknown as ApprovalUnknown
    from .runtime.errors import ArgumentInvalid as ArgumentInvalid
    from .runtime.errors import ChannelClosed as ChannelClosed
    from .runtime.errors import ConfigMissing as ConfigMissing
    from .runtime.errors import FleetClosed as FleetClosed
    from .runtime.errors import HookFailed as HookFailed
    from .runtime.errors import InvalidMove as InvalidMove
    from .runtime.errors import NameInvalid as NameInvalid
    from .runtime.errors import NamesInvalid as NamesInvalid
    from .runtime.errors import NameTaken as NameTaken
    from .runtime.errors import NumberInvalid as NumberInvalid
    from .runtime.errors import PeerUnreachable as PeerUnreachable
    from .runtime.errors import PlanInvalid as PlanInvalid
    from .runtime.errors import QueueFull as QueueFull
    from .runtime.errors import RunError as RunError
    from .runtime.errors import RunUnknown as RunUnknown
    from .runtime.errors import SelfAddressed as SelfAddressed
    from .runtime.errors import SystemUnavailable as SystemUnavailable
    from .runtime.errors import TaskInvalid as TaskInvalid
    from .runtime.errors import ToolInvalid as ToolInvalid
    from .runtime.errors import ToolServerFailed as ToolServerFailed
    from .runtime.errors import Unpicklable as Unpicklable
    from .runtime.fleet import AgentRef as AgentRef
    from .runtime.fleet import Fleet as Fleet
    from .runtime.fleet_file.errors import FleetFileInvalid as FleetFileInvalid
    from .runtime.fleet_file.file import FleetFile as FleetFile
    from .runtime.gateway.errors import ExtraMissing as ExtraMissing
    from .runtime.gateway.serving import Dashboard as Dashboard
    from .runtime.hooks import AddNote as AddNote
    from .runtime.hooks import EndRun as EndRun
    from .runtime.hooks import ExtendRounds as ExtendRounds
    from .runtime.hooks import HookPoint as HookPoint
    from .runtime.hooks import Hooks as Hooks
    from .runtime.hooks import LimitReached as LimitReached
    from .runtime.hooks import NeedsApproval as NeedsApproval
    from .runtime.hooks import RefuseCall as RefuseCall
    from .runtime.hooks import ReplaceOutput as ReplaceOutput
    from .runtime.hooks import ReplaceSummary as ReplaceSummary
    from .runtime.hooks import RewriteArguments as RewriteArguments
    from .runtime.hooks import StepBegun as StepBegun
    from .runtime.hooks import StepEnded as StepEnded
    from .runtime.hooks import ToolAsked as ToolAsked
    from .runtime.hooks import ToolDone as ToolDone
    from .runtime.journal_errors import FleetTaken as FleetTaken
    from .runtime.journal_errors import JournalInvalid as JournalInvalid
    from .runtime.journal_errors import JournalUnavailable as JournalUnavailable
    from .runtime.journal_errors import RecordInvalid as RecordInvalid
    from .runtime.limit_errors import AccountUnknown as AccountUnknown
    from .runtime.limit_errors import LimitTooLarge as LimitTooLarge
    from .runtime.limit_errors import PriceMissing as PriceMissing
    from .runtime.limit_errors import TeamUnknown as TeamUnknown
    from .runtime.log_context import LogContext as LogContext
    from .runtime.log_json import JsonFormatter as JsonFormatter
    from .runtime.run import Run as Run
    from .runtime.step.budget import TokenBudget as TokenBudget
    from .runtime.step.plan import Node as Node
    from .runtime.step.plan import NodeStatus as NodeStatus
    from .runtime.step.plan import Plan as Plan
    from .runtime.step.stall import Window as Window
    from .runtime.step.strategies import BuiltinStrategy as BuiltinStrategy
    from .runtime.step.strategies import Strategy as Strategy
    from .runtime.stream import SuspendObjectStream as SuspendObjectStream
    from .runtime.stream_errors import StreamClosed as StreamClosed
    from .runtime.stream_errors import StreamExpected as StreamExpected
    from .runtime.stream_errors import StreamFull as StreamFull
    from .runtime.stream_errors import StreamMisused as StreamMisused
    from .runtime.stream_errors import SuspendTimedOut as SuspendTimedOut
    from .runtime.stream_errors import SuspensionRefused as SuspensionRefused
    from .runtime.supervision.account import Account as Account
    from .runtime.supervision.deadlines import Deadlines as Deadlines
    from .runtime.supervision.finding import Trouble as Trouble
    from .runtime.supervision.policy import Course as Course
    from .runtime.supervision.policy import Rung as Rung
    from .runtime.supervision.policy import Stage as Stage
    from .runtime.supervision.policy import WatchPolicy as WatchPolicy
    from .runtime.system import DeadFleet as DeadFleet
    from .runtime.system import Stopped as Stopped
    from .runtime.system import collect_garbage as collect_garbage
    from .runtime.tools.output import ToolContext as ToolContext
    from .runtime.tools.output import ToolOutput as ToolOutput
    from .runtime.tools.servers import McpHttp as McpHttp
    from .runtime.tools.servers import McpStdio as McpStdio
    from .runtime.tools.tool import Tool as Tool
    from .runtime.tools.tool import tool as tool
    from .runtime.tools.update_step import UPDATE_STEP_TOOL as UPDATE_STEP_TOOL

__all__ = (
    "UPDATE_STEP_TOOL",
    "Account",
    "AccountUnknown",
    "Adapter",
    "AddNote",
    "Agent",
    "AgentRef",
    "AgentStatus",
    "AgentUnknown",
    "Amount",
    "AmritaConfig",
    "AnswerInvalid",
    "Approval",
    "ApprovalUnknown",
    "Approvals",
    "ArgumentInvalid",
    "AuthRefused",
    "BadRequest",
    "BuiltinConfig",
    "BuiltinStrategy",
    "ChannelClosed",
    "ConfigMissing",
    "ContentRefused",
    "ContextOverflow",
    "Course",
    "Dashboard",
    "DeadFleet",
    "Deadlines",
    "EndRun",
    "Ending",
    "ExtendRounds",
    "ExtraMissing",
    "Fleet",
    "FleetClosed",
    "FleetError",
    "FleetFile",
    "FleetFileInvalid",
    "FleetTaken",
    "FunctionConfig",
    "HookFailed",
    "HookPoint",
    "Hooks",
    "InvalidMove",
    "JournalInvalid",
    "JournalUnavailable",
    "JsonFormatter",
    "LLMConfig",
    "Limit",
    "LimitReached",
    "LimitTooLarge",
    "Limits",
    "LogContext",
    "MailConfig",
    "McpHttp",
    "McpStdio",
    "Message",
    "ModelConfig",
    "ModelPreset",
    "NameInvalid",
    "NameTaken",
    "NamesInvalid",
    "NeedsApproval",
    "Node",
    "NodeStatus",
    "Notice",
    "NoticeType",
    "NumberInvalid",
    "Outcome",
    "OutputMissing",
    "PeerUnreachable",
    "Plan",
    "PlanInvalid",
    "PresetInvalid",
    "Price",
    "PriceMissing",
    "ProviderBusy",
    "ProviderError",
    "ProviderOverloaded",
    "ProviderUnreachable",
    "QueueFull",
    "QuotaSpent",
    "Receipt",
    "ReceiptState",
    "RecordInvalid",
    "Refusal",
    "RefuseCall",
    "ReplaceOutput",
    "ReplaceSummary",
    "Reply",
    "RestartPolicy",
    "RewriteArguments",
    "Run",
    "RunError",
    "RunUnknown",
    "Rung",
    "Secret",
    "SelfAddressed",
    "SpawnPolicy",
    "Stage",
    "StepBegun",
    "StepEnded",
    "Stopped",
    "Strategy",
    "StreamBroken",
    "StreamClosed",
    "StreamExpected",
    "StreamFull",
    "StreamMisused",
    "SuspendObjectStream",
    "SuspendTimedOut",
    "SuspensionRefused",
    "SystemUnavailable",
    "TaskInvalid",
    "TeamUnknown",
    "ThinkingConfig",
    "TokenBudget",
    "TokenLimit",
    "Tool",
    "ToolAsked",
    "ToolCall",
    "ToolContext",
    "ToolDone",
    "ToolInvalid",
    "ToolOutput",
    "ToolResult",
    "ToolServerFailed",
    "Trouble",
    "Turn",
    "UndefinedAdapter",
    "Unpicklable",
    "Usage",
    "WatchPolicy",
    "WindDownConfig",
    "Window",
    "collect_garbage",
    "create_agent",
    "get_config",
    "minimal_init",
    "set_config",
    "tool",
)

_HOMES = {
    "protocols.amounts": ("Amount",),
    "protocols.approval": ("Approval",),
    "protocols.checkin": ("AgentStatus",),
    "protocols.errors": (
        "AuthRefused",
        "BadRequest",
        "ContentRefused",
        "ContextOverflow",
        "FleetError",
        "OutputMissing",
        "PresetInvalid",
        "ProviderBusy",
        "ProviderError",
        "ProviderOverloaded",
        "ProviderUnreachable",
        "QuotaSpent",
        "StreamBroken",
        "UndefinedAdapter",
    ),
    "protocols.limits": ("Limits", "TokenLimit"),
    "protocols.mail": ("Receipt", "ReceiptState", "Refusal"),
    "protocols.messages": ("Message", "Reply", "ToolCall", "ToolResult", "Turn", "Usage"),
    "protocols.notices": ("Notice", "NoticeType"),
    "protocols.outcome": ("Ending", "Limit", "Outcome"),
    "protocols.presets": ("ModelConfig", "ModelPreset", "ThinkingConfig"),
    "protocols.prices": ("Price",),
    "protocols.providers.base": ("Adapter",),
    "protocols.restarts": ("RestartPolicy",),
    "protocols.secret": ("Secret",),
    "runtime.agent": ("Agent", "SpawnPolicy", "create_agent"),
    "runtime.approvals": ("Approvals",),
    "runtime.config": (
        "AmritaConfig",
        "BuiltinConfig",
        "FunctionConfig",
        "LLMConfig",
        "MailConfig",
        "WindDownConfig",
        "get_config",
        "minimal_init",
        "set_config",
    ),
    "runtime.errors": (
        "AgentUnknown",
        "AnswerInvalid",
        "ApprovalUnknown",
        "ArgumentInvalid",
        "ChannelClosed",
        "ConfigMissing",
        "FleetClosed",
        "HookFailed",
        "InvalidMove",
        "NameInvalid",
        "NameTaken",
        "NamesInvalid",
        "NumberInvalid",
        "PeerUnreachable",
        "PlanInvalid",
        "QueueFull",
        "RunError",
        "RunUnknown",
        "SelfAddressed",
        "SystemUnavailable",
        "TaskInvalid",
        "ToolInvalid",
        "ToolServerFailed",
        "Unpicklable",
    ),
    "runtime.journal_errors": ("FleetTaken", "JournalInvalid", "JournalUnavailable", "RecordInvalid"),
    "runtime.limit_errors": ("AccountUnknown", "LimitTooLarge", "PriceMissing", "TeamUnknown"),
    "runtime.log_context": ("LogContext",),
    "runtime.log_json": ("JsonFormatter",),
    "runtime.fleet": ("AgentRef", "Fleet"),
    "runtime.fleet_file.errors": ("FleetFileInvalid",),
    "runtime.fleet_file.file": ("FleetFile",),
    "runtime.gateway.errors": ("ExtraMissing",),
    "runtime.gateway.serving": ("Dashboard",),
    "runtime.hooks": (
        "AddNote",
        "EndRun",
        "ExtendRounds",
        "HookPoint",
        "Hooks",
        "LimitReached",
        "NeedsApproval",
        "RefuseCall",
        "ReplaceOutput",
        "ReplaceSummary",
        "RewriteArguments",
        "StepBegun",
        "StepEnded",
        "ToolAsked",
        "ToolDone",
    ),
    "runtime.run": ("Run",),
    "runtime.step.budget": ("TokenBudget",),
    "runtime.step.plan": ("Node", "NodeStatus", "Plan"),
    "runtime.step.stall": ("Window",),
    "runtime.step.strategies": ("BuiltinStrategy", "Strategy"),
    "runtime.stream": ("SuspendObjectStream",),
    "runtime.stream_errors": (
        "StreamClosed",
        "StreamExpected",
        "StreamFull",
        "StreamMisused",
        "SuspendTimedOut",
        "SuspensionRefused",
    ),
    "runtime.supervision.account": ("Account",),
    "runtime.supervision.deadlines": ("Deadlines",),
    "runtime.supervision.finding": ("Trouble",),
    "runtime.supervision.policy": ("Course", "Rung", "Stage", "WatchPolicy"),
    "runtime.system": ("DeadFleet", "Stopped", "collect_garbage"),
    "runtime.tools.output": ("ToolContext", "ToolOutput"),
    "runtime.tools.servers": ("McpHttp", "McpStdio"),
    "runtime.tools.tool": ("Tool", "tool"),
    "runtime.tools.update_step": ("UPDATE_STEP_TOOL",),
}


if not TYPE_CHECKING:  # to a type checker, a name that is not listed above does not exist

    def __getattr__(name: str) -> object:
        """Load a public name from the module that defines it."""
        for home, names in _HOMES.items():
            if name in names:
                return getattr(import_module(f".{home}", __name__), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names."""
    return sorted({*globals(), *__all__})
