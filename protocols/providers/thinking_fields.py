"""How a model is asked to think: the request fields, in each provider's words."""

from collections.abc import Callable
from typing import Final

from ..messages import Json
from ..profiles import Asking, Profile
from ..thinking import ThinkingConfig

__all__ = ("thinking_fields",)

MUCH = (4096, 16384)
"""Budgets in tokens from which on the effort is the next higher one."""

Fields = dict[str, Json]


def effort(profile: Profile, budget: int | None) -> str:
    """The effort that comes nearest to a budget; without one the middle effort."""
    wanted = len(profile.efforts) // 2 if budget is None else sum(budget >= much for much in MUCH)
    return profile.efforts[min(wanted, len(profile.efforts) - 1)]


def none(_profile: Profile, _budget: int | None) -> Fields:
    """The model decides."""
    return {}


def switch(_profile: Profile, _budget: int | None) -> Fields:
    """DeepSeek, Kimi, Z.ai."""
    return {"thinking": {"type": "enabled"}}


def with_budget(_profile: Profile, budget: int | None) -> Fields:
    """Claude behind a gateway, and whoever copied it."""
    limit: Fields = {} if budget is None else {"budget_tokens": budget}
    return {"thinking": {"type": "enabled", **limit}}


def by_effort(profile: Profile, budget: int | None) -> Fields:
    """OpenAI, Azure, Gemini, Mistral, Ollama."""
    return {"reasoning_effort": effort(profile, budget)}


def reasoning(_profile: Profile, budget: int | None) -> Fields:
    """OpenRouter, Together."""
    return {"reasoning": {"enabled": True} if budget is None else {"max_tokens": budget}}


def flag(_profile: Profile, budget: int | None) -> Fields:
    """Qwen at DashScope."""
    limit: Fields = {} if budget is None else {"thinking_budget": budget}
    return {"enable_thinking": True, **limit}


def template(_profile: Profile, _budget: int | None) -> Fields:
    """Qwen and its like on vLLM, SGLang and llama.cpp."""
    return {"chat_template_kwargs": {"enable_thinking": True}}


def include(profile: Profile, budget: int | None) -> Fields:
    """Groq: the model thinks anyway; this lets it be seen."""
    limit: Fields = {} if budget is None else {"reasoning_effort": effort(profile, budget)}
    return {"include_reasoning": True, **limit}


ASKED: Final[dict[Asking, Callable[[Profile, int | None], Fields]]] = {
    Asking.NONE: none,
    Asking.SWITCH: switch,
    Asking.BUDGET: with_budget,
    Asking.EFFORT: by_effort,
    Asking.REASONING: reasoning,
    Asking.FLAG: flag,
    Asking.TEMPLATE: template,
    Asking.INCLUDE: include,
}


def thinking_fields(profile: Profile, thinking: ThinkingConfig) -> Fields:
    """The fields that ask for thinking; none when it is not asked for."""
    return ASKED[profile.asking](profile, thinking.budget_tokens) if thinking.enabled else {}
