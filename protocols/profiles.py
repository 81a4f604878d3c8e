"""What each provider is known to need: a table of facts, chosen by address and model, or named in the preset.

Sources: the API references of the providers; their own refusals, as recorded or reported.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import Any, Final

from .errors import PresetInvalid
from .strict import Strict
from .thinking import ContentMode

__all__ = ("Asking", "Profile", "profile_for")


class Asking(StrEnum):
    """How a provider is asked to think: the request field that does it."""

    NONE = "none"
    SWITCH = "thinking"
    BUDGET = "thinking with budget_tokens"
    EFFORT = "reasoning_effort"
    REASONING = "reasoning"
    FLAG = "enable_thinking"
    TEMPLATE = "chat_template_kwargs"
    INCLUDE = "include_reasoning"


@dataclass(frozen=True, kw_only=True)
class Profile(Strict):
    """Facts about one provider family.

    Attributes:
        name: The family. Reasoning goes back only to the family that it came from.
        hosts: Parts of a host name that mean this family.
        models: Beginnings of model names that mean it, where the host means none.
        protocols: Protocols that are spoken by this family alone.
        cap: Name of the request field that bounds the output.
        hidden_prompt: Tokens the provider adds to a prompt unseen.
        system_role: The role of instructions.
        key_header: The header that carries the key; `authorization` carries it as a bearer's.
        usage_option: A stream's usage must be asked for, by `stream_options`.
        blank: What a message that only calls tools has as content; some servers refuse null, others the empty text.
        ids: Pattern of the ids that calls may have.
        thinks: Its models think without being asked.
        asking: How it is asked to think.
        efforts: The values of `reasoning_effort` it takes, in rising order.
        forced_choice: While it thinks, it can be forced to call a tool.
        reasoning_field: Where reasoning goes back unless it came under another name; empty: no such field is taken.
        needs: The reasoning that must come back while it thinks: none, that of turns with calls, or all.
        empty_reasoning: While it thinks, a turn without reasoning says so by an empty field.
        reasoning_in_cap: What it thinks counts against the output cap.
        honours_cap: It never bills more output than it was asked for; else limits are only as hard as it is honest.
    """

    name: str
    hosts: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    protocols: tuple[str, ...] = ()
    cap: str = "max_tokens"
    hidden_prompt: int = 1024
    system_role: str = "system"
    key_header: str = "authorization"
    usage_option: bool = True
    blank: str | None = None
    ids: str = "(?s).+"
    thinks: bool = False
    asking: Asking = Asking.BUDGET
    efforts: tuple[str, ...] = ("low", "medium", "high")
    forced_choice: bool = True
    reasoning_field: str = "reasoning_content"
    needs: ContentMode = ContentMode.NEVER
    empty_reasoning: bool = False
    reasoning_in_cap: bool = True
    honours_cap: bool = True


FORTY: Final = "(?s).{1,40}"
NINE: Final = "[a-zA-Z0-9]{9}"
WORD: Final = "[a-zA-Z0-9_-]+"

PROFILES: Final = (
    Profile(
        name="anthropic",
        protocols=("anthropic", "claude"),
        ids=WORD,
        key_header="x-api-key",
        forced_choice=False,
        needs=ContentMode.BY_TOOL,
    ),
    Profile(
        name="simulator",
        models=("simulated",),
        hidden_prompt=0,
        thinks=True,
        asking=Asking.SWITCH,
        needs=ContentMode.BY_TOOL,
        empty_reasoning=True,
    ),
    Profile(
        name="openai-o1",
        models=("o1-mini", "o1-preview"),
        cap="max_completion_tokens",
        hidden_prompt=256,
        system_role="user",
        ids=FORTY,
        asking=Asking.NONE,
        reasoning_field="",
    ),
    Profile(
        name="openai",
        hosts=("api.openai.com",),
        cap="max_completion_tokens",
        hidden_prompt=256,
        ids=FORTY,
        asking=Asking.EFFORT,
        reasoning_field="",
    ),
    Profile(
        name="azure",
        hosts=("openai.azure.com", "cognitiveservices.azure.com"),
        cap="max_completion_tokens",
        hidden_prompt=256,
        key_header="api-key",
        ids=FORTY,
        asking=Asking.EFFORT,
        reasoning_field="",
    ),
    Profile(
        name="azure-models",
        hosts=("services.ai.azure.com", "models.ai.azure.com"),
        key_header="api-key",
        ids=FORTY,
        asking=Asking.EFFORT,
        reasoning_field="",
    ),
    Profile(
        name="deepseek",
        hosts=("deepseek.com",),
        models=("deepseek",),
        thinks=True,
        asking=Asking.SWITCH,
        forced_choice=False,
        needs=ContentMode.BY_TOOL,
        empty_reasoning=True,
    ),
    Profile(
        name="kimi",
        hosts=("moonshot.", "kimi.com"),
        models=("kimi", "moonshot"),
        thinks=True,
        asking=Asking.SWITCH,
        forced_choice=False,
        needs=ContentMode.BY_TOOL,
        empty_reasoning=True,
    ),
    Profile(
        name="zai",
        hosts=("z.ai", "bigmodel.cn"),
        models=("glm",),
        asking=Asking.SWITCH,
        forced_choice=False,
    ),
    Profile(
        name="qwen",
        hosts=("dashscope",),
        asking=Asking.FLAG,
        forced_choice=False,
        reasoning_in_cap=False,
    ),
    Profile(
        name="groq",
        hosts=("api.groq.com",),
        asking=Asking.INCLUDE,
        reasoning_field="reasoning",
    ),
    Profile(
        name="mistral",
        hosts=("api.mistral.ai",),
        usage_option=False,
        ids=NINE,
        asking=Asking.EFFORT,
        efforts=("high",),
        reasoning_field="",
    ),
    Profile(
        name="openrouter",
        hosts=("openrouter.ai",),
        ids=FORTY,
        asking=Asking.REASONING,
        reasoning_field="reasoning",
    ),
    Profile(
        name="gemini",
        hosts=("generativelanguage.googleapis.com", "aiplatform.googleapis.com"),
        models=("gemini",),
        asking=Asking.EFFORT,
        reasoning_field="",
    ),
    Profile(
        name="xai",
        hosts=("api.x.ai",),
        models=("grok",),
        thinks=True,
        asking=Asking.NONE,
        reasoning_in_cap=False,
    ),
    Profile(
        name="perplexity",
        hosts=("api.perplexity.ai",),
        usage_option=False,
        asking=Asking.NONE,
        reasoning_field="",
    ),
    Profile(
        name="together",
        hosts=("api.together.",),
        asking=Asking.REASONING,
        reasoning_field="reasoning",
    ),
    Profile(
        name="ollama",
        hosts=(":11434", ":1234"),
        blank="",
        asking=Asking.EFFORT,
        reasoning_field="reasoning",
    ),
    Profile(
        name="mistral-model",
        models=("mistral", "ministral", "magistral", "mixtral", "codestral", "devstral"),
        ids=NINE,
        reasoning_field="",
    ),
    Profile(
        name="vllm",
        models=("qwen",),
        asking=Asking.TEMPLATE,
    ),
    Profile(
        name="unknown",
        empty_reasoning=True,
    ),
)


def profile_for(protocol: str, base_url: str, model: str, chosen: str | Mapping[str, Any]) -> Profile:
    """The facts about a provider.

    The protocol decides before the host, and the host before the model: a model may be served by anybody.

    Args:
        protocol: The preset's protocol.
        base_url: Its address.
        model: Its model.
        chosen: The name of a family, or facts that replace those of the family they name as `like`, else of the one
            that is found; empty leaves the choice to the table.

    Raises:
        PresetInvalid: There is no such family or fact.
    """
    if isinstance(chosen, str):
        return named(chosen) if chosen else found(protocol, base_url, model)
    facts = dict(chosen)
    like = facts.pop("like", "")
    return Profile.parse(asdict(named(like) if like else found(protocol, base_url, model)) | facts)


def named(name: str) -> Profile:
    """The family of this name.

    Raises:
        PresetInvalid: There is none.
    """
    families = {profile.name: profile for profile in PROFILES}
    if name not in families:
        near = get_close_matches(name, families, n=1)
        advice = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(families)}."
        raise PresetInvalid(field="profile", reason=f"There is no profile {name!r}: {advice}")
    return families[name]


def found(protocol: str, base_url: str, model: str) -> Profile:
    """The first family that the protocol means, else the host, else the model; else the unknown one."""
    host = base_url.partition("://")[2].partition("/")[0].lower()
    plain = model.rpartition("/")[2].lower()
    signs: tuple[Callable[[Profile], bool], ...] = (
        lambda family: protocol in family.protocols,
        lambda family: any(part in host for part in family.hosts),
        lambda family: plain.startswith(family.models or ("\0",)),
    )
    for fits in signs:
        if family := next(filter(fits, PROFILES), None):
            return family
    return PROFILES[-1]
