"""The headers of a request, the key among them."""

from collections.abc import Mapping
from typing import Final

from ..errors import PresetInvalid
from ..presets import ModelPreset

__all__ = ("request_headers",)

NO_KEY: Final = frozenset({"", "-"})
BEARER: Final = "authorization"


def request_headers(preset: ModelPreset, environ: Mapping[str, str]) -> dict[str, str]:
    """What each request says; the preset's own headers win.

    Args:
        preset: Names the key, and who reads it.
        environ: Where a key's variable is looked up.

    Raises:
        PresetInvalid: The variable is not set, or the key cannot stand in a header.
    """
    headers = {"content-type": "application/json"}
    key = preset.api_key.reveal(environ).strip()
    if not (key.isascii() and key.isprintable()):
        raise PresetInvalid(field="api_key", reason="The api_key holds a character that no key can hold.")
    name = preset.facts.key_header
    if key not in NO_KEY:
        headers[name] = f"Bearer {key}" if name == BEARER else key
    return headers | {name.lower(): value for name, value in preset.extra_headers.items()}
