"""A model as the options of a command name it."""

from ...protocols.presets import ModelPreset
from ...protocols.secret import Secret

__all__ = ("preset_of",)


def preset_of(base_url: str, model: str, api_key: str, protocol: str = "openai") -> ModelPreset:
    """The model, checked as far as that is possible without asking it.

    Raises:
        PresetInvalid: The address is none, or nobody knows the protocol.
    """
    return ModelPreset(model=model, base_url=base_url, api_key=Secret.read(api_key), protocol=protocol)
