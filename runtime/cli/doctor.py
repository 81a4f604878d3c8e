"""`amrita-fleet doctor`: what works with a model, before a fleet is let loose on it."""

import typer

from .options import AsJson, BaseUrl, Key, Model, PresetFile, ProfileName, ProtocolName
from .status import Status

__all__ = ("EPILOG", "doctor")

EPILOG = """\
Example: amrita-fleet doctor --base-url https://api.deepseek.com/v1 --model deepseek-chat --api-key env:DEEPSEEK_API_KEY

Exit status: 0 every mode works, 1 one does not, 2 bad input: that includes an address where nobody answers, a key that
is refused and a model that does not exist; 130 interrupted."""


def doctor(  # noqa: PLR0913  one parameter for each option
    *,
    base_url: BaseUrl = "",
    model: Model = "",
    api_key: Key = "",
    protocol: ProtocolName = "",
    profile: ProfileName = "",
    preset: PresetFile = None,
    as_json: AsJson = False,
) -> None:
    """Ask a model in each way that agents do, and say what works.

    It makes one tiny call each: plain, streamed, with a tool, and, where the model thinks, a tool call whose result
    goes back with the reasoning. Nothing is tried twice. It needs no fleet.
    """
    from .carry_out import carry_out
    from .checkup import examine
    from .console import print_json, stdout
    from .findings import findings_table, heading, shown
    from .model import preset_of

    asked = preset_of(preset, base_url=base_url, model=model, api_key=api_key, protocol=protocol, profile=profile)
    findings = carry_out(examine(asked))
    if as_json:
        print_json(shown(asked, findings))
    else:
        stdout().print(heading(asked), highlight=False, markup=False, soft_wrap=True)
        stdout().print(findings_table(findings))
    raise typer.Exit(Status.OK if all(finding.works for finding in findings) else Status.FAILED)
