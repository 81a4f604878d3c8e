"""The presets of a fleet file."""

from collections.abc import Mapping

from ...protocols.errors import PresetInvalid
from ...protocols.presets import ModelPreset
from ...protocols.secret import Secret
from .entries import Entries
from .problems import Keys, Problems
from .schema import Environment, PresetEntry
from .wording import KEPT_OUT, add_refusal, names_secret

__all__ = ("check_plain", "check_variable", "read_presets", "variable_in")

IN_API_KEY = "A key does not belong into a file that is shared: leave this out, and write api_key: {env: NAME}."


def read_presets(entries: Entries, environ: Mapping[str, str], problems: Problems) -> dict[str, ModelPreset]:
    """The presets that can work, by name.

    Args:
        entries: The file's.
        environ: Where keys of the presets that agents use must be.
        problems: Gets what is wrong.
    """
    used = {name for agent in entries.agents.values() for name in (agent.preset, *agent.fallbacks)}
    made: dict[str, ModelPreset] = {}
    for name, entry in entries.presets.items():
        here: Keys = ("presets", name)
        if name in used and (variable := variable_in(entry.api_key)):
            check_variable(variable, (*here, "api_key"), environ, problems)
        check_plain(entry.extra_headers, (*here, "extra_headers"), problems, IN_API_KEY)
        try:
            made[name] = preset_of(entry)
        except PresetInvalid as error:
            add_refusal(problems, here, error)
    return made


def preset_of(entry: PresetEntry) -> ModelPreset:
    """One preset.

    Raises:
        PresetInvalid: It cannot work.
    """
    preset = ModelPreset(
        model=entry.model,
        base_url=entry.base_url,
        api_key=secret_of(entry.api_key),
        protocol=entry.protocol,
        config=entry.config,
        thinking_config=entry.thinking_config,
        extra_body=entry.extra_body,
        extra_headers=entry.extra_headers,
        profile=entry.profile,
        price=entry.price,
    )
    _ = preset.facts  # made here, so that a family that does not exist is an error here
    return preset


def secret_of(given: Environment | str | None) -> Secret:
    """A key, which is read where it is needed.

    Raises:
        PresetInvalid: The variable has no name.
    """
    variable = variable_in(given)
    return Secret.from_env(variable) if variable else Secret.read("" if given is None else given)


def variable_in(given: Environment | str | None) -> str:
    """The variable that a value is read from; empty: none."""
    if isinstance(given, Environment):
        return given.env
    return given.removeprefix("env:") if given is not None and given.startswith("env:") else ""


def check_variable(name: str, keys: Keys, environ: Mapping[str, str], problems: Problems) -> None:
    """Note that a variable is not set, or empty."""
    if not environ.get(name):
        problems.add(keys, f"The environment variable {name} is not set: export {name}=...")


def check_plain(
    values: Mapping[str, Environment | str], keys: Keys, problems: Problems, advice: str = KEPT_OUT
) -> None:
    """Note values in plain text whose names say that they are keys; `advice` is what to do about them."""
    for name, value in values.items():
        if names_secret(name) and not variable_in(value):
            problems.add((*keys, name), advice)
