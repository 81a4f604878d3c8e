"""Protocol names, who speaks them, and what an unknown one says."""

import subprocess
import sys

import pytest

from amrita_fleet.protocols.adapters import adapter_class, check_protocol, register
from amrita_fleet.protocols.errors import UndefinedAdapter


@pytest.mark.parametrize("name", ["openai", "__main__", "scripted"])
def test_the_shipped_protocols_are_known(name: str) -> None:
    check_protocol(name)

    assert name in adapter_class(name).get_adapter_protocol()


def test_both_names_of_the_default_protocol_are_one_adapter() -> None:
    assert adapter_class("openai") is adapter_class("__main__")


@pytest.mark.parametrize("ask", [check_protocol, adapter_class])
def test_a_name_that_nobody_speaks_is_the_documented_error(ask: object) -> None:
    assert callable(ask)
    with pytest.raises(ValueError, match=r"^Undefined protocol adapter: deepseek\."):
        ask("deepseek")


def test_a_name_that_is_nearly_right_is_told_so() -> None:
    with pytest.raises(UndefinedAdapter) as caught:
        check_protocol("open_ai")

    assert (caught.value.name, caught.value.nearest) == ("open_ai", "openai")


def test_the_last_registration_wins() -> None:
    class First:
        """One adapter."""

    class Second:
        """Another one."""

    register(First, ("test-protocol", "test-alias"))
    register(Second, ("test-protocol",))

    assert adapter_class("test-protocol") is Second
    assert adapter_class("test-alias") is First


def test_knowing_the_names_loads_no_adapter() -> None:
    code = (
        "import sys; from amrita_fleet.protocols.presets import ModelPreset; "
        "ModelPreset(model='m', base_url='http://h'); "
        "print([name for name in sys.modules if 'providers' in name or name in ('httpx', 'pydantic', 'ray')])"
    )

    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=path())

    assert shown.stdout.strip() == "[]"


def path() -> dict[str, str]:
    """An environment in which the package is found as it is here."""
    return {"PYTHONPATH": ":".join(sys.path)}
