"""A model as the options of a command, or a file, name it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from ...protocols.errors import PresetInvalid
from ...protocols.presets import ModelPreset
from .errors import InputInvalid, PresetFileInvalid

__all__ = ("preset_of",)


def preset_of(file: Path | None = None, **fields: str) -> ModelPreset:
    """The model, checked as far as that is possible without asking it.

    Args:
        file: A YAML file with fields of `ModelPreset`.
        fields: Fields that stand instead of those of the file, unless they are empty.

    Raises:
        InputInvalid: The file cannot be read, or there is none and no model is named.
        PresetInvalid: A field is unknown, or a value cannot work.
    """
    given = {**(fields_in(file) if file else {}), **{name: value for name, value in fields.items() if value}}
    if not (file or fields.get("model")):
        raise InputInvalid(reason="Missing option '--model', or '--preset' with a file that names the model.")
    try:
        return ModelPreset.parse(given)
    except PresetInvalid as error:
        if error.field != "base_url" or file or fields.get("base_url"):
            raise
        raise InputInvalid(reason="Missing option '--base-url': where the model is, as in http://host/v1.") from None


def fields_in(file: Path) -> Mapping[str, Any]:
    """What stands in a preset file.

    Raises:
        PresetFileInvalid: It cannot be read, or does not hold fields.
    """
    import yaml

    try:
        content: object = yaml.safe_load(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise PresetFileInvalid(path=str(file), reason=error.strerror or str(error)) from None
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise PresetFileInvalid(path=str(file), reason=f"it is no YAML: {error}") from None
    if not isinstance(content, Mapping) or not all(
        isinstance(name, str) for name in cast("Mapping[object, object]", content)
    ):
        raise PresetFileInvalid(path=str(file), reason="it should hold fields of a preset, as in `model: qwen3`")
    return cast("Mapping[str, Any]", content)
