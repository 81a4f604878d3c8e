"""From a preset to a provider."""

from ..adapters import adapter_class
from ..presets import ModelPreset
from .base import Adapter, Provider
from .http import HttpProvider

__all__ = ("connect",)


def connect(preset: ModelPreset) -> Provider:
    """A provider for the preset; nothing is opened before its first call.

    Raises:
        UndefinedAdapter: Nobody speaks its protocol.
        PresetInvalid: The adapter cannot work with it.
    """
    adapter: type[Adapter] = adapter_class(preset.protocol)
    return adapter.direct(preset) or HttpProvider(adapter(preset))
