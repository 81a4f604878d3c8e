"""What each provider is known to need: a table of facts, chosen by address and model."""

from dataclasses import dataclass

from ..presets import ModelPreset

__all__ = ("Profile", "profile_for")


@dataclass(frozen=True, slots=True)
class Profile:
    """Facts about one provider family.

    Attributes:
        name: The family.
        hosts: Parts of an address that mean this family.
        models: Beginnings of model names that mean it.
        cap: Name of the request field that bounds the output.
        hidden_prompt: Tokens the provider adds to a prompt unseen.
        reasoning_back: Reasoning must be passed back, as `reasoning_content`.
        blank: What a message that only calls tools has as content; some servers refuse null, others the empty text.
    """

    name: str
    hosts: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    cap: str = "max_tokens"
    hidden_prompt: int = 1024
    reasoning_back: bool = False
    blank: str | None = None


PROFILES = (
    Profile("simulator", models=("simulated",), hidden_prompt=0, reasoning_back=True),
    Profile("deepseek", hosts=("deepseek",), models=("deepseek",), reasoning_back=True),
    Profile("openai", hosts=("api.openai.com",), cap="max_completion_tokens"),
)
UNKNOWN = Profile("unknown")


def profile_for(preset: ModelPreset) -> Profile:
    """The first family whose host or model name fits; a cautious unknown one else."""
    model = preset.model.rpartition("/")[2].lower()
    for profile in PROFILES:
        if any(host in preset.base_url for host in profile.hosts) or model.startswith(profile.models or ("\0",)):
            return profile
    return UNKNOWN
